/**
 * Describes where a configuration comes from, so that two can be compared without reading either.
 */
import { createHmac } from "node:crypto"
import { existsSync, realpathSync } from "node:fs"
import { dirname, join } from "node:path"
import { variables } from "../../system/environment.js"
import type { Surroundings } from "../ConfigHost.js"
import { ancestors, type Candidate, candidates, fromRoot } from "./locations.js"

/** Variables that determine the location of files. */
const places = [variables.config, variables.managedConfig, "XDG_CONFIG_HOME", "APPDATA", "PROGRAMDATA"]

/** Variables whose text is part of the configuration and may hold secrets. */
const texts = [variables.configContent, variables.defaultsUrl]

export interface LayerSources {
  readonly cwd: string
  readonly files: ReadonlyArray<string>
  readonly home: string
  readonly env: Readonly<Record<string, string>>
  readonly digests: Readonly<Record<string, string>>
}

/** @param key keys the digests, so that short texts cannot be guessed from them. */
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

/** The config files that exist now. Synchronous: they are few, and the fastest command loads only this module. */
export const present = (sources: LayerSources, where: Where): ReadonlyArray<string> =>
  found(sources, where).map(({ path }) => path)

/** The files that are read without approval: all except project files. Includes files that do not exist yet. */
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

/** Whether two sources give the same configuration now. */
export const same = (a: LayerSources, b: LayerSources, where: Where): boolean => {
  const digests = (sources: LayerSources) => JSON.stringify(Object.entries(sources.digests).toSorted())
  // for a file that is listed twice, the last position counts
  const files = (sources: LayerSources) => JSON.stringify([...new Set(found(sources, where).map(meaning).toReversed())])
  return digests(a) === digests(b) && files(a) === files(b)
}

/**
 * A key that is equal for two names of one file, if both need approval or neither does, and relative paths resolve alike.
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
