/**
 * Where a configuration comes from, so that two can be compared without reading either.
 */
import { createHmac } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Files from "./files.js"
import type { Surroundings } from "./Host.js"
import { candidates, projectDirectories } from "./locations.js"

/** Variables that say where files are. */
const places = ["MCP_SUPERVISOR_CONFIG", "MCP_SUPERVISOR_MANAGED_CONFIG", "XDG_CONFIG_HOME", "APPDATA", "PROGRAMDATA"]

/** Variables whose text counts, and may hold secrets. */
const texts = ["MCP_SUPERVISOR_CONFIG_CONTENT", "MCP_SUPERVISOR_DEFAULTS_URL"]

export interface Sources {
  readonly cwd: string
  readonly files: ReadonlyArray<string>
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly digests: Readonly<Record<string, string>>
}

/** @param key makes the digests of texts with little in them as good as any. */
export const describe = ({ cwd, env, files, home }: Surroundings, key: string): Sources => {
  const set = (names: ReadonlyArray<string>) =>
    names.flatMap((name) => {
      const value = env[name] ?? ""
      return value === "" ? [] : [[name, value] as const]
    })
  const digest = (text: string) => createHmac("sha256", key).update(text).digest("hex")
  return {
    cwd,
    files,
    home,
    env: Object.fromEntries(set(places)),
    digests: Object.fromEntries(set(texts).map(([name, text]) => [name, digest(text)]))
  }
}

/** The config files that are there now. */
export const present = (
  { cwd, env, files, home }: Sources,
  { platform, stateDir }: Pick<Surroundings, "platform" | "stateDir">
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.gen(function* () {
    const surroundings: Surroundings = { cwd, files, home, env, platform, stateDir }
    const project = yield* projectDirectories(surroundings)
    const found = yield* Effect.filter(candidates(surroundings, project), ({ path }) => Files.exists(path), {
      concurrency: 16
    })
    return found.map(({ path }) => path)
  })

/** Whether two come to the same, as things are now. */
export const same = (
  a: Sources,
  b: Sources,
  where: Pick<Surroundings, "platform" | "stateDir">
): Effect.Effect<boolean> =>
  JSON.stringify(sorted(a.digests)) === JSON.stringify(sorted(b.digests))
    ? Effect.zipWith(
        present(a, where),
        present(b, where),
        (ours, theirs) => JSON.stringify(ours) === JSON.stringify(theirs)
      )
    : Effect.succeed(false)

const sorted = (record: Readonly<Record<string, string>>) => Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))
