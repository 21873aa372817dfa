/**
 * `list --json` of a running supervisor, in one request and without anything that takes time to load. Where there is any doubt
 * about who runs and for whom, there is no answer here, and the command goes the long way.
 */
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { surroundings } from "../config/Host.js"
import type { Surroundings } from "../config/Host.js"
import { candidates } from "../config/locations.js"
import { describe, type Sources } from "../config/sources.js"
import { revision } from "../control/revision.js"

export const listed = async (input: Readonly<Record<string, unknown>>): Promise<string | undefined> => {
  if (input.standalone === true) return undefined
  try {
    const { config, cwd, stateDir } = input as {
      readonly config: ReadonlyArray<string>
      readonly cwd?: string
      readonly stateDir?: string
    }
    const where = surroundings({ cwd, files: config, stateDir })
    const daemon = JSON.parse(readFileSync(join(where.stateDir, "daemon.json"), "utf8")) as Daemon
    if (daemon.version !== 1 || daemon.api !== revision || daemon.socket === undefined) return undefined
    const token = readFileSync(join(where.stateDir, "control-token"), "utf8").trim()
    if (!isSame(describe(where, token), daemon.sources, where)) return undefined
    return await get(daemon.socket, token)
  } catch {
    return undefined
  }
}

interface Daemon {
  readonly version: number
  readonly api: number
  readonly socket?: string
  readonly sources: Sources
}

const isSame = (ours: Sources, theirs: Sources, where: Surroundings): boolean => {
  const digests = (sources: Sources) => JSON.stringify(Object.entries(sources.digests).toSorted())
  return digests(ours) === digests(theirs) && present(ours, where).join("\0") === present(theirs, where).join("\0")
}

/** The config files that are there now. */
export const present = (sources: Sources, where: Surroundings): ReadonlyArray<string> => {
  const seen = { ...where, ...sources }
  return candidates(seen, projectDirectories(seen.cwd))
    .map(({ path }) => path)
    .filter((path) => existsSync(path))
}

const projectDirectories = (cwd: string): ReadonlyArray<string> => {
  const passed = []
  for (let directory = cwd; ; directory = dirname(directory)) {
    passed.unshift(directory)
    if (existsSync(join(directory, ".git"))) return passed
    if (dirname(directory) === directory) return [cwd]
  }
}

const timeoutMs = 2000

const get = async (socketPath: string, token: string): Promise<string | undefined> => {
  const { request } = await import("node:http")
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}` }
    const asked = request({ socketPath, path: "/mcp", headers, timeout: timeoutMs, agent: false }, (answer) => {
      const chunks: Array<Buffer> = []
      answer.on("error", reject)
      answer.on("data", (chunk: Buffer) => void chunks.push(chunk))
      answer.on("end", () => resolve(answer.statusCode === 200 ? Buffer.concat(chunks).toString("utf8") : undefined))
    })
    asked.on("timeout", () => asked.destroy(new Error("no answer")))
    asked.on("error", reject)
    asked.end()
  })
}
