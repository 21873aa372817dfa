/**
 * Converts the spellings of other clients to one spelling before layers are merged, so that a command in one spelling
 * replaces a command in another.
 */
import { defined } from "../../domain/internal/defined.js"
import * as Tree from "./Tree.js"

export interface Spelled {
  readonly tree: Tree.Tree
  /** Keys of the entry that are not supported, with the reason. */
  readonly notes: ReadonlyArray<{ readonly key: string; readonly message: string }>
}

/** Keys of other clients that are ignored: approvals are not imported, and descriptions are for people. */
const meaningless = [
  "alwaysAllow",
  "authProviderType",
  "autoApprove",
  "description",
  "dev",
  "gallery",
  "icon",
  "metadata",
  "trust",
  "version"
]

/** Keys that would matter and are not supported, with the message for each. */
const refused: Readonly<Record<string, string>> = {
  envFile: 'files of variables are not read: name each with "{env:NAME}" or "{file:path}"',
  headersHelper: 'commands are never run to get a value: use "{env:NAME}" or "{file:path}"',
  bearer_token: 'a token in the file itself: use "bearer_token_env_var"'
}

const renamed: Readonly<Record<string, string>> = {
  httpUrl: "url",
  serverUrl: "url",
  http_headers: "headers",
  transport: "type"
}

export const spell = (entry: Tree.Tree): Spelled => {
  if (!Tree.isBranch(entry)) return { tree: entry, notes: [] }
  const fields = new Map(entry.fields)
  const notes: Array<Spelled["notes"][number]> = []

  const take = (key: string): Tree.Tree | undefined => {
    const value = fields.get(key)
    fields.delete(key)
    return value
  }
  const offer = (key: string, value: Tree.Tree | undefined) => {
    if (value !== undefined && !fields.has(key)) fields.set(key, value)
  }

  for (const key of meaningless) fields.delete(key)
  for (const [key, message] of Object.entries(refused)) {
    if (take(key) !== undefined) notes.push({ key, message })
  }
  const httpUrl = fields.get("httpUrl")
  if (httpUrl !== undefined) offer("type", Tree.leaf("http", httpUrl.origin))
  for (const [key, ours] of Object.entries(renamed)) offer(ours, take(key))
  retype(fields)
  splitCommand(fields)
  mergeInto(fields, "environment", [fromNames(take("env_vars")), take("env")])
  mergeInto(fields, "headers", [fromVariables(take("env_http_headers")), fromBearer(take("bearer_token_env_var"))])
  offer("timeout", fromSeconds(take("startup_timeout_sec"), take("startup_timeout_ms"), take("tool_timeout_sec")))
  offer(
    "tools",
    toGlobs(take("includeTools") ?? take("enabled_tools"), [
      take("excludeTools"),
      take("disabled_tools"),
      take("disabledTools")
    ])
  )
  const disabled = fields.get("disabled")
  if (disabled?._tag === "Leaf" && typeof disabled.value === "boolean") {
    fields.delete("disabled")
    offer("enabled", { ...disabled, value: !disabled.value })
  }
  return { tree: { ...entry, fields }, notes }
}

type Fields = Map<string, Tree.Tree>

const textOf = (tree: Tree.Tree | undefined): string | undefined =>
  tree?._tag === "Leaf" && typeof tree.value === "string" ? tree.value : undefined

const retype = (fields: Fields): void => {
  const type = fields.get("type")
  const text = textOf(type)
  if (type !== undefined && text !== undefined && /^streamable[-_]?http$/i.test(text)) {
    fields.set("type", Tree.leaf("streamable-http", type.origin))
  }
}

/** Splits a command array into program and arguments, so that a higher layer can change either. */
const splitCommand = (fields: Fields): void => {
  const command = fields.get("command")
  if (command?._tag !== "List") return
  const [program, ...first] = command.items
  const args = fields.get("args")
  if (program === undefined || (args !== undefined && args._tag !== "List")) return
  fields.set("command", program)
  fields.set("args", Tree.list([...first, ...(args?.items ?? [])], command.origin))
}

/** Merges further values below an existing one. A value that is no object stays, and validation reports it. */
const mergeInto = (fields: Fields, key: string, lower: ReadonlyArray<Tree.Tree | undefined>): void => {
  const merged = [...lower, fields.get(key)].reduce(Tree.merge, undefined)
  if (merged !== undefined) fields.set(key, merged)
}

/** Converts a list of variable names: `["TOKEN"]` passes on variables of the supervisor. */
const fromNames = (names: Tree.Tree | undefined): Tree.Tree | undefined => {
  if (names?._tag !== "List") return names
  const variables = names.items.flatMap((item) => {
    const name = textOf(item)
    return name === undefined ? [] : [[name, Tree.leaf(`{env:${name}}`, item.origin)] as const]
  })
  return Tree.branch(new Map(variables), names.origin)
}

/** Converts headers whose values name variables: `{ "X-Key": "VARIABLE" }`. */
const fromVariables = (headers: Tree.Tree | undefined): Tree.Tree | undefined =>
  headers === undefined ? undefined : Tree.mapTexts(headers, (name) => `{env:${name}}`)

const fromBearer = (variable: Tree.Tree | undefined): Tree.Tree | undefined => {
  const name = textOf(variable)
  if (variable === undefined || name === undefined) return undefined
  return Tree.branch(new Map([["Authorization", Tree.leaf(`Bearer {env:${name}}`, variable.origin)]]), variable.origin)
}

const fromSeconds = (
  startSeconds: Tree.Tree | undefined,
  startMillis: Tree.Tree | undefined,
  callSeconds: Tree.Tree | undefined
): Tree.Tree | undefined => {
  const millis = (tree: Tree.Tree | undefined, factor: number) =>
    tree?._tag === "Leaf" && typeof tree.value === "number" ? { ...tree, value: tree.value * factor } : tree
  const limits = defined({
    connect: millis(startSeconds, 1000) ?? startMillis,
    call: millis(callSeconds, 1000)
  }) as Record<string, Tree.Tree>
  const [first] = Object.values(limits)
  return first === undefined ? undefined : Tree.branch(new Map(Object.entries(limits)), first.origin)
}

/** Converts lists of offered and of hidden tool names to patterns. */
const toGlobs = (
  included: Tree.Tree | undefined,
  excluded: ReadonlyArray<Tree.Tree | undefined>
): Tree.Tree | undefined => {
  const globs = new Map<string, Tree.Tree>()
  const origin = [included, ...excluded].find((tree) => tree !== undefined)?.origin
  if (origin === undefined) return undefined
  const set = (names: Tree.Tree | undefined, offered: boolean) => {
    for (const item of names?._tag === "List" ? names.items : []) {
      // Gemini allows a pattern of the arguments after the name
      const name = textOf(item)?.replace(/\(.*$/s, "")
      if (name !== undefined && name !== "") globs.set(name, Tree.leaf(offered, item.origin))
    }
  }
  if (included !== undefined) globs.set("*", Tree.leaf(false, origin))
  set(included, true)
  for (const names of excluded) set(names, false)
  return Tree.branch(globs, origin)
}
