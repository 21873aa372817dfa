/**
 * The directories that servers of a project file run in, where their entries set a `cwd`. An approval is for the real directory:
 * the one of that name may become a link to another.
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
  /** Through all links. */
  readonly real: string
}

/** By server. Entries without `cwd` are not among them. */
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
  // it does not start then; as soon as it can, it is another directory
  return missing.length > 0 ? undefined : resolveFrom(layer.directory, text, surroundings)
}
