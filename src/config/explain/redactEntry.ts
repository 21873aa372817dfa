/**
 * Decides by key which values of an entry are shown. An unexpected value may be a secret.
 */
import * as Secrets from "../../domain/Secrets.js"
import { hidden } from "./redactParts.js"
import { address, argument, namesOnly, oneOf, path as pathText, program } from "./redactText.js"
import * as Tree from "../document/Tree.js"

type Shown = string | number | boolean | null

/** Returns how each value of an entry is shown. A secret value is hidden wherever it occurs in the entry. */
export const redactEntry = (entry: Tree.Tree): ShowValue => shownBy(entry, Secrets.scrub(literalSecrets(entry)))

/** Returns how each value is shown for review, by its own place only: an entry cannot hide a text by repeating it as a secret. */
export const redactReviewedEntry = (entry: Tree.Tree): ShowValue => shownBy(entry, (text) => text)

type ShowValue = (path: Tree.Path, leaf: Tree.Tree) => Shown

const shownBy = (entry: Tree.Tree, scrub: (text: string) => string): ShowValue => {
  const args = Tree.find(entry, ["args"])
  const before = (index: number) =>
    args.rest.length === 0 && args.tree._tag === "List" ? textOf(args.tree.items[index - 1]) : undefined
  return (path, leaf) => {
    const value = simple(path, leaf)
    if (value !== undefined) return value
    const text = textOf(leaf)
    return text === undefined ? hidden : scrub(entryText(path, text, before))
  }
}

/** Shows a value of the settings for all servers. */
export const showSetting = (path: Tree.Path, leaf: Tree.Tree): Shown => {
  const value = simple(path, leaf)
  if (value !== undefined) return value
  const text = textOf(leaf)
  if (text === undefined) return hidden
  if (path[0] === "permission") return decision(text)
  return path[0] === "mcp_timeout" ? duration(text) : namesOnly(text)
}

const textOf = (tree: Tree.Tree | undefined): string | undefined =>
  tree?._tag === "Leaf" && typeof tree.value === "string" ? tree.value : undefined

/** Shows values that need no check of their text. */
const simple = (path: Tree.Path, leaf: Tree.Tree): Shown | undefined => {
  if (leaf._tag === "List") return "[]"
  if (leaf._tag === "Branch") return "{}"
  const { value } = leaf
  if (value === null || typeof value === "boolean") return value
  // any other number may be a PIN
  return typeof value === "number" && isMeasure(path) ? value : undefined
}

const limits =
  /^(?:connect|list|call|total|base|factor|cap|stableAfter|maxRestarts|window|cooldown|interval|timeout|callbackPort)$/

const isMeasure = ([key, detail, ...rest]: Tree.Path): boolean =>
  /^(?:timeout|restart|health|idleStop|catalogTtl|listBudget|concurrency|maxServers|mcp_timeout|oauth)$/.test(
    String(key)
  ) &&
  rest.length === 0 &&
  (key === "oauth" ? detail === "callbackPort" : detail === undefined || limits.test(String(detail)))

const decision = oneOf(/^(?:allow|ask|deny)$/)

const duration = oneOf(/^(?:none|\d+(?:\.\d+)?(?: (?:nanos?|micros?|millis?|seconds?|minutes?|hours?|days?|weeks?))?)$/)

const vocabulary = oneOf(
  /^(?:local|stdio|remote|http|streamable-http|sse|auto|legacy|2026-07-28|overlap|stop-first|authorization_code|client_credentials|[REP]S(?:256|384|512)|EdDSA)$/
)

const entryText = (path: Tree.Path, text: string, argumentBefore: (index: number) => string | undefined): string => {
  const [key, detail, ...rest] = path
  if (key === "permission") return decision(text)
  if (rest.length > 0) return namesOnly(text)
  if (isMeasure(path)) return duration(text)
  if (typeof detail === "number") {
    return key === "args" ? argument(text, argumentBefore(detail)) : key === "roots" ? pathText(text) : namesOnly(text)
  }
  switch (detail === undefined ? key : `${key}.${detail}`) {
    case "type":
    case "protocol":
    case "replace":
    case "oauth.grant":
    case "oauth.alg":
      return vocabulary(text)
    case "command":
      return program(text)
    case "cwd":
    case "caFile":
      return pathText(text)
    case "url":
    case "oauth.redirectUri":
    case "oauth.clientMetadataUrl":
    case "oauth.authorizationUrl":
    case "oauth.tokenUrl":
      return address(text)
    default:
      return namesOnly(text)
  }
}

/** The values of an entry that are secret by their key. They are hidden wherever else they occur. */
const literalSecrets = (entry: Tree.Tree): Secrets.Secrets => {
  const texts = (...path: Tree.Path) => {
    const found = Tree.find(entry, path)
    return Array.from(found.rest.length > 0 ? [] : Tree.leaves(found.tree)).flatMap(([, leaf]) => textOf(leaf) ?? [])
  }
  const all = [
    ...["environment", "headers", "secrets"].flatMap((key) => texts(key)),
    ...["clientSecret", "privateKeyPem"].flatMap((key) => texts("oauth", key)),
    ...Secrets.ofArguments(texts("args")),
    ...[...texts("url"), ...texts("oauth")].flatMap((text) => [...Secrets.ofUrl(text)])
  ]
  // a text with placeholders only names where a secret comes from, and is no secret
  return Secrets.make(all.filter((text) => namesOnly(Secrets.reveal(text)).includes(hidden)))
}
