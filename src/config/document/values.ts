/**
 * The values of placeholders in a layer: variables, names that editors define, and files.
 */
import { resolveFrom } from "../layers/resolvePaths.js"
import type * as ConfigFile from "./configFile.js"
import { pathsOf, type Surroundings } from "../ConfigHost.js"
import type { Values } from "../layers/interpolate.js"
import type { ConfigLayer } from "../layers/ConfigLayer.js"
import * as Workspace from "../layers/Workspace.js"

export const valuesOf = (
  layer: ConfigLayer,
  surroundings: Surroundings,
  contents: ReadonlyMap<string, ConfigFile.FileContent>,
  workspace: Workspace.Workspace
): Values => ({
  variable: (name) => variableOf(surroundings, name),
  known: (name) => knownNames(surroundings, Workspace.workspaceFolder(layer, workspace)).get(name),
  withheld: (name) =>
    /^workspaceFolder(?:Basename)?$/.test(name)
      ? {
          expected: "a trusted project directory",
          found: `${workspace.directory}, which is not trusted`,
          hint: 'to use it for your own servers: mcp-supervisor trust; or write a path instead of "${workspaceFolder}"'
        }
      : undefined,
  file: (path) => {
    const found = contents.get(resolveFrom(layer.directory, path, surroundings))
    if (found?._tag !== "Found") return { problem: found?._tag === "Problem" ? found.reason : "no file of that name" }
    // a file with a token usually ends with a line end, which is no part of the token
    const content = found.text.replace(/^\uFEFF/, "").replace(/[\r\n]+$/, "")
    return content === "" ? { problem: "an empty file" } : { content }
  }
})

export const variableOf = ({ env }: Surroundings, name: string): string | undefined => {
  // the environment object inherits keys that are no variables, such as "constructor"
  const value: unknown = env[name]
  return typeof value === "string" ? value : undefined
}

/** The names that editors define, such as `workspaceFolder`, with their values. */
export const knownNames = (
  { home, platform }: Surroundings,
  workspaceFolder: string | undefined
): ReadonlyMap<string, string> =>
  new Map([
    ...(workspaceFolder === undefined
      ? []
      : ([
          ["workspaceFolder", workspaceFolder],
          ["workspaceFolderBasename", pathsOf(platform).basename(workspaceFolder)]
        ] as const)),
    ["userHome", home],
    ["pathSeparator", pathsOf(platform).sep],
    ["/", pathsOf(platform).sep]
  ])
