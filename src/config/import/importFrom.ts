/**
 * Reads the servers of other clients as entries. Nothing is written, and the clients' files are never changed.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { InvalidConfig } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import { looksLikeName } from "../../domain/internal/looksLikeName.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import { isSwitch } from "../../domain/server/ServerConfig/Input.js"
import { resolveFrom } from "../layers/resolvePaths.js"
import { entryParts, maxParts } from "../trust/approvedParts.js"
import { limitDiagnostics, limitIssues } from "../document/limitIssues.js"
import { type Client, type ClientFile, clientFiles } from "./knownClients.js"
import * as LayerContent from "../document/LayerContent.js"
import * as LayerEntry from "../document/LayerEntry.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import { allowance, hasPlaceholder, interpolate } from "../layers/interpolate.js"
import * as ConfigLayer from "../layers/ConfigLayer.js"
import { load } from "../layers/loadLayers.js"
import { isHidden } from "../explain/redactParts.js"
import { redactEntry } from "../explain/redactEntry.js"
import { projectDirectories } from "../layers/locations.js"
import { parse } from "../document/parseDocument.js"
import * as DocumentText from "../document/DocumentText.js"
import * as Tree from "../document/Tree.js"

const maxBytes = 64 * 1024 * 1024

/**
 * A server of another client, converted to an entry.
 *
 * @since 0.1.0
 * @category models
 */
export interface ImportedServer {
  readonly name: string
  /** The entry for the file of its owner. Values that may be secret are redacted, so that it can be shown. */
  readonly entry: ServerConfig.Input
  /** The entry for a file elsewhere: relative paths are made absolute. */
  readonly movedEntry: ServerConfig.Input
  /** The files that declare it. The last one wins. */
  readonly from: ReadonlyArray<string>
  /**
   * - `user`: one of the user's own files
   * - `private`: one of the user's own files, but for one project only
   * - `project`: a file of the project
   */
  readonly owner: "user" | "private" | "project"
  /** The directory of the project; absent for `user`. */
  readonly project?: string | undefined
  /**
   * What `movedEntry` would do, as `review` shows it, for the user who decides about it. Redacted, because it holds full
   * command lines.
   */
  readonly parts: Redacted.Redacted<ReadonlyArray<{ readonly label: string; readonly text: string }>>
  /** Whether it holds plain-text values that may be secret. */
  readonly hasSecrets: boolean
  /** Why it cannot work now: inputs that only an editor can ask for, variables that are not set. */
  readonly issues: ReadonlyArray<Issue>
}

/**
 * The servers of a client, and which of them can be added.
 *
 * @since 0.1.0
 * @category models
 */
export interface Imported {
  readonly client: Client
  /** The files that exist. The last one wins. */
  readonly files: ReadonlyArray<{ readonly file: string; readonly servers: ReadonlyArray<string> }>
  /** Servers that `addImported` can add. */
  readonly servers: ReadonlyArray<ImportedServer>
  /** Servers that cannot be added, with the reason. */
  readonly skip: Readonly<Record<string, string>>
  /** What was not imported, and warnings about what was. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Files that cannot be read, and invalid entries. */
  readonly problems: ReadonlyArray<InvalidConfig>
}

/** An entry of one owner. Entries of different owners are never merged: a project must not change the user's entry. */
interface Declared {
  readonly owner: ImportedServer["owner"]
  readonly project: string | undefined
  readonly entry: LayerEntry.LayerEntry
  readonly from: ReadonlyArray<string>
}

