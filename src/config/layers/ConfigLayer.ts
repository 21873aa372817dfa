/**
 * The layers that configuration comes from, from the lowest to the highest.
 */
import { dirname } from "node:path"
import type { Issue } from "../../domain/Issue.js"
import { serverMapKeys } from "../../domain/server/serverMapKeys.js"
import { looksLikeName } from "../../domain/internal/looksLikeName.js"
import { type Place, placeOf, type DocumentText } from "../document/DocumentText.js"
import { offsetOf, type ValueOrigin, type Path, pathOf } from "../document/Tree.js"

/**
 * The kinds of layer, from the lowest to the highest:
 *
 * - `program`: what the program itself configures
 * - `organisation`: the document that `MCP_SUPERVISOR_DEFAULTS_URL` names
 * - `global`: the user's own file
 * - `environment`: the file that `MCP_SUPERVISOR_CONFIG` names
 * - `project`: `mcp-supervisor.{json,jsonc,toml}`, from the repository's root down to the working directory
 * - `projectDirectory`: `.mcp-supervisor/config.{json,jsonc,toml}`, in the same directories
 * - `file`: files that are named explicitly
 * - `inline`: `MCP_SUPERVISOR_CONFIG_CONTENT`
 * - `managed`: the administrator's file
 *
 * @since 0.1.0
 * @category models
 */
export type LayerKind =
  | "program"
  | "organisation"
  | "global"
  | "environment"
  | "project"
  | "projectDirectory"
  | "file"
  | "inline"
  | "managed"

export interface ConfigLayer {
  readonly kind: LayerKind
  /** The file, the URL, or the variable. */
  readonly name: string
  /** The directory that its relative paths are resolved against. */
  readonly directory: string
  /** The directory of its local servers without `cwd`. Absent for layers of the user: theirs depends on the project. */
  readonly runsIn?: string | undefined
  /** Absent for a layer that was not read from a text. */
  readonly text?: DocumentText | undefined
}

export const ofFile = (kind: LayerKind, text: DocumentText): ConfigLayer => ({
  kind,
  name: text.name,
  directory: dirname(text.name),
  text
})

/** Whether the user must approve its entries: a project's files come with the project. */
export const needsTrust = ({ kind }: Pick<ConfigLayer, "kind">): boolean =>
  kind === "project" || kind === "projectDirectory"

/** Whether the layer is shared: its content comes from the project or the organisation, not from the user. */
export const isShared = (layer: ConfigLayer): boolean => needsTrust(layer) || layer.kind === "organisation"

export const place = (origin: ValueOrigin): Place => {
  const { text } = origin.layer
  return text === undefined ? { file: origin.layer.name } : placeOf(text, offsetOf(origin))
}

/** An issue with the place of its value. */
export const issueAt = (origin: ValueOrigin, issue: Omit<Issue, "path">, rest: Path = []): Issue => ({
  ...issue,
  path: showable([...pathOf(origin), ...rest]),
  ...place(origin)
})

/** The path up to the first key that does not look like a name: it may be a secret value. Names of servers are always shown. */
export const showable = (path: Path): Path => {
  const isServer = serverMapKeys.some((key) => key === path[0])
  const end = path.findIndex((step, index) => !(isServer && index === 1) && !looksLikeName(step))
  return end === -1 ? path : path.slice(0, end)
}
