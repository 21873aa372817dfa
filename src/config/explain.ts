/**
 * Where each value of the configuration comes from, without showing what is secret.
 */
import type { Issue } from "../domain/Issue.js"
import * as Secrets from "../domain/Secrets.js"
import type { Server } from "./combine.js"
import { type Placeholder, replace } from "./interpolate.js"
import { type LayerKind, place, showable } from "./Layer.js"
import type { Snapshot } from "./load.js"
import * as Tree from "./Tree.js"

/**
 * A value, as it is written where it comes from: variables are not put in, secrets are hidden.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExplainedValue {
  /** Within the server's entry, in our spelling. */
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
  /** `untrusted` is a server that nobody has approved of, `invalid` one whose entry is wrong. */
  readonly state: "enabled" | "disabled" | "untrusted" | "invalid"
  readonly values: ReadonlyArray<ExplainedValue>
  /** What is wrong with it. */
  readonly issues: ReadonlyArray<Issue>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Explanation {
  readonly servers: ReadonlyArray<ExplainedServer>
  /** `tools`, `agent`, `permission` and `mcp_timeout`. */
  readonly settings: ReadonlyArray<ExplainedValue>
}

export const explain = ({ combined, desired }: Snapshot): Explanation => ({
  servers: combined.servers
    .filter(({ name }) => isOwn(desired.servers, name) || isOwn(desired.unreadable, name))
    .map((server) => {
      const issues = isOwn(desired.unreadable, server.name) ? desired.unreadable![server.name]!.issues : []
      const state = server.untrusted ? "untrusted" : issues.length > 0 ? "invalid" : stateOf(server)
      return { name: server.name, state, values: valuesOf(server.entry.tree, server), issues }
    }),
  settings: combined.settings === undefined ? [] : valuesOf(combined.settings)
})

const isOwn = (record: object | undefined, name: string): boolean => record !== undefined && Object.hasOwn(record, name)

const stateOf = ({ entry }: Server): "enabled" | "disabled" => {
  const { tree } = Tree.find(entry.tree, ["enabled"])
  return tree._tag === "Leaf" && tree.value === false ? "disabled" : "enabled"
}

const valuesOf = (tree: Tree.Tree, server?: Server): ReadonlyArray<ExplainedValue> => {
  const hide = Secrets.scrub(server === undefined ? Secrets.empty : literalSecrets(server.entry.tree))
  return Array.from(Tree.leaves(tree), ([path, leaf]) => ({
    path: showable(["", "", ...path]).slice(2),
    value: shown(path, leaf, hide, server === undefined),
    layer: leaf.origin.layer.kind,
    ...place(leaf.origin)
  }))
}

/** Everything in an entry that is secret by where it stands, as it is written there. */
const literalSecrets = (tree: Tree.Tree): Secrets.Secrets => {
  const texts = (...keys: ReadonlyArray<string>) =>
    keys.flatMap((key) => {
      const found = Tree.find(tree, [key])
      return Array.from(found.rest.length > 0 ? [] : Tree.leaves(found.tree, [key])).flatMap(([path, leaf]) =>
        leaf._tag === "Leaf" && Secrets.isText(leaf.value) ? [{ path, text: leaf.value }] : []
      )
    })
  const inPlace = texts("environment", "headers", "oauth", "secrets").filter(({ path }) => isSecretPlace(path))
  const words = texts("command", "args")
  const urls = texts("url", "oauth").flatMap(({ text }): ReadonlyArray<Secrets.Text> => {
    return typeof text === "string" ? [...Secrets.ofUrl(text)] : [text]
  })
  return Secrets.make([
    ...inPlace.map(({ text }) => text),
    ...Secrets.ofArguments(words.map(({ text }) => text)),
    ...urls
  ])
}

const isSecretPlace = ([key, detail]: Tree.Path): boolean =>
  key === "environment" ||
  key === "headers" ||
  key === "secrets" ||
  (key === "oauth" && (detail === "clientSecret" || detail === "privateKeyPem"))

const hidden = "[redacted]"

const shown = (
  path: Tree.Path,
  leaf: Tree.Tree,
  hide: (text: string) => string,
  isSetting: boolean
): ExplainedValue["value"] => {
  if (leaf._tag === "List") return "[]"
  if (leaf._tag === "Branch") return "{}"
  const { value } = leaf
  if (value === null || typeof value === "boolean") return value
  if (!isSetting && isSecretPlace(path)) return typeof value === "string" && isOnlyNames(value) ? value : hidden
  if (typeof value === "number") return value
  if (typeof value !== "string" || !(isSetting || isOpen(path, value))) return hidden
  return hide(replace(value, written))
}

/** Keys whose texts are for everybody to see, if they are what they should be. What is misplaced may be a secret. */
const isOpen = ([key, detail]: Tree.Path, text: string): boolean => {
  switch (key) {
    case "type":
    case "protocol":
    case "replace":
      return /^(?:local|stdio|remote|http|streamable-http|sse|auto|legacy|2026-07-28|overlap|stop-first)$/.test(text)
    case "command":
    case "cwd":
    case "caFile":
      return detail === undefined
    case "args":
    case "roots":
      return typeof detail === "number"
    case "url":
      return isAddress(text)
    case "timeout":
    case "restart":
    case "health":
    case "idleStop":
    case "catalogTtl":
      return isOnlyNames(text) || /^\d+(?:\.\d+)?(?: [a-z]+)?$/.test(text) || text === "none"
    case "oauth":
      return (
        detail === "scope" ||
        detail === "grant" ||
        detail === "alg" ||
        detail === "clientId" ||
        (detail !== undefined && isAddress(text))
      )
    default:
      return false
  }
}

const isAddress = (text: string): boolean => URL.canParse(replace(text, () => "x")) || isOnlyNames(text)

/** The same placeholder, without what it falls back to. */
const written = (placeholder: Placeholder): string => {
  switch (placeholder._tag) {
    case "Escaped":
      return `$${placeholder.text}`
    case "File":
      return `{file:${placeholder.path}}`
    case "Input":
      return `\${input:${placeholder.name}}`
    case "Variable":
      return `{env:${placeholder.name}${placeholder.fallback === undefined ? "" : `:-${hidden}`}}`
  }
}

/** Whether a text says where a secret is to be had, and nothing of the secret. */
const isOnlyNames = (text: string): boolean => {
  let hasFallback = false
  const rest = replace(text, (placeholder) => {
    hasFallback ||=
      placeholder._tag === "Escaped" || (placeholder._tag === "Variable" && placeholder.fallback !== undefined)
    return ""
  })
  return rest !== text && !hasFallback && /^(?:bearer|basic|token)?\s*$/i.test(rest)
}