export const importFrom = (client: Client, surroundings: Surroundings): Effect.Effect<Imported> =>
  Effect.gen(function* () {
    const project = yield* projectDirectories(surroundings)
    const files = clientFiles(client, surroundings, project)
    const contents = (yield* Effect.forEach(files, (file) => readFile(file, client, project), {
      concurrency: 16
    })).flat()
    const present = (yield* load(surroundings, {})).combined.servers.filter(({ entry }) =>
      LayerEntry.isDefinition(entry)
    )
    const presentNames = new Set(present.map(({ name }) => name))
    const problems: Array<InvalidConfig> = []
    const diagnostics: Array<Diagnostic> = []
    const servers: Array<ImportedServer> = []
    const skip = new Map<string, string>()
    for (const { content } of contents) {
      if (Either.isLeft(content)) problems.push(new InvalidConfig({ issues: content.left }))
      else for (const each of content.right.diagnostics) diagnostics.push(each)
    }
    for (const [name, all] of declarations(client, contents)) {
      const [chosen, ...others] = all.toSorted((a, b) => precedence.indexOf(a.owner) - precedence.indexOf(b.owner))
      const { entry, from, owner, project } = chosen!
      const { tree } = entry
      for (const { entry: other, from: file } of others) {
        const message = `"${name}" in ${file.at(-1)} was not taken over: the one in ${from.at(-1)} was`
        diagnostics.push({ ...LayerContent.remark(other.tree.origin, "not_taken_over", message), subject: name })
      }
      const decoded = ServerConfig.decode(name, Tree.toPlain(tree))
      if (presentNames.has(name)) skip.set(name, "there is a server of that name already")
      else if (hasOddKey(tree)) skip.set(name, "a key in it does not look like a name: take it over by hand")
      else if (Either.isLeft(decoded) && !hasPlaceholders(tree)) {
        skip.set(name, "its entry is wrong")
        const issues = limitIssues(decoded.left.issues).map((issue): Issue => {
          const { rest, tree: at } = Tree.find(tree, issue.path)
          return ConfigLayer.issueAt(at.origin, issue, rest)
        })
        problems.push(new InvalidConfig({ server: name, issues }))
      } else {
        if (Either.isRight(decoded))
          for (const warning of decoded.right.warnings) diagnostics.push({ ...warning, subject: name })
        const shown = (part: Tree.Tree) => Tree.toPlain(veiled(part)) as ServerConfig.Input
        const moved = project === undefined ? tree : absoluteIn(project, tree, surroundings)
        const parts = entryParts(from.at(-1)!, moved)
        if (parts.length > maxParts) {
          skip.set(name, `it holds more than can be reviewed (at most ${maxParts} values): take it over by hand`)
          continue
        }
        servers.push({
          name,
          entry: shown(tree),
          movedEntry: shown(moved),
          from,
          owner,
          project,
          parts: Redacted.make(parts.map(({ label, text }) => ({ label, text }))),
          hasSecrets: holdsRedacted(shown(tree)),
          issues: limitIssues(unusable(tree, surroundings))
        })
      }
    }
    return {
      client,
      files: contents.map(({ content, file }) => ({
        file: file.path,
        servers: Either.isRight(content) ? [...content.right.servers.keys()] : []
      })),
      servers,
      skip: Object.fromEntries(skip),
      diagnostics: limitDiagnostics(diagnostics),
      problems
    }
  })

/** The precedence of owners that declare the same server: the first one wins. */
const precedence: ReadonlyArray<ImportedServer["owner"]> = ["private", "user", "project"]

/** The declarations of each server by owner. Of nested directories, the innermost one wins. */
const declarations = (
  client: Client,
  contents: ReadonlyArray<FoundFile>
): ReadonlyMap<string, ReadonlyArray<Declared>> => {
  const names = new Map<string, ReadonlyArray<Declared>>()
  for (const { content, file } of contents) {
    if (Either.isLeft(content)) continue
    for (const [name, { tree, ...entry }] of content.right.servers) {
      const before = names.get(name) ?? []
      const same = before.find((each) => each.owner === file.owner)
      const own = { ...entry, tree: client === "gemini" ? withGeminiVariables(tree) : tree }
      const isMerged = same !== undefined && same.project === file.project
      const next: Declared = isMerged
        ? { ...same, entry: LayerEntry.merge(same.entry, own), from: [...same.from, file.path] }
        : { owner: file.owner, project: file.project, entry: own, from: [file.path] }
      names.set(name, [...before.filter((each) => each !== same), next])
    }
  }
  // an entry that only enables or disables a server is no declaration
  return new Map(
    Array.from(
      names,
      ([name, all]) => [name, all.filter(({ entry }) => !isSwitch(Tree.toPlain(entry.tree)))] as const
    ).filter(([, all]) => all.length > 0)
  )
}

const hasPlaceholders = (tree: Tree.Tree): boolean => {
  let found = false
  Tree.forEachText(tree, (text) => {
    found ||= hasPlaceholder(text)
  })
  return found
}

const holdsRedacted = (value: unknown): boolean =>
  Redacted.isRedacted(value) ||
  (typeof value === "object" && value !== null && Object.values(value).some(holdsRedacted))

