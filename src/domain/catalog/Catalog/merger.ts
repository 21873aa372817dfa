/**
 * Merges the listings of many servers into one catalog.
 */
import type { Diagnostic } from "../../Diagnostic.js"
import type { ListedTool } from "../Listing.js"
import type { Tool } from "../Protocol.js"
import * as ToolName from "../ToolName.js"
import * as entries from "./entries.js"
import type { Catalog, Listings } from "./model.js"

/**
 * The listing of one server, with its filters.
 *
 * @since 0.1.0
 * @category merging
 */
export interface Source {
  readonly server: string
  readonly listings: Listings
  /** Patterns on the server's own tool names, from its config. */
  readonly tools: ToolName.Globs
}

/**
 * @since 0.1.0
 * @category merging
 */
export interface Merged {
  readonly catalog: Catalog
  /** By server: name collisions, and patterns that match nothing. */
  readonly diagnostics: ReadonlyMap<string, ReadonlyArray<Diagnostic>>
}

/**
 * @since 0.1.0
 * @category merging
 */
export interface Options {
  /** The names of all configured servers, with or without a listing. */
  readonly configured: Iterable<string>
  /** Patterns on `server_tool`, for all agents. */
  readonly global?: ToolName.Globs | undefined
  /** Patterns on `server_tool`, for one agent, applied after all others. */
  readonly agent?: ToolName.Globs | undefined
}

/**
 * Creates a merge function for a set of configured servers and the filters of all agents or of one. After a change of one
 * server, the next merge processes only that server and joins the lists; unchanged entries stay identical objects.
 *
 * - A tool that a filter hides is omitted.
 * - Tools with the same public name are all omitted, and reported for each of their servers. If one of them is hidden by a filter,
 *   the other one is listed.
 * - A pattern of a server that matches none of its tools is reported, once it lists any tools.
 *
 * @since 0.1.0
 * @category merging
 */
export const merger = (options: Options): ((sources: ReadonlyArray<Source>, revision: number) => Merged) => {
  const rules = rulesOf(new Set(options.configured), options)
  let makers: ReadonlyMap<string, Maker> = new Map()

  return (sources, revision) => {
    makers = new Map(sources.map(({ server }) => [server, makers.get(server) ?? makerOf(server, rules)]))
    const parts = sources.map((source) => makers.get(source.server)!(source))
    const { collisions, tools } = distinct(parts.flatMap((part) => part.tools))
    return {
      catalog: {
        revision,
        tools,
        resources: parts.flatMap((part) => part.resources),
        resourceTemplates: parts.flatMap((part) => part.resourceTemplates),
        prompts: parts.flatMap((part) => part.prompts)
      },
      diagnostics: byServer([...parts.flatMap((part) => part.reports), ...collisions.flatMap(reportsOf)])
    }
  }
}

/** The rules for all servers of a merger. */
export interface Rules {
  readonly nameOf: (ref: ToolName.Ref) => string
  readonly filterOf: (server: ToolName.Globs) => (ref: ToolName.Ref) => boolean
}

export const rulesOf = (
  /** May change between two merges. */
  configured: Pick<ReadonlySet<string>, "has">,
  { agent, global }: Pick<Options, "agent" | "global">
): Rules => ({
  nameOf: (ref) => ToolName.nameAmong(configured, ref),
  filterOf: filtersOf({ global, agent })
})

type ServerReport = readonly [server: string, diagnostic: Diagnostic]

export interface ServerPart extends Omit<Catalog, "revision"> {
  readonly reports: ReadonlyArray<ServerReport>
}

/** Builds one server's part of the catalog. Caches the parts of unchanged lists. */
export type Maker = (source: Source) => ServerPart

