/**
 * Turns merged layers into the desired servers: interpolates variables, resolves paths, validates entries. An issue of one
 * server is reported with its place, and affects only that server.
 */
import * as Either from "effect/Either"
import { defined } from "../../domain/internal/defined.js"
import type { Desired } from "../../domain/server/Desired.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { InvalidConfig } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import { check } from "../../domain/server/ServerConfig/decode.js"
import { isSwitch } from "../../domain/server/ServerConfig/Input.js"
import { limitIssues } from "../document/limitIssues.js"
import type { Combined, CombinedServer } from "./combineLayers.js"
import { resolvePaths, type Paths } from "./resolvePaths.js"
import * as LayerEntry from "../document/LayerEntry.js"
import { type Allowance, allowance, type Interpolated, interpolate, type Values } from "./interpolate.js"
import { issueAt, type ConfigLayer, place } from "./ConfigLayer.js"
import * as Tree from "../document/Tree.js"

/** Returns the values of placeholders in a layer. Paths of files are relative to the layer. */
export type ValuesOf = (layer: ConfigLayer) => Values

export interface Resolved {
  /** Fails if the settings for all servers are invalid. */
  readonly desired: Either.Either<Desired, InvalidConfig>
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

export const resolve = (
  combined: Combined,
  /** Values of keys that no file sets. */
  defaults: ServerConfig.Defaults,
  valuesOf: ValuesOf,
  paths: Paths
): Resolved => {
  const document = allowance("document")
  const settings = combined.settings && filled(combined.settings, valuesOf, document)
  const read = (key: string) => {
    const tree = Tree.isBranch(settings?.tree) ? settings.tree.fields.get(key) : undefined
    return tree === undefined ? undefined : Tree.toPlain(tree)
  }
  const timeout = read("mcp_timeout") as ServerConfig.Defaults["timeout"]
  const merged = { ...defaults, ...defined({ timeout }) } as ServerConfig.Defaults
  const settingsIssues = [...(settings?.issues ?? []), ...timeoutIssues(combined, timeout)]
  if (settingsIssues.length > 0) {
    const desired = Either.left(new InvalidConfig({ issues: settingsIssues }))
    return { desired, diagnostics: combined.diagnostics }
  }

  const diagnostics: Array<Diagnostic> = [...combined.diagnostics]
  const servers: Array<[string, ServerConfig.Input]> = []
  const unreadable: Array<[string, InvalidConfig]> = []
  const untrusted: Array<string> = []
  for (const server of combined.servers) {
    if (server.untrusted) {
      untrusted.push(server.name)
      servers.push([server.name, standIn(server.entry)])
      continue
    }
    // an entry that only enables or disables a server that does not exist is ignored
    if (!LayerEntry.isDefinition(server.entry) && isSwitch(Tree.toPlain(server.entry.tree))) continue
    Either.match(resolveServer(server, valuesOf, paths, document), {
      onLeft: (error) => unreadable.push([server.name, error]),
      onRight: ({ input, warnings }) => {
        servers.push([server.name, input])
        for (const warning of warnings) diagnostics.push(warning)
      }
    })
  }
  const desired: Desired = {
    servers: Object.fromEntries(servers),
    defaults: merged,
    ...(defined({
      tools: read("tools"),
      agents: read("agent"),
      guard: read("guard"),
      permission: read("permission")
    }) as object),
    untrusted,
    unreadable: Object.fromEntries(unreadable)
  }
  return { desired: Either.right(desired), diagnostics }
}

/** Replaces an entry that is not approved: no part of the entry reaches the supervisor. */
const standIn = ({ tree }: LayerEntry.LayerEntry): ServerConfig.Input =>
  LayerEntry.kindOf(tree) === "remote" ? { url: "https://untrusted.invalid/" } : { command: "untrusted" }

const timeoutIssues = ({ settings }: Combined, timeout: unknown): ReadonlyArray<Issue> => {
  const tree = settings?.fields.get("mcp_timeout")
  if (tree === undefined) return []
  const checked = ServerConfig.decodeDefaults({ timeout })
  return Either.isRight(checked) ? [] : checked.left.issues.map((issue) => issueAt(tree.origin, issue))
}

interface Filled {
  readonly tree: Tree.Tree
  readonly secrets: ReadonlyArray<string>
  readonly issues: ReadonlyArray<Issue>
}

/** Interpolates every text of an entry. Texts of the program layer stay as they are. */
const filled = (tree: Tree.Tree, valuesOf: ValuesOf, document: Allowance): Filled => {
  const secrets = new Set<string>()
  const issues: Array<Issue> = []
  const shared = [allowance("entry"), document]
  const fill = (text: string, { origin }: Tree.Leaf): string => {
    // one issue is enough for a limit that is reached
    if (origin.layer.kind === "program" || (issues.length > 0 && shared.some(({ left }) => left < 0))) return text
    const result: Interpolated = interpolate(text, valuesOf(origin.layer), shared)
    for (const secret of result.secrets) secrets.add(secret)
    for (const missing of result.missing) issues.push(issueAt(origin, missing))
    return result.text
  }
  return { tree: Tree.mapTexts(tree, fill), secrets: [...secrets], issues }
}

const resolveServer = (
  { entry, name }: CombinedServer,
  valuesOf: ValuesOf,
  paths: Paths,
  document: Allowance
): Either.Either<
  { readonly input: ServerConfig.Input; readonly warnings: ReadonlyArray<Diagnostic> },
  InvalidConfig
> => {
  const { issues, secrets, tree } = filled(entry.tree, valuesOf, document)
  if (issues.length > 0) {
    const disabled = isSwitchedOff(entry.tree) ? true : undefined
    return Either.left(new InvalidConfig({ server: name, issues: limitIssues(issues), ...defined({ disabled }) }))
  }
  const input = withSecrets(Tree.toPlain(resolvePaths(tree, paths)), secrets)
  return check(name, input).pipe(
    Either.mapBoth({
      onLeft: ({ issues }) => new InvalidConfig({ server: name, issues: limitIssues(issues).map(located(entry.tree)) }),
      onRight: ({ warnings }) => ({
        // the decoder has validated it
        input: input as ServerConfig.Input,
        warnings: warnings.map((warning) => ({
          ...warning,
          subject: name,
          ...place(Tree.find(entry.tree, warning.path ?? []).tree.origin)
        }))
      })
    })
  )
}

export const isSwitchedOff = (entry: Tree.Tree): boolean => {
  const { rest, tree } = Tree.find(entry, ["enabled"])
  return rest.length === 0 && tree._tag === "Leaf" && tree.value === false
}

/** Marks all inserted values as secrets, wherever they occur. */
const withSecrets = (input: unknown, secrets: ReadonlyArray<string>): unknown => {
  if (secrets.length === 0 || typeof input !== "object" || input === null || Array.isArray(input)) return input
  const own = "secrets" in input ? input.secrets : []
  if (!Array.isArray(own)) return input
  return { ...input, secrets: [...own, ...new Set(secrets)] }
}

const located =
  (tree: Tree.Tree) =>
  (issue: Issue): Issue => {
    const found = Tree.find(tree, issue.path)
    return issueAt(found.tree.origin, issue, found.rest)
  }
