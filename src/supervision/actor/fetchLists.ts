/**
 * Asks a server for its lists: all of them when it was just connected, one of them when it has changed.
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

/** What a server said about one kind of list. */
export interface FetchedList {
  readonly kind: Protocol.ListKind
  readonly listings: Partial<Listings>
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Milliseconds for which it stays true, if the server said so. */
  readonly ttl: number | undefined
  /** Whether it has to be asked again, because it could not tell. */
  readonly isStale: boolean
}

export const kinds = Protocol.ListKind.literals

/** Fetches one kind of list. */
export const fetchList = (session: Session, kind: Protocol.ListKind): Effect.Effect<FetchedList, RequestError> => {
  switch (kind) {
    case "tools":
      return Effect.map(unlessUnknown(session.listTools), (tools) => found(kind, { tools: tools.items }, [tools]))
    case "resources":
      return Effect.map(
        Effect.all([unlessUnknown(session.listResources), unlessUnknown(session.listResourceTemplates)], {
          concurrency: 2
        }),
        ([resources, templates]) =>
          found(kind, { resources: resources.items, resourceTemplates: templates.items }, [resources, templates])
      )
    case "prompts":
      return Effect.map(unlessUnknown(session.listPrompts), (prompts) =>
        found(kind, { prompts: prompts.items }, [prompts])
      )
  }
}

/**
 * Fetches all lists. A server that cannot tell its tools is not usable. One that cannot tell the rest is, and is asked again
 * later.
 */
export const fetchLists = (session: Session): Effect.Effect<ReadonlyArray<FetchedList>, RequestError> =>
  Effect.forEach(
    kinds,
    (kind) => {
      const patient = Effect.retry(fetchList(session, kind), { while: isPassing, schedule: shortly })
      if (kind === "tools") return patient
      return Effect.catchIf(patient, isPassing, (error) => Effect.succeed(missing(kind, error.message))).pipe(
        Effect.timeoutTo({
          duration: patience,
          onSuccess: (found) => found,
          onTimeout: () => missing(kind, "it takes too long")
        })
      )
    },
    { concurrency: "unbounded" }
  )

/** A server is not kept from being used for longer than this by a list that is none of its tools. */
const patience = "5 seconds"

/** A server that stumbles over a list once, often does so only while it starts. */
const shortly = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(2))

/** Whether it is about the list only, not about the connection. A list that exceeds a limit would do so again. */
const isPassing = (error: RequestError): boolean =>
  error._tag === "ProtocolError" ||
  (error._tag === "InvalidResult" && error.exceeds === undefined) ||
  error._tag === "RateLimited"

/** A server may announce a list and know nothing of it. */
const unlessUnknown = <A>(request: Effect.Effect<Listing<A>, RequestError>): Effect.Effect<Listing<A>, RequestError> =>
  Effect.catchIf(
    request,
    (error) => error._tag === "ProtocolError" && error.code === Protocol.errorCodes.MethodNotFound,
    (error) =>
      Effect.succeed<Listing<A>>({
        items: [],
        diagnostics: [{ severity: "warning", code: "list_unsupported", message: error.message }]
      })
  )

const found = (
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

/** What stands for a list that could not be fetched: what was known of it before stays. */
export const missing = (kind: Protocol.ListKind, why: string): FetchedList => ({
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

/** Why a server that cannot be asked for its tools cannot be connected. */
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
