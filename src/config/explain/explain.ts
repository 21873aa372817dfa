/**
 * Explains where each value of the configuration comes from, without showing secrets.
 */
import type { InvalidConfig } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import type { CombinedServer } from "../layers/combineLayers.js"
import { type LayerKind, place, showable } from "../layers/ConfigLayer.js"
import type { ValidSnapshot } from "../layers/loadLayers.js"
import { redactEntry, showSetting } from "./redactEntry.js"
import { isSwitchedOff } from "../layers/resolveEntries.js"
import * as Tree from "../document/Tree.js"

/**
 * A value as it is written in its layer: variables are not interpolated, secrets are hidden.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExplainedValue {
  /** The path within the server's entry, in the converted spelling. */
  readonly path: Issue["path"]
  readonly value: string | number | boolean | null
  readonly layer: LayerKind
  readonly file: string
  readonly line?: number
  readonly column?: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ExplainedServer {
  readonly name: string
  /** `untrusted`: the server is not approved. `invalid`: its entry is invalid. */
  readonly state: "enabled" | "disabled" | "untrusted" | "invalid"
  readonly values: ReadonlyArray<ExplainedValue>
  /** The issues of its entry. */
  readonly issues: ReadonlyArray<Issue>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Explanation {
  readonly servers: ReadonlyArray<ExplainedServer>
  /** `tools`, `agent`, `guard`, `permission`, `maxServers` and `mcp_timeout`. */
  readonly settings: ReadonlyArray<ExplainedValue>
}

export const explain = ({ combined, desired }: ValidSnapshot): Explanation => ({
  servers: combined.servers
    .filter(({ name }) => isOwn(desired.servers, name) || isOwn(desired.unreadable, name))
    .map((server) => {
      const error = isOwn(desired.unreadable, server.name) ? desired.unreadable![server.name] : undefined
      const state = stateOf(server, error)
      return { name: server.name, state, values: entryValues(server.entry.tree), issues: error?.issues ?? [] }
    }),
  settings: combined.settings === undefined ? [] : settingValues(combined.settings)
})

const isOwn = (record: object | undefined, name: string): boolean => record !== undefined && Object.hasOwn(record, name)

const stateOf = ({ entry, untrusted }: CombinedServer, error: InvalidConfig | undefined): ExplainedServer["state"] => {
  if (untrusted) return "untrusted"
  if (error !== undefined) return error.disabled === true ? "disabled" : "invalid"
  return isSwitchedOff(entry.tree) ? "disabled" : "enabled"
}

const entryValues = (tree: Tree.Tree): ReadonlyArray<ExplainedValue> => {
  const show = redactEntry(tree)
  return Array.from(Tree.leaves(tree), ([path, leaf]) => ({
    path: showable(["mcp", "", ...path]).slice(2),
    value: show(path, leaf),
    layer: leaf.origin.layer.kind,
    ...place(leaf.origin)
  }))
}

const settingValues = (tree: Tree.Tree): ReadonlyArray<ExplainedValue> =>
  Array.from(Tree.leaves(tree), ([path, leaf]) => ({
    path: showable(path),
    value: showSetting(path, leaf),
    layer: leaf.origin.layer.kind,
    ...place(leaf.origin)
  }))
