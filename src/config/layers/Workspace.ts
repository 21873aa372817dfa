/**
 * The directory of the project that the supervisor works in, and which directory a server runs in that sets no `cwd`.
 */
import { basename, dirname, sep } from "node:path"
import type { ConfigLayer } from "./ConfigLayer.js"

export interface Workspace {
  /** The root of the repository, or the working directory outside of one. A real path. */
  readonly directory: string
  /** Whether the user's own servers may run there. The home needs no approval: it is where they run otherwise. */
  readonly isTrusted: boolean
  /** The user's home. A real path. */
  readonly home: string
}

/**
 * The directory that the servers of a project file run in, by the real path of the file. A real file has exactly one, so a link
 * to an approved file cannot run it elsewhere.
 */
export const projectDirectoryOf = (realPath: string): string => {
  const directory = dirname(realPath)
  return basename(directory) === ".mcp-supervisor" ? dirname(directory) : directory
}

/**
 * The layer of a project file, with the directories of the real file: a link to it must not give what was approved another
 * meaning.
 */
export const ofProject = (layer: ConfigLayer, realPath: string): ConfigLayer => ({
  ...layer,
  directory: dirname(realPath),
  runsIn: projectDirectoryOf(realPath)
})

/** Where servers of the user's own layers run. */
export const userDirectory = ({ directory, home, isTrusted }: Workspace): string => (isTrusted ? directory : home)

/** Where a local server runs that sets no `cwd`, by the layer that sets its `command`. */
export const workingDirectory = (layer: ConfigLayer, workspace: Workspace): string =>
  layer.runsIn ?? userDirectory(workspace)

/** What `${workspaceFolder}` stands for in a layer. Nothing, where the layer is the user's and the project is not trusted. */
export const workspaceFolder = (layer: ConfigLayer, workspace: Workspace): string | undefined => {
  if (layer.kind === "project" || layer.kind === "projectDirectory") return workingDirectory(layer, workspace)
  const isOfProject = layer.kind === "file" && isWithin(workspace.directory, layer.directory)
  return workspace.isTrusted || isOfProject ? workspace.directory : undefined
}

/** Whether a path is a directory, or lies in it. Both are real paths. */
export const isWithin = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`)
