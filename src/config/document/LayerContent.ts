/**
 * Reads the content of one layer, its servers and the settings for all servers, such as `tools` and `permission`.
 */
import * as Either from "effect/Either"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { escapeHidden, hasHidden } from "../../domain/internal/hiddenCharacters.js"
import { describeType, type Issue, renderPath } from "../../domain/Issue.js"
import { nearest } from "../../domain/internal/nearest.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import { type ServerMapKey, serverMapKeys } from "../../domain/server/serverMapKeys.js"
import { limitIssues } from "./limitIssues.js"
import { spell } from "./dialect.js"
import { ownKeys, pathKeys } from "./keyFacts.js"
import * as LayerEntry from "./LayerEntry.js"
import { hasPlaceholder } from "../layers/interpolate.js"
import { issueAt, type ConfigLayer, needsTrust, place, showable } from "../layers/ConfigLayer.js"
import { parse } from "./parseDocument.js"
import type { DocumentText } from "./DocumentText.js"
import * as Tree from "./Tree.js"

export interface LayerContent {
  readonly layer: ConfigLayer
  readonly servers: ReadonlyMap<string, LayerEntry.LayerEntry>
  /** The number of servers beyond the limit, which were not read. */
  readonly unread: number
  /** `tools`, `agent`, `guard`, `permission`, `maxServers` and `experimental.mcp_timeout`, as far as they are set. */
  readonly settings: Tree.Branch
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/** The largest number of entries that are read of a file, and the largest `maxServers`. */
const mostServers = 10_000

/** Reads a text. Fails if the document as a whole is invalid. An invalid entry affects only its server, and is found later. */
export const read = (
  layer: ConfigLayer,
  text: DocumentText,
  options?: ReadOptions
): Either.Either<LayerContent, ReadonlyArray<Issue>> =>
  Either.flatMap(parse(text, layer), ({ duplicates, tree }) =>
    Either.map(ofTree(layer, tree, options), (content) => ({
      ...content,
      diagnostics: [
        ...duplicates.map((origin) =>
          remark(
            origin,
            "duplicate_key",
            `${escapeHidden(renderPath(showable(Tree.pathOf(origin))))} is given twice; the later one holds`
          )
        ),
        ...content.diagnostics
      ]
    }))
  )

export interface ReadOptions {
  /** Whether servers with hidden characters in their names are left out. Defaults to true for a layer that needs trust. */
  readonly onlyVisibleNames?: boolean | undefined
}

export const ofTree = (
  layer: ConfigLayer,
  tree: Tree.Tree,
  { onlyVisibleNames = needsTrust(layer) }: ReadOptions = {}
): Either.Either<LayerContent, ReadonlyArray<Issue>> => {
  if (!Tree.isBranch(tree)) return Either.left([wrong(tree, "an object")])
  const issues: Array<Issue> = []
  const diagnostics: Array<Diagnostic> = []
  const servers = new Map<string, LayerEntry.LayerEntry>()
  const unreadable: Array<readonly [string, Tree.Tree]> = []
  let unread = 0
  // the key with the highest precedence comes last and wins
  for (const key of serverMapKeys.toReversed()) {
    for (const [name, value] of serversUnder(tree, key, issues)) {
      // the name is shown to the person who approves the entry
      if (onlyVisibleNames && hasHidden(name)) {
        unreadable.push([name, value])
        continue
      }
      if (servers.size >= mostServers && !servers.has(name)) {
        unread += 1
        continue
      }
      const { notes, tree } = spell(value)
      for (const note of notes) {
        const origin = Tree.find(value, [note.key]).tree.origin
        diagnostics.push({ ...remark(origin, "not_taken_over", `"${note.key}": ${note.message}`), subject: name })
      }
      if (servers.has(name)) {
        diagnostics.push(
          remark(value.origin, "duplicate_server", `"${name}" is declared under several keys; this one holds`)
        )
      }
      servers.set(name, LayerEntry.make(tree))
    }
  }
  const settings = settingsOf(tree, issues)
  if (issues.length > 0) return Either.left(limitIssues(issues))
  for (const each of [...misspelled(tree), ...permissionNotApplied(tree), ...invalidNames(unreadable)]) {
    diagnostics.push(each)
  }
  return Either.right(
    layer.kind === "organisation"
      ? restricted({ layer, servers, unread, settings, diagnostics })
      : { layer, servers, unread, settings, diagnostics }
  )
}

/** The code of the diagnostic for entries that were left out because of their names. */
export const invalidName = "invalid_name"

/** The number of left-out entries that the diagnostic names. */
const maxNamed = 3

const invalidNames = (all: ReadonlyArray<readonly [string, Tree.Tree]>): ReadonlyArray<Diagnostic> => {
  const [first] = all
  if (first === undefined) return []
  const named = all.slice(0, maxNamed).map(([name]) => `"${escapeHidden(name.slice(0, 64))}"`)
  const others = all.length > maxNamed ? ` and ${all.length - maxNamed} more` : ""
  const message = `server names with control or invisible characters are left out: ${named.join(", ")}${others}; rename them`
  return [{ severity: "warning", code: invalidName, message, ...place(first[1].origin) }]
}

const wrong = ({ origin, ...tree }: Tree.Tree, expected: string): Issue =>
  issueAt(origin, { expected, found: describeType(Tree.toPlain({ origin, ...tree } as Tree.Tree)) })

export const remark = (origin: Tree.ValueOrigin, code: string, message: string): Diagnostic => ({
  severity: "warning",
  code,
  message,
  path: showable(Tree.pathOf(origin)),
  ...place(origin)
})

const serversUnder = (
  document: Tree.Branch,
  key: ServerMapKey,
  issues: Array<Issue>
): Iterable<readonly [string, Tree.Tree]> => {
  const found = document.fields.get(key)
  if (found === undefined) return []
  if (!Tree.isBranch(found)) {
    issues.push(wrong(found, "an object of servers by name"))
    return []
  }
  if (key !== "mcp") return found.fields
  const nested = found.fields.get("servers")
  // VS Code's settings hold servers one level deeper
  if (
    Tree.isBranch(nested) &&
    !LayerEntry.isDefinition(LayerEntry.make(nested)) &&
    [...nested.fields.values()].every(Tree.isBranch)
  ) {
    return nested.fields
  }
  // Gemini's settings hold lists of names under this key
  return document.fields.has("mcpServers")
    ? [...found.fields].filter(([, value]) => Tree.isBranch(value))
    : found.fields
}

/** Keys of Gemini's `tools`, which does not hold patterns. */
const foreignTools = new Set(["allowed", "callCommand", "core", "discoveryCommand", "exclude", "sandbox", "shell"])

const settingsOf = (document: Tree.Branch, issues: Array<Issue>): Tree.Branch => {
  const settings = new Map<string, Tree.Tree>()
  const keep = (key: string, value: Tree.Tree | undefined) => {
    if (value !== undefined) settings.set(key, value)
  }
  const tools = document.fields.get("tools")
  const isForeign = Tree.isBranch(tools) && [...tools.fields.keys()].some((key) => foreignTools.has(key))
  if (!isForeign) keep("tools", globs(tools, issues))
  keep("agent", agents(document.fields.get("agent"), issues))
  keep("guard", flag(document.fields.get("guard"), issues))
  keep("permission", document.fields.get("permission"))
  keep("maxServers", serverLimit(document.fields.get("maxServers"), issues))
  const experimental = document.fields.get("experimental")
  // hosts use a key of this name for other things, or as a boolean
  if (Tree.isBranch(experimental)) keep("mcp_timeout", experimental.fields.get("mcp_timeout"))
  return Tree.branch(settings, document.origin)
}

const globs = (tree: Tree.Tree | undefined, issues: Array<Issue>): Tree.Tree | undefined => {
  if (tree === undefined) return undefined
  if (!Tree.isBranch(tree)) issues.push(wrong(tree, "an object of patterns and booleans"))
  else {
    for (const offered of tree.fields.values()) {
      if (offered._tag !== "Leaf" || typeof offered.value !== "boolean") issues.push(wrong(offered, "a boolean"))
    }
  }
  return tree
}

const flag = (tree: Tree.Tree | undefined, issues: Array<Issue>): Tree.Tree | undefined => {
  if (tree !== undefined && (tree._tag !== "Leaf" || typeof tree.value !== "boolean"))
    issues.push(wrong(tree, "a boolean"))
  return tree
}

const serverLimit = (tree: Tree.Tree | undefined, issues: Array<Issue>): Tree.Tree | undefined => {
  if (tree === undefined) return undefined
  const value = tree._tag === "Leaf" ? tree.value : undefined
  if (!Number.isInteger(value) || Number(value) < 1 || Number(value) > mostServers) {
    issues.push(wrong(tree, `a whole number from 1 to ${mostServers}`))
  }
  return tree
}

/** Reads the tools of each agent, and ignores its other keys. */
const agents = (tree: Tree.Tree | undefined, issues: Array<Issue>): Tree.Tree | undefined => {
  if (tree === undefined) return undefined
  if (!Tree.isBranch(tree)) {
    issues.push(wrong(tree, "an object of agents by name"))
    return undefined
  }
  const fields = Array.from(tree.fields).flatMap(([name, agent]) => {
    if (!Tree.isBranch(agent)) {
      issues.push(wrong(agent, "an object"))
      return []
    }
    const tools = globs(agent.fields.get("tools"), issues)
    return [[name, { ...agent, fields: new Map(tools === undefined ? [] : [["tools", tools]]) }] as const]
  })
  return { ...tree, fields: new Map(fields) }
}

/** Warns about `permission`: a config must not promise a protection that does not exist. */
const permissionNotApplied = ({ fields }: Tree.Branch): ReadonlyArray<Diagnostic> => {
  const rules = fields.get("permission")
  const message = "permission rules are not applied yet: every tool that is offered can be called"
  return rules === undefined ? [] : [remark(rules.origin, "permission_not_applied", message)]
}

/** Warns about keys of a file without servers that look like a misspelled key for servers. */
const misspelled = (document: Tree.Branch): ReadonlyArray<Diagnostic> => {
  if (serverMapKeys.some((key) => document.fields.has(key))) return []
  return Array.from(document.fields).flatMap(([key, { origin }]) => {
    const guess = key.length > 2 && key !== "experimental" ? nearest(key, serverMapKeys) : undefined
    return guess === undefined ? [] : [remark(origin, "unknown_key", `unknown key ${key}; did you mean "${guess}"?`)]
  })
}

/** Restricts an organisation's document: it may name remote servers, but neither start programs nor read local files. */
const restricted = (content: LayerContent): LayerContent => {
  const diagnostics = [...content.diagnostics]
  const servers = new Map<string, LayerEntry.LayerEntry>()
  const refuse = (name: string, { origin }: Tree.Tree, why: string) => {
    diagnostics.push({ ...remark(origin, "organisation_refused", `"${name}" was left out: ${why}`), subject: name })
  }
  for (const [name, entry] of content.servers) {
    const { tree } = entry
    const isLocal = Tree.isBranch(tree) && ownKeys.local.some((key) => tree.fields.has(key))
    if (isLocal || LayerEntry.kindOf(tree) === "local")
      refuse(name, tree, "an organisation's document may not start programs")
    else if (Tree.isBranch(tree) && pathKeys.some((key) => tree.fields.has(key)))
      refuse(name, tree, "an organisation's document may not name files or directories of this machine")
    else if (usesPlaceholders(tree)) refuse(name, tree, "an organisation's document may not use variables or files")
    else servers.set(name, entry)
  }
  const useless = usesPlaceholders(content.settings)
    ? "an organisation's document may not use variables or files"
    : hasBadTimeout(content.settings)
      ? '"experimental.mcp_timeout" is no duration'
      : undefined
  const settings = useless === undefined ? content.settings : { ...content.settings, fields: new Map() }
  if (useless !== undefined) {
    diagnostics.push(remark(settings.origin, "organisation_refused", `settings were left out: ${useless}`))
  }
  return { ...content, servers, settings, diagnostics }
}

/** Whether the timeout is invalid. In a user's file this is an error; an organisation's document must not prevent a start. */
const hasBadTimeout = ({ fields }: Tree.Branch): boolean => {
  const tree = fields.get("mcp_timeout")
  const timeout = tree === undefined ? undefined : Tree.toPlain(tree)
  return tree !== undefined && Either.isLeft(ServerConfig.decodeDefaults({ timeout }))
}

const usesPlaceholders = (tree: Tree.Tree): boolean => {
  let found = false
  Tree.forEachText(tree, (text) => {
    found ||= hasPlaceholder(text)
  })
  return found
}
