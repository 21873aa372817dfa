/**
 * The servers of other clients, as entries of ours. Nothing is written, least of all where they were found.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type { Diagnostic } from "../domain/Diagnostic.js"
import { InvalidConfig } from "../domain/Errors.js"
import type { Issue } from "../domain/Issue.js"
import { looksLikeName } from "../domain/looksLikeName.js"
import * as ServerConfig from "../domain/ServerConfig.js"
import { isSwitch } from "../domain/ServerConfig/Input.js"
import { resolveFrom } from "./absolute.js"
import { cappedDiagnostics, cappedIssues } from "./capped.js"
import { type Client, type ClientFile, clientFiles } from "./clients.js"
import * as Content from "./Content.js"
import * as Entry from "./Entry.js"
import * as Files from "./files.js"
import type { Surroundings } from "./Host.js"
import { hasPlaceholder } from "./interpolate.js"
import * as Layer from "./Layer.js"
import { load } from "./load.js"
import { isHidden } from "./openParts.js"
import { openValue } from "./openValue.js"
import { projectDirectories } from "./locations.js"
import { parse } from "./parse.js"
import * as Text from "./Text.js"
import * as Tree from "./Tree.js"

const maxBytes = 64 * 1024 * 1024

/**
 * What a client has, and what of it would be added.
 *
 * @since 0.1.0
 * @category models
 */
export interface Imported {
  readonly client: Client
  /** The files that were found, the one that wins last. */
  readonly files: ReadonlyArray<{ readonly file: string; readonly servers: ReadonlyArray<string> }>
  /** Servers that would be added, ready for `add`. What may be a secret in them is redacted, so that they can be shown. */
  readonly add: Readonly<Record<string, ServerConfig.Input>>
  /** Servers that would not, and why. */
  readonly skip: Readonly<Record<string, string>>
  /** What was not taken over, and what to know of what was. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Files that are no use, and entries that are wrong. */
  readonly problems: ReadonlyArray<InvalidConfig>
}

export const importFrom = (client: Client, surroundings: Surroundings): Effect.Effect<Imported> =>
  Effect.gen(function* () {
    const project = yield* projectDirectories(surroundings)
    const files = clientFiles(client, surroundings, project)
    const found = yield* Effect.forEach(files, (file) => readFile(file, client, project), { concurrency: 16 })
    const present = (yield* load(surroundings, {})).combined.servers
    const contents = found.flat()
    const servers = new Map<string, Entry.Entry>()
    const problems: Array<InvalidConfig> = []
    const diagnostics: Array<Diagnostic> = []
    for (const { content, file } of contents) {
      if (Either.isLeft(content)) {
        problems.push(new InvalidConfig({ issues: content.left }))
        continue
      }
      diagnostics.push(...content.right.diagnostics)
      for (const [name, entry] of content.right.servers) {
        const own = { ...entry, tree: translated(client, entry.tree, file, surroundings) }
        const lower = servers.get(name)
        servers.set(name, lower === undefined ? own : Entry.merge(lower, own))
      }
    }
    const add: Array<[string, ServerConfig.Input]> = []
    const skip: Array<[string, string]> = []
    for (const [name, { tree }] of servers) {
      const entry = Tree.toPlain(tree)
      if (isSwitch(entry)) continue
      const same = present.find((server) => server.name === name && Entry.isDefinition(server.entry))
      const decoded = ServerConfig.decode(name, entry)
      const hasText = Array.from(Tree.leaves(tree)).some(
        ([, leaf]) => leaf._tag === "Leaf" && typeof leaf.value === "string" && hasPlaceholder(leaf.value)
      )
      if (same !== undefined) skip.push([name, "there is a server of that name already"])
      else if (hasOddKey(tree)) skip.push([name, "a key in it does not look like a name: take it over by hand"])
      else if (Either.isLeft(decoded) && !hasText) {
        skip.push([name, "its entry is wrong"])
        const issues = cappedIssues(decoded.left.issues).map((issue): Issue => {
          const { rest, tree: at } = Tree.find(tree, issue.path)
          return Layer.issueAt(at.origin, issue, rest)
        })
        problems.push(new InvalidConfig({ server: name, issues }))
      } else {
        if (Either.isRight(decoded))
          diagnostics.push(...decoded.right.warnings.map((warning) => ({ ...warning, subject: name })))
        add.push([name, Tree.toPlain(veiled(tree)) as ServerConfig.Input])
      }
    }
    return {
      client,
      files: contents.map(({ content, file }) => ({
        file: file.path,
        servers: Either.isRight(content) ? [...content.right.servers.keys()] : []
      })),
      add: Object.fromEntries(add),
      skip: Object.fromEntries(skip),
      diagnostics: cappedDiagnostics(diagnostics),
      problems
    }
  })

