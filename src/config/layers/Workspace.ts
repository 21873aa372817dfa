/**
 * The directory of the current project, and the directory that a server without `cwd` runs in.
 */
import { basename, dirname, sep } from "node:path"
import type { ConfigLayer } from "./ConfigLayer.js"

export interface Workspace {
  /** The root of the repository, or the working directory outside of one. A real path. */
  readonly directory: string
  /** Whether the user's own servers may run there. The home needs no approval: they run there otherwise. */
  readonly isTrusted: boolean
  /** The user's home. A real path. */
  readonly home: string
}

/**
 * The directory that the servers of a project file run in, by the real path of the file. Each real file has exactly one, so a
 * link to an approved file cannot run it elsewhere.
 */
export const projectDirectoryOf = (realPath: string): string => {
  const directory = dirname(realPath)
  return basename(directory) === ".mcp-supervisor" ? dirname(directory) : directory
}

/**
 * The layer of a project file, with the directories of the real file: a link to the file must not change the meaning of what
 * was approved.
 */
export const ofProject = (layer: ConfigLayer, realPath: string): ConfigLayer => ({
  ...layer,
  directory: dirname(realPath),
  runsIn: projectDirectoryOf(realPath)
})

/** The directory that servers of the user's own layers run in. */
export const userDirectory = ({ directory, home, isTrusted }: Workspace): string => (isTrusted ? directory : home)

/** The directory of a local server without `cwd`, by the layer that sets its `command`. */
export const workingDirectory = (layer: ConfigLayer, workspace: Workspace): string =>
  layer.runsIn ?? userDirectory(workspace)

/** The value of `${workspaceFolder}` in a layer. `undefined` if the layer is the user's and the project is not trusted. */
export const workspaceFolder = (layer: ConfigLayer, workspace: Workspace): string | undefined => {
  if (layer.kind === "project" || layer.kind === "projectDirectory") return workingDirectory(layer, workspace)
  const isOfProject = layer.kind === "file" && isWithin(workspace.directory, layer.directory)
  return workspace.isTrusted || isOfProject ? workspace.directory : undefined
}

/** Whether a path is a directory or lies in it. Both are real paths. */
export const isWithin = (directory: string, path: string): boolean =>
  path === directory || path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`)
