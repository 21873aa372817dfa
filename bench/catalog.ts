/**
 * Measures listing all tools of many servers, for the first time and again.
 */
import { effort } from "./options.js"
import { askFresh, ended, startHttp } from "./processes.js"
import type { Row, Section } from "./report.js"
import { inTurns } from "./rounds.js"

const { reads, repeats, rounds } = effort.catalog

const servers = 50
const tools = 100

/** Milliseconds. */
const target = 0.01

interface Lists {
  readonly first: number
  readonly again: ReadonlyArray<number>
}

const measure = async (): Promise<ReadonlyArray<Row>> => {
  const { child, urls } = await startHttp("servers/minimalHttp.mjs", "json", { count: servers, tools })
  const targets = Object.fromEntries(urls.map((url, index) => [`server${index + 1}`, { url }]))
  const figures = await inTurns(rounds, ["supervised", "sdk"], async (name) => {
    const times = name === "sdk" ? repeats : reads
    return (await askFresh(name, [], "lists", targets, servers * tools, times)) as Lists
  })
  await ended(child)

  const row = {
    server: `HTTP with JSON, ${servers} servers with ${tools} tools each`,
    unit: "ms",
    better: "less",
    who: "supervisor"
  } as const
  const of = (name: keyof typeof figures, pick: (lists: Lists) => number | ReadonlyArray<number>) =>
    figures[name].flatMap(pick)
  return [
    {
      ...row,
      measure: "connect all, and list all tools",
      figures: of("supervised", ({ first }) => first),
      than: { who: "SDK", figures: of("sdk", ({ first }) => first) }
    },
    {
      ...row,
      measure: "all tools again",
      figures: of("supervised", ({ again }) => again),
      than: { who: "SDK", figures: of("sdk", ({ again }) => again) },
      target: { figure: target }
    }
  ]
}

export const catalog: Section = { name: "catalog", parts: [{ name: "HTTP with JSON, 50 servers", measure }] }
