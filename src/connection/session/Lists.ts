/**
 * Fetches all pages of a server's lists. Pages, entries, weight and time are limited, so that no server can keep the client
 * fetching forever.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { CallTimeout, InvalidResult } from "../../domain/Errors.js"
import { describeType } from "../../domain/Issue.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import * as Listing from "../../domain/catalog/Listing.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { invalidResult } from "./results.js"
import * as ListBudget from "./ListBudget.js"
import { type SdkChannel, request } from "../sdk/sdkRequests.js"
import { weightOf, wholeResult } from "../sdk/sdkTransport.js"
import type { RequestError } from "../Session.js"
import { valueBytes } from "../wire/Wire.js"

const maxPages = 1000
const maxEntries = 100_000
const maxCursor = 64 * 1024

/** The member of the result that holds the entries, by method. */
const members = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts"
} as const

type Method = keyof typeof members

interface Page {
  readonly weight: number
  readonly entries: ReadonlyArray<unknown>
  readonly ttl: number | undefined
  readonly next: string | undefined
}

export const make = (link: SdkChannel) => {
  const capabilities: Readonly<Record<string, unknown>> = { ...link.client.getServerCapabilities() }
  const budget = ListBudget.make(link.config.listBudget)
  const headers = link.era === "modern" && link.transport === "streamable-http"
  const list = <A>(
    capability: string,
    method: Method,
    read: (entries: ReadonlyArray<unknown>) => Listing.Listing<A>
  ): Effect.Effect<Listing.Listing<A>, RequestError> =>
    capabilities[capability] === undefined
      ? Effect.succeed({ items: [], diagnostics: [] })
      : walk(link, budget, method).pipe(
          Effect.map(({ diagnostics, entries, ttl }) => {
            const listing = read(entries)
            return {
              items: listing.items,
              diagnostics: [...listing.diagnostics, ...diagnostics],
              ...(ttl === undefined ? {} : { ttl })
            }
          })
        )
  return {
    listTools: list("tools", "tools/list", (entries) => Listing.tools(entries, { headers })),
    listResources: list("resources", "resources/list", Listing.resources),
    listResourceTemplates: list("resources", "resources/templates/list", Listing.resourceTemplates),
    listPrompts: list("prompts", "prompts/list", Listing.prompts)
  }
}

/** Fetches all pages of a list and counts them against the budget of all lists. */
const walk = (link: SdkChannel, budget: ListBudget.ListBudget, method: Method) =>
  Effect.acquireUseRelease(
    Effect.sync(() => budget.begin(method)),
    (counted) => walkCounted(link, counted, method),
    (counted, exit) => Effect.sync(() => counted.end(Exit.isSuccess(exit)))
  )

const walkCounted = (link: SdkChannel, counted: ListBudget.Walk, method: Method) =>
  Effect.gen(function* () {
    const entries: Array<unknown> = []
    const diagnostics: Array<Diagnostic> = []
    const cursors = new Set<string>()
    let ttl: number | undefined
    let cursor: string | undefined

    for (let count = 1; ; count += 1) {
      const page = yield* fetchPage(link, method, cursor)
      if (!counted.add(page.weight)) return yield* overBudget(link, method)
      for (const entry of page.entries) entries.push(entry)
      if (page.ttl !== undefined) ttl = Math.min(ttl ?? page.ttl, page.ttl)
      if (page.next === undefined) break
      const stop = reasonToStop(page.next, cursors, count, entries.length)
      if (stop !== undefined) {
        diagnostics.push({ severity: "warning", code: "list_cut_short", message: `${method} was not read on: ${stop}` })
        break
      }
      cursors.add(page.next)
      cursor = page.next
    }
    return { entries, diagnostics, ttl }
  }).pipe(
    withinLimit(link),
    // The server declares the capability but does not know the method: the list is empty.
    Effect.catchIf(
      (error) => error._tag === "ProtocolError" && error.code === Protocol.errorCodes.MethodNotFound,
      () =>
        Effect.succeed({
          entries: [],
          diagnostics: [
            { severity: "warning" as const, code: "list_not_there", message: `it does not know ${method}` }
          ],
          ttl: undefined
        })
    )
  )

const overBudget = ({ config, server }: SdkChannel, method: Method): InvalidResult =>
  new InvalidResult({
    server,
    exceeds: "listBudget",
    issues: [
      {
        path: [members[method]],
        expected: `at most ${config.listBudget} bytes in all lists together, with ${valueBytes} for each value and key`,
        found: "more"
      }
    ]
  })

/** Limits the time for all pages together. The clock stops while all clocks are held. */
const withinLimit =
  (link: SdkChannel) =>
  <A>(walk: Effect.Effect<A, RequestError>): Effect.Effect<A, RequestError> => {
    const after = link.config.timeout.list
    const expired = Effect.async<never, CallTimeout>((resume) => {
      const fail = () =>
        resume(Effect.fail(new CallTimeout({ server: link.server, which: "total", sent: true, after })))
      const clock = link.clocks.start({ idle: Number.POSITIVE_INFINITY, total: after }, fail)
      return Effect.sync(() => link.clocks.stop(clock))
    })
    return Effect.raceFirst(walk, expired)
  }

const unlimited = { idle: Number.POSITIVE_INFINITY, total: Number.POSITIVE_INFINITY }

const reasonToStop = (
  next: string,
  cursors: ReadonlySet<string>,
  pages: number,
  entries: number
): string | undefined => {
  if (cursors.has(next)) return "the server repeats itself"
  if (next.length > maxCursor) return "its cursor is too long"
  if (pages >= maxPages) return `it has more than ${maxPages} pages`
  return entries >= maxEntries ? `it has more than ${maxEntries} entries` : undefined
}

const fetchPage = (link: SdkChannel, method: Method, cursor: string | undefined): Effect.Effect<Page, RequestError> => {
  const params = cursor === undefined ? {} : { params: { cursor } }
  return request(link, unlimited, (options) => link.client.request({ method, ...params }, options)).pipe(
    Effect.flatMap((result) =>
      Effect.map(pageOf(link.server, method, wholeResult(result) as Readonly<Record<string, unknown>>), (page) => ({
        ...page,
        weight: weightOf(result)
      }))
    )
  )
}

const pageOf = (
  server: string,
  method: Method,
  result: Readonly<Record<string, unknown>>
): Effect.Effect<Omit<Page, "weight">, InvalidResult> => {
  const { nextCursor, ttlMs } = result
  const entries = result[members[method]]
  if (!Array.isArray(entries)) {
    const issue = { path: [members[method]], expected: "an array", found: describeType(entries) }
    return Effect.fail(invalidResult(server, [issue]))
  }
  return Effect.succeed({
    entries,
    ttl: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined,
    next: typeof nextCursor === "string" ? nextCursor : undefined
  })
}
