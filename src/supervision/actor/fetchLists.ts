/**
 * Fetches the lists of a server: all of them after a connect, one of them after a change.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { RequestError, Session } from "../../connection/Session.js"
import type { Listings } from "../../domain/catalog/Catalog.js"
import { defined } from "../../domain/internal/defined.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import * as Errors from "../../domain/Errors.js"
import { smallest } from "../../domain/internal/extremes.js"
import { renderAll } from "../../domain/Issue.js"
import type { Listing } from "../../domain/catalog/Listing.js"
import * as Protocol from "../../domain/catalog/Protocol.js"

/** The result of fetching one kind of list. */
export interface FetchedList {
  readonly kind: Protocol.ListKind
  readonly listings: Partial<Listings>
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Milliseconds until the list expires, if the server said so. */
  readonly ttl: number | undefined
  /** Whether the fetch failed and must be retried. */
  readonly isStale: boolean
}

export const kinds = Protocol.ListKind.literals

/** Fetches one kind of list. */
export const fetchList = (session: Session, kind: Protocol.ListKind): Effect.Effect<FetchedList, RequestError> => {
  switch (kind) {
    case "tools":
      return Effect.map(session.listTools, (tools) => toFetchedList(kind, { tools: tools.items }, [tools]))
    case "resources":
      return Effect.map(
        Effect.all([session.listResources, session.listResourceTemplates], {
          concurrency: 2
        }),
        ([resources, templates]) =>
          toFetchedList(kind, { resources: resources.items, resourceTemplates: templates.items }, [
            resources,
            templates
          ])
      )
    case "prompts":
      return Effect.map(session.listPrompts, (prompts) => toFetchedList(kind, { prompts: prompts.items }, [prompts]))
  }
}

/**
 * Fetches all lists. A server whose tools cannot be listed is not usable. If another list fails, the server is usable
 * and the list is fetched again later.
 */
export const fetchLists = (session: Session): Effect.Effect<ReadonlyArray<FetchedList>, RequestError> =>
  Effect.forEach(
    kinds,
    (kind) => {
      const fetchWithRetries = Effect.retry(fetchList(session, kind), { while: isListError, schedule: listRetries })
      if (kind === "tools") return fetchWithRetries
      return Effect.catchIf(fetchWithRetries, isListError, (error) =>
        Effect.succeed(missingList(kind, error.message))
      ).pipe(
        Effect.timeoutTo({
          duration: optionalListTimeout,
          onSuccess: (found) => found,
          onTimeout: () => missingList(kind, "it takes too long")
        })
      )
    },
    { concurrency: "unbounded" }
  )

/** A list other than the tools delays the connect by at most this time. */
const optionalListTimeout = "5 seconds"

/** A failing list is retried: many servers fail to list only while they start. */
const listRetries = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(2))

/** Whether the error concerns only this list, not the connection. A list that exceeds a limit would exceed it again. */
const isListError = (error: RequestError): boolean =>
  error._tag === "ProtocolError" ||
  (error._tag === "InvalidResult" && error.exceeds === undefined) ||
  error._tag === "RateLimited"

const toFetchedList = (
  kind: Protocol.ListKind,
  listings: Partial<Listings>,
  sources: ReadonlyArray<Listing<unknown>>
): FetchedList => {
  const ttls = sources.flatMap(({ ttl }) => (ttl === undefined ? [] : [ttl]))
  return {
    kind,
    listings,
    diagnostics: sources.flatMap(({ diagnostics }) => diagnostics),
    ttl: ttls.length === 0 ? undefined : smallest(ttls),
    isStale: false
  }
}

/** Stands for a list that could not be fetched. It contains no entries, so the last known ones stay. */
export const missingList = (kind: Protocol.ListKind, why: string): FetchedList => ({
  kind,
  listings: {},
  diagnostics: [
    {
      severity: "warning",
      code: "list_failed",
      message: `the list of ${kind} could not be fetched, it is tried again: ${why}`
    }
  ],
  ttl: undefined,
  isStale: true
})

/** The connection error for a server whose tools cannot be listed. */
export const toConnectionError = (server: string, error: RequestError): Errors.ConnectionError => {
  switch (error._tag) {
    case "AuthRequired":
      return error
    case "OutcomeUnknown":
      return error.cause
    case "NotSent":
      return new Errors.ConnectionClosed({ server, detail: error.reason })
    case "CallTimeout":
      return new Errors.ConnectTimeout({ server, phase: "discover", after: error.after })
    case "RateLimited":
      return new Errors.HttpFailed({ server, status: 429, retryAfter: error.retryAfter })
    case "InvalidResult":
      return new Errors.IncompatibleServer({
        server,
        detail: error.exceeds === undefined ? error.message : `its lists are too large: ${renderAll(error.issues)}`,
        ...defined({ hint: error.exceeds === undefined ? undefined : `raise "${error.exceeds}" if it needs more` })
      })
    case "ProtocolError":
      return new Errors.HandshakeRefused({ server, code: error.code, detail: `tools/list: ${error.message}` })
  }
}
