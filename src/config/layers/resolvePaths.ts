/**
 * Resolves the relative paths of an entry (`cwd`, `caFile`, `roots`, the command) against the file that sets them.
 */
import type { Surroundings } from "../ConfigHost.js"
import { pathsOf } from "../ConfigHost.js"
import type { ConfigLayer } from "./ConfigLayer.js"
import { pathKeys } from "../document/keyFacts.js"
import * as Tree from "../document/Tree.js"

export interface Paths extends Pick<Surroundings, "home" | "platform"> {
  /** The directory of a server whose `command` the layer sets, unless the entry has a `cwd`. */
  readonly workingDirectory: (layer: ConfigLayer) => string
}

/**
 * Resolves `cwd`, `caFile` and `roots`, and words of the command that begin with `./` or `../`. With a `cwd`, words of the
 * command stay relative: the program resolves them from there.
 */
export const resolvePaths = (entry: Tree.Tree, paths: Paths): Tree.Tree => {
  if (!Tree.isBranch(entry)) return entry
  const fields = new Map(entry.fields)
  const change = (key: string, apply: (text: string, leaf: Tree.Leaf) => string) => {
    const value = fields.get(key)
    if (value !== undefined) fields.set(key, Tree.mapTexts(value, apply))
  }
  const resolve = (text: string, { origin }: Tree.Leaf) => resolveFrom(origin.layer.directory, text, paths)
  for (const key of pathKeys) change(key, resolve)
  if (fields.has("command") && !fields.has("cwd")) {
    for (const key of ["command", "args"]) {
      change(key, (text, leaf) => (/^\.\.?[\\/]/.test(text) ? resolve(text, leaf) : text))
    }
    const { origin } = fields.get("command")!
    fields.set("cwd", Tree.leaf(paths.workingDirectory(origin.layer), origin))
  }
  return { ...entry, fields }
}

/** Resolves a path. `~` is the home directory; a URL stays as it is. */
export const resolveFrom = (
  directory: string,
  path: string,
  { home, platform }: Pick<Paths, "home" | "platform">
): string => {
  const { join, resolve } = pathsOf(platform)
  if (path.trim() === "" || /^[a-z][a-z\d+.-]+:\/\//i.test(path)) return path
  return /^~(?:[\\/]|$)/.test(path) ? join(home, path.slice(1)) : resolve(directory, path)
}