/** Issues of placeholders that have no value now: variables that are not set, inputs of an editor. */
const unusable = (tree: Tree.Tree, { cwd, env, home }: Surroundings): ReadonlyArray<Issue> => {
  const issues: Array<Issue> = []
  const editorNames: Readonly<Record<string, string>> = {
    workspaceFolder: cwd,
    workspaceFolderBasename: cwd,
    userHome: home,
    pathSeparator: "/",
    "/": "/"
  }
  const shared = [allowance("entry")]
  Tree.forEachText(tree, (text, { origin }) => {
    const { missing } = interpolate(
      text,
      {
        variable: (name) => (typeof env[name] === "string" ? env[name] : undefined),
        known: (name) => (Object.hasOwn(editorNames, name) ? editorNames[name] : undefined),
        // whether a file exists is checked where the entry is used
        file: () => ({ content: "" })
      },
      shared
    )
    for (const each of missing) issues.push(ConfigLayer.issueAt(origin, each))
  })
  return issues
}

interface FoundFile {
  readonly file: ClientFile
  readonly content: Either.Either<LayerContent.LayerContent, ReadonlyArray<Issue>>
}

const readFile = (
  file: ClientFile,
  client: Client,
  project: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<FoundFile>> =>
  Effect.map(ConfigFile.readText(file.path, maxBytes), (found) => {
    if (found._tag === "Absent") return []
    if (found._tag === "Problem") {
      const issue = { path: [], expected: "a config file", found: found.reason, file: file.path }
      return [{ file, content: Either.left([issue]) }]
    }
    const text = DocumentText.make(file.path, found.text)
    const layer = ConfigLayer.ofFile("file", text)
    const all = [{ file, content: LayerContent.read(layer, text, { onlyVisibleNames: true }) }]
    return client === "claude-code" ? [...all, ...ofProjects(layer, text, file, project)] : all
  })

/** Claude Code stores the servers that a user added for one project in the user's own file. */
const ofProjects = (
  layer: ConfigLayer.ConfigLayer,
  text: DocumentText.DocumentText,
  file: ClientFile,
  directories: ReadonlyArray<string>
): ReadonlyArray<FoundFile> =>
  Either.match(parse(text, layer), {
    onLeft: () => [],
    onRight: ({ tree }) =>
      directories.flatMap((directory) => {
        const found = Tree.find(tree, ["projects", directory])
        return found.rest.length > 0 || !Tree.isBranch(found.tree) || !found.tree.fields.has("mcpServers")
          ? []
          : [
              {
                file: { ...file, owner: "private" as const, project: directory },
                content: LayerContent.ofTree(layer, found.tree, { onlyVisibleNames: true })
              }
            ]
      })
  })

/** Whether a key does not look like a name. It may be a token, and the entry would show it. */
const hasOddKey = (tree: Tree.Tree): boolean =>
  (Tree.isBranch(tree) && ![...tree.fields.keys()].every(looksLikeName)) || Tree.childrenOf(tree).some(hasOddKey)

/** Redacts values that may be secret, including numbers: people see the redacted text, the file gets the value. */
const veiled = (tree: Tree.Tree): Tree.Tree => {
  const show = redactEntry(tree)
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

/** Converts `$NAME`, which Gemini reads as a variable, to `${NAME}`. */
const withGeminiVariables = (tree: Tree.Tree): Tree.Tree =>
  Tree.mapTexts(tree, (text) => text.replace(/^\$([A-Za-z_]\w*)$/, (_, name) => `\${${name}}`))

/** Makes relative paths absolute, so that the entry means the same in a file outside of the project. */
const absoluteIn = (project: string, tree: Tree.Tree, surroundings: Surroundings): Tree.Tree => {
  if (!Tree.isBranch(tree)) return tree
  const texts = Tree.mapTexts(tree, (text) => text.replaceAll("${workspaceFolder}", project)) as Tree.Branch
  if (LayerEntry.kindOf(texts) !== "local") return texts
  const cwd = texts.fields.get("cwd")
  const absolute =
    cwd === undefined
      ? Tree.leaf(project, tree.origin)
      : Tree.mapTexts(cwd, (text) => (hasPlaceholder(text) ? text : resolveFrom(project, text, surroundings)))
  return { ...texts, fields: new Map([...texts.fields, ["cwd", absolute]]) }
}