export const makerOf = (server: string, { filterOf, nameOf }: Rules): Maker => {
  const each = <Listed, Made>(make: (listed: Listed, server: string) => Made) =>
    remembering((list: ReadonlyArray<Listed>) => list.map((listed) => make(listed, server)))

  const tools = remembering((list: ReadonlyArray<ListedTool>, globs: ToolName.Globs) => {
    const offered = filterOf(globs)
    return list
      .filter((listed) => offered({ server, tool: listed.name }))
      .map((listed) => entries.tool(listed, server, nameOf({ server, tool: listed.name })))
  })
  const reports = remembering((list: ReadonlyArray<ListedTool>, globs: ToolName.Globs) =>
    idlePatterns(globs, list).map((diagnostic): ServerReport => [server, diagnostic])
  )
  const resources = each(entries.resource)
  const resourceTemplates = each(entries.resourceTemplate)
  const prompts = each(entries.prompt)

  return ({ listings, tools: globs }) => ({
    tools: tools(listings.tools, globs),
    reports: reports(listings.tools, globs),
    resources: resources(listings.resources),
    resourceTemplates: resourceTemplates(listings.resourceTemplates),
    prompts: prompts(listings.prompts)
  })
}

/** Caches the last result, for identical arguments. */
const remembering = <Question extends ReadonlyArray<unknown>, Answer>(
  ask: (...question: Question) => Answer
): ((...question: Question) => Answer) => {
  let last: { readonly question: Question; readonly answer: Answer } | undefined
  return (...question) => {
    if (last === undefined || !question.every((part, index) => part === last!.question[index])) {
      last = { question, answer: ask(...question) }
    }
    return last.answer
  }
}

/** The maximum number of cached filters: each new server can have different patterns. */
const maxPrepared = 1_000

/** Caches compiled filters: compiling is expensive, and most servers have no patterns or equal ones. */
const filtersOf = (filters: ToolName.Filters): Rules["filterOf"] => {
  const prepared = new Map<string, (ref: ToolName.Ref) => boolean>()
  return (server) => {
    const key = JSON.stringify(Object.entries(server))
    const filter = prepared.get(key) ?? ToolName.filter({ ...filters, server })
    if (prepared.size >= maxPrepared) prepared.clear()
    prepared.set(key, filter)
    return filter
  }
}

/** Reports patterns without a match. Without any tool, nothing is reported. */
const idlePatterns = (globs: ToolName.Globs, tools: ReadonlyArray<ListedTool>): ReadonlyArray<Diagnostic> => {
  if (tools.length === 0) return []
  const names = tools.map(({ name }) => name)
  return ToolName.unmatched(globs, names).map((pattern) => ({
    severity: "warning",
    code: "pattern_without_match",
    message: `the pattern ${JSON.stringify(pattern)} matches none of the server's tools`,
    path: ["tools", pattern]
  }))
}

type Collision = ToolName.Assignment["collisions"][number]

/** The tools with a unique public name, each once. */
export const distinct = (
  tools: ReadonlyArray<Tool>
): { readonly tools: ReadonlyArray<Tool>; readonly collisions: ReadonlyArray<Collision> } => {
  if (new Set(tools.map(({ name }) => name)).size === tools.length) return { tools, collisions: [] }
  const claims = tools.map(({ name, rawName, server }) => ({ server, tool: rawName, name }))
  const { byName, collisions } = ToolName.assign(claims, (ref) => (ref as (typeof claims)[number]).name)
  const owners = new Set(byName.values())
  return { tools: tools.filter((_, index) => owners.has(claims[index]!)), collisions }
}

export const reportsOf = ({ name, refs }: Collision): ReadonlyArray<ServerReport> =>
  refs.map((ref) => {
    const others = refs.filter((other) => other !== ref).map(({ server, tool }) => `${quote(tool)} of ${quote(server)}`)
    const message = `the tool has the same public name (${name}) as ${others.join(" and ")}; none of them is offered`
    return [ref.server, { severity: "error", code: "name_collision", message, subject: ref.tool }]
  })

const quote = (text: string): string => JSON.stringify(text)

const byServer = (reports: ReadonlyArray<ServerReport>): Merged["diagnostics"] => {
  const diagnostics = new Map<string, Array<Diagnostic>>()
  for (const [server, diagnostic] of reports) {
    const reported = diagnostics.get(server)
    if (reported === undefined) diagnostics.set(server, [diagnostic])
    else reported.push(diagnostic)
  }
  return diagnostics
}