interface Found {
  readonly file: ClientFile
  readonly content: Either.Either<Content.Content, ReadonlyArray<Issue>>
}

const readFile = (
  file: ClientFile,
  client: Client,
  project: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<Found>> =>
  Effect.map(Files.readText(file.path, maxBytes), (found) => {
    if (found._tag === "Absent") return []
    if (found._tag === "Problem") {
      const issue = { path: [], expected: "a config file", found: found.reason, file: file.path }
      return [{ file, content: Either.left([issue]) }]
    }
    const text = Text.make(file.path, found.text)
    const layer = Layer.ofFile("file", text)
    const all = [{ file, content: Content.read(layer, text) }]
    return client === "claude-code" ? [...all, ...ofProjects(layer, text, file, project)] : all
  })

/** Claude Code keeps what a person has added for one project in the person's own file. */
const ofProjects = (
  layer: Layer.Layer,
  text: Text.Text,
  file: ClientFile,
  directories: ReadonlyArray<string>
): ReadonlyArray<Found> =>
  Either.match(parse(text, layer), {
    onLeft: () => [],
    onRight: ({ tree }) =>
      directories.flatMap((directory) => {
        const found = Tree.find(tree, ["projects", directory])
        return found.rest.length > 0 || !Tree.isBranch(found.tree) || !found.tree.fields.has("mcpServers")
          ? []
          : [{ file: { ...file, project: directory }, content: Content.ofTree(layer, found.tree) }]
      })
  })

/** A token where a name belongs: the entry would show it. */
const hasOddKey = (tree: Tree.Tree): boolean =>
  (Tree.isBranch(tree) && ![...tree.fields.keys()].every(looksLikeName)) || Tree.childrenOf(tree).some(hasOddKey)

/** What may be secret is handed on redacted, numbers too: what is shown to a person is not what is written. */
const veiled = (tree: Tree.Tree): Tree.Tree => {
  const show = openValue(tree)
  const veil = (part: Tree.Tree, path: Tree.Path): Tree.Tree => {
    switch (part._tag) {
      case "Leaf":
        return isHidden(show(path, part)) ? { ...part, value: Redacted.make(part.value) } : part
      case "List":
        return { ...part, items: part.items.map((item, index) => veil(item, [...path, index])) }
      case "Branch":
        return { ...part, fields: new Map(Array.from(part.fields, ([key, item]) => [key, veil(item, [...path, key])])) }
    }
  }
  return veil(tree, [])
}

/** What meant something where it stood means the same elsewhere. */
const translated = (
  client: Client,
  tree: Tree.Tree,
  { project }: ClientFile,
  surroundings: Surroundings
): Tree.Tree => {
  if (!Tree.isBranch(tree)) return tree
  const texts = Tree.mapTexts(tree, (text) => {
    // the one client that takes this for a variable
    const variable = client === "gemini" ? text.replace(/^\$([A-Za-z_]\w*)$/, (_, name) => `\${${name}}`) : text
    return project === undefined ? variable : variable.replaceAll("${workspaceFolder}", project)
  }) as Tree.Branch
  if (project === undefined || Entry.kindOf(texts) !== "local") return texts
  const cwd = texts.fields.get("cwd")
  const words = ["command", "args"].flatMap((key) =>
    Array.from(Tree.leaves(texts.fields.get(key) ?? Tree.list([], tree.origin)))
  )
  const isRelative = words.some(
    ([, leaf]) => leaf._tag === "Leaf" && typeof leaf.value === "string" && /^\.\.?(?:[\\/]|$)/.test(leaf.value)
  )
  if (cwd === undefined && !isRelative) return texts
  // paths were seen from the project
  const absolute =
    cwd === undefined
      ? Tree.leaf(project, tree.origin)
      : Tree.mapTexts(cwd, (text) => (hasPlaceholder(text) ? text : resolveFrom(project, text, surroundings)))
  return { ...texts, fields: new Map([...texts.fields, ["cwd", absolute]]) }
}
