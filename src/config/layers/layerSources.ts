/**
 * Where a configuration comes from, so that two can be compared without reading either.
 */
import { createHmac } from "node:crypto"
import { existsSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Surroundings } from "../ConfigHost.js"
import { ancestors, type Candidate, candidates, fromRoot } from "./locations.js"

/** Variables that say where files are. */
const places = ["MCP_SUPERVISOR_CONFIG", "MCP_SUPERVISOR_MANAGED_CONFIG", "XDG_CONFIG_HOME", "APPDATA", "PROGRAMDATA"]

/** Variables whose text counts, and may hold secrets. */
const texts = ["MCP_SUPERVISOR_CONFIG_CONTENT", "MCP_SUPERVISOR_DEFAULTS_URL"]

export interface LayerSources {
  readonly cwd: string
  readonly files: ReadonlyArray<string>
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly digests: Readonly<Record<string, string>>
}

/** @param key makes the digests of texts with little in them as good as any. */
export const describe = ({ cwd, env, files, home }: Surroundings, key: string): LayerSources => {
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

type Where = Pick<Surroundings, "platform" | "stateDir">

/** The config files that are there now. At once: they are few, and the quickest of the commands loads nothing but this. */
export const present = (sources: LayerSources, where: Where): ReadonlyArray<string> =>
  found(sources, where).map(({ path }) => path)

/** The files that are read without an approval: all but those of projects. Also those that are not there yet. */
export const withoutTrust = (sources: LayerSources, where: Where): ReadonlyArray<string> =>
  candidates({ ...where, ...sources }, []).map(({ path }) => path)

const found = (sources: LayerSources, where: Where): ReadonlyArray<Candidate> => {
  const seen: Surroundings = { ...where, ...sources }
  const passed = ancestors(seen.cwd, seen.platform).map((directory) => ({
    directory,
    isRoot: existsSync(join(directory, ".git"))
  }))
  return candidates(seen, fromRoot(passed)).filter(({ path }) => existsSync(path))
}

/** Whether two come to the same, as things are now. */
export const same = (a: LayerSources, b: LayerSources, where: Where): boolean => {
  const digests = (sources: LayerSources) => JSON.stringify(Object.entries(sources.digests).toSorted())
  // of a file that is read twice, the second time is what counts
  const files = (sources: LayerSources) => JSON.stringify([...new Set(found(sources, where).map(meaning).toReversed())])
  return digests(a) === digests(b) && files(a) === files(b)
}

/**
 * The same for two names of one file, if that is to be believed in the same way, and its relative paths lead to the same.
 */
const meaning = ({ kind, path }: Candidate): string =>
  JSON.stringify([kind.startsWith("project"), real(dirname(path)), real(path)])

const real = (path: string): string => {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
