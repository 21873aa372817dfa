/**
 * Measures loading a config file with many servers.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { start } from "./child.js"
import { dist, effort } from "./options.js"
import type { Row, Section } from "./report.js"

const { rounds } = effort.config

const servers = 500

/** Milliseconds. */
const target = 100

/** Servers of every common kind; every second one contains variables. */
const entryOf = (index: number): object =>
  index % 2 === 0
    ? {
        type: "local",
        command: ["npx", "-y", `@example/server-${index}`, "./data"],
        environment: { API_KEY: "{env:BENCH_KEY}", REGION: "${BENCH_REGION:-eu}" },
        timeout: { connect: 20_000, call: "1 minute" },
        tools: { "write_*": false }
      }
    : {
        type: "remote",
        url: `https://server-${index}.example.com/mcp`,
        headers: { Authorization: "Bearer {env:BENCH_KEY}" },
        oauth: { clientId: `client-${index}`, scope: "read write" },
        restart: { maxRestarts: 3 }
      }

const all = Object.fromEntries(Array.from({ length: servers }, (_, index) => [`server-${index}`, entryOf(index)]))

/** A higher layer that changes one key of every second server. */
const above = Object.fromEntries(
  Object.keys(all).flatMap((name, index) => (index % 2 === 0 ? [[name, { enabled: index % 4 === 0 }]] : []))
)

const tomlOf = (name: string, entry: object): string =>
  `[mcp.${name}]\n${Object.entries(entry)
    .map(([key, value]) => `${key} = ${inlineToml(value)}`)
    .join("\n")}\n`

const inlineToml = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(inlineToml).join(", ")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)} = ${inlineToml(item)}`)
    .join(", ")} }`
}

interface Times {
  /** In a new process that loaded no other file before. */
  readonly first: number
  readonly again: ReadonlyArray<number>
}

const measure = async (format: "json" | "toml"): Promise<ReadonlyArray<Row>> => {
  const directory = mkdtempSync(join(tmpdir(), "mcp-supervisor-bench-config-"))
  try {
    const global = join(directory, "config", "mcp-supervisor")
    mkdirSync(global, { recursive: true })
    const text =
      format === "json"
        ? JSON.stringify({ mcp: all, tools: { "server-1_*": true } }, null, 2)
        : Object.entries(all)
            .map(([name, entry]) => tomlOf(name, entry))
            .join("\n")
    writeFileSync(join(global, `config.${format}`), text)
    writeFileSync(join(directory, "above.json"), JSON.stringify({ mcp: above }))
    const times: Array<Times> = []
    for (let round = 0; round < rounds; round += 1) {
      const child = await start("contenders/configFiles.mjs", [dist, directory, String(servers)])
      times.push((await child.ask("load", 10)) as Times)
      await child.end()
    }
    const row = {
      server: `${servers} servers in ${format.toUpperCase()}`,
      unit: "ms",
      better: "less",
      who: "config"
    } as const
    return [
      {
        ...row,
        measure: "load, layer and check, for the first time",
        figures: times.map(({ first }) => first)
      },
      {
        ...row,
        measure: "load, layer and check, again",
        figures: times.flatMap(({ again }) => again),
        target: { figure: target }
      }
    ]
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

export const config: Section = {
  name: "config",
  parts: [
    { name: "JSON", measure: () => measure("json") },
    { name: "TOML", measure: () => measure("toml") }
  ]
}
