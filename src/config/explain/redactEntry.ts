/**
 * Decides by key which values of an entry are shown. An unexpected value may be a secret.
 */
import * as SchemaAST from "effect/SchemaAST"
import * as Secrets from "../../domain/Secrets.js"
import * as Input from "../../domain/server/ServerConfig/Input.js"
import { pathsShownAs, shownAt } from "../document/keyFacts.js"
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
    const value = simple(leaf, shownAt(path) === "measure")
    if (value !== undefined) return value
    const text = textOf(leaf)
    return text === undefined ? hidden : scrub(entryText(path, text, before))
  }
}

/** Shows a value of the settings for all servers. */
export const showSetting = (path: Tree.Path, leaf: Tree.Tree): Shown => {
  const [key, ...rest] = path
  const isMeasure = key === "mcp_timeout" ? shownAt(["timeout", ...rest]) === "measure" : key === "maxServers"
  const value = simple(leaf, isMeasure)
  if (value !== undefined) return value
  const text = textOf(leaf)
  if (text === undefined) return hidden
  if (key === "permission") return decision(text)
  return key === "mcp_timeout" ? duration(text) : namesOnly(text)
}

const textOf = (tree: Tree.Tree | undefined): string | undefined =>
  tree?._tag === "Leaf" && typeof tree.value === "string" ? tree.value : undefined

/** Shows values that need no check of their text. */
const simple = (leaf: Tree.Tree, isMeasure: boolean): Shown | undefined => {
  if (leaf._tag === "List") return "[]"
  if (leaf._tag === "Branch") return "{}"
  const { value } = leaf
  if (value === null || typeof value === "boolean") return value
  // any other number may be a PIN
  return typeof value === "number" && isMeasure ? value : undefined
}

const decision = oneOf(/^(?:allow|ask|deny)$/)

const duration = oneOf(/^(?:none|\d+(?:\.\d+)?(?: (?:nanos?|micros?|millis?|seconds?|minutes?|hours?|days?|weeks?))?)$/)

/** The words that a schema lists, such as the values of `type` and `protocol`. */
const wordsOf = (ast: SchemaAST.AST): ReadonlyArray<string> => {
  if (SchemaAST.isLiteral(ast)) return typeof ast.literal === "string" ? [ast.literal] : []
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap(wordsOf)
  return SchemaAST.isTypeLiteral(ast) ? ast.propertySignatures.flatMap(({ type }) => wordsOf(type)) : []
}

const words: ReadonlySet<string> = new Set([Input.Local, Input.Remote].flatMap(({ ast }) => wordsOf(ast)))

const algorithm = oneOf(/^(?:[REP]S(?:256|384|512)|EdDSA)$/)

const entryText = (path: Tree.Path, text: string, argumentBefore: (index: number) => string | undefined): string => {
  if (path[0] === "permission") return decision(text)
  switch (shownAt(path)) {
    case "measure":
      return duration(text)
    case "word":
      return words.has(text) ? text : algorithm(text)
    case "program":
      return program(text)
    case "arguments":
      return argument(text, argumentBefore(Number(path[1])))
    case "path":
    case "paths":
      return pathText(text)
    case "url":
      return address(text)
    case "hidden":
    case "secret":
      return namesOnly(text)
  }
}

const keysWithUrls = new Set(pathsShownAs("url").flatMap(([key]) => key ?? []))

/** The values of an entry that are secret by their key. They are hidden wherever else they occur. */
const literalSecrets = (entry: Tree.Tree): Secrets.Secrets => {
  const texts = (path: Tree.Path) => {
    const found = Tree.find(entry, path)
    return Array.from(found.rest.length > 0 ? [] : Tree.leaves(found.tree)).flatMap(([, leaf]) => textOf(leaf) ?? [])
  }
  const all = [
    ...pathsShownAs("secret").flatMap(texts),
    ...Secrets.ofArguments(pathsShownAs("arguments").flatMap(texts)),
    ...Array.from(keysWithUrls).flatMap((key) => texts([key]).flatMap((text) => [...Secrets.ofUrl(text)]))
  ]
  // a text with placeholders only names where a secret comes from, and is no secret
  return Secrets.make(all.filter((text) => namesOnly(Secrets.reveal(text)).includes(hidden)))
}
