/**
 * Lists the files that may hold configuration, from the lowest layer to the highest.
 */
import * as Effect from "effect/Effect"
import * as Environment from "../../system/environment.js"
import * as ConfigFile from "../document/configFile.js"
import { configHome, pathsOf, type Surroundings } from "../ConfigHost.js"
import type { LayerKind } from "./ConfigLayer.js"

export interface Candidate {
  readonly kind: LayerKind
  readonly path: string
  /** Whether the file is named explicitly: its absence is an error. */
  readonly required: boolean
}

const endings = ["json", "jsonc", "toml"]

export const globalFiles = (surroundings: Surroundings): ReadonlyArray<string> =>
  endings.map((ending) =>
    pathsOf(surroundings.platform).join(configHome(surroundings), "mcp-supervisor", `config.${ending}`)
  )

export const managedFile = ({ env, platform }: Surroundings): string => {
  const { PROGRAMDATA = "C:\\ProgramData" } = env
  const named = Environment.read(env, "managedConfig")
  if (named !== undefined) return named
  if (platform === "win32") return pathsOf(platform).join(PROGRAMDATA, "mcp-supervisor", "config.json")
  return "/etc/mcp-supervisor/config.json"
}

/** All possible files, given the directories of the project from its root down to the working directory. */
export const candidates = (surroundings: Surroundings, project: ReadonlyArray<string>): ReadonlyArray<Candidate> => {
  const { cwd, env, files, platform } = surroundings
  const { join, resolve } = pathsOf(platform)
  const some = (kind: LayerKind, paths: ReadonlyArray<string>, required = false) =>
    paths.map((path) => ({ kind, path, required }))
  const named = Environment.read(env, "config")
  return [
    ...some("global", globalFiles(surroundings)),
    ...some("environment", named === undefined ? [] : [resolve(cwd, named)], true),
    ...some(
      "project",
      project.flatMap((directory) => endings.map((ending) => join(directory, `mcp-supervisor.${ending}`)))
    ),
    ...some(
      "projectDirectory",
      project.flatMap((directory) => endings.map((ending) => join(directory, ".mcp-supervisor", `config.${ending}`)))
    ),
    ...some("file", files, true),
    ...some("managed", [managedFile(surroundings)])
  ]
}

/**
 * The directories of the project, from the root of the repository down to the working directory. Outside of a repository,
 * the working directory alone: parent directories may belong to other users.
 */
export const projectDirectories = ({ cwd, platform }: Surroundings): Effect.Effect<ReadonlyArray<string>> =>
  Effect.map(
    Effect.forEach(
      ancestors(cwd, platform),
      (directory) =>
        Effect.map(ConfigFile.exists(pathsOf(platform).join(directory, ".git")), (isRoot) => ({ directory, isRoot })),
      { concurrency: 8 }
    ),
    fromRoot
  )

/** The directories that belong to the project, given all from the working directory up. */
export const fromRoot = (
  all: ReadonlyArray<{ readonly directory: string; readonly isRoot: boolean }>
): ReadonlyArray<string> => {
  const root = all.findIndex(({ isRoot }) => isRoot)
  return all
    .slice(0, Math.max(root, 0) + 1)
    .map(({ directory }) => directory)
    .toReversed()
}

/** A directory and all its parents. */
export const ancestors = (directory: string, platform: NodeJS.Platform): ReadonlyArray<string> => {
  const parent = pathsOf(platform).dirname(directory)
  return parent === directory ? [directory] : [directory, ...ancestors(parent, platform)]
}
