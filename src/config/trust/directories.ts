/**
 * Finds the directories of project servers that set a `cwd`. An approval covers the real directory, because the path may
 * later become a link to another one.
 */
import * as Effect from "effect/Effect"
import { resolveFrom } from "../layers/resolvePaths.js"
import type { LayerContent } from "../document/LayerContent.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import { interpolate } from "../layers/interpolate.js"
import * as Tree from "../document/Tree.js"
import { knownNames, variableOf } from "../document/values.js"

export interface Directory {
  readonly path: string
  /** The real path. */
  readonly real: string
}

/** The directories by server. Entries without `cwd` are absent. */
export type Directories = ReadonlyMap<string, Directory>

export const directoriesOf = (
  content: LayerContent,
  names: Iterable<string>,
  surroundings: Surroundings
): Effect.Effect<Directories> =>
  Effect.map(
    Effect.forEach(
      names,
      (name) => {
        const path = pathOf(content, name, surroundings)
        return path === undefined
          ? Effect.succeed([])
          : Effect.map(ConfigFile.realPath(path), (real) => [[name, { path, real }] as const])
      },
      { concurrency: 16 }
    ),
    (found) => new Map(found.flat())
  )

const pathOf = ({ layer, servers }: LayerContent, name: string, surroundings: Surroundings): string | undefined => {
  const tree = servers.get(name)?.tree
  const cwd = Tree.isBranch(tree) ? tree.fields.get("cwd") : undefined
  if (cwd?._tag !== "Leaf" || typeof cwd.value !== "string") return undefined
  const known = knownNames(surroundings, layer.runsIn)
  const { missing, text } = interpolate(cwd.value, {
    variable: (variable) => variableOf(surroundings, variable),
    known: (each) => known.get(each),
    file: () => ({ problem: "not read" })
  })
  // without the value the server does not start; with it, the directory differs and needs a new approval
  return missing.length > 0 ? undefined : resolveFrom(layer.directory, text, surroundings)
}
