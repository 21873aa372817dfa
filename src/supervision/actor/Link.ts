/**
 * A link from the moment it is usable: its listings, its use, and whether it still accepts requests.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import type { Info, Session } from "../../connection/Session.js"
import * as Catalog from "../../domain/catalog/Catalog.js"
import { defined } from "../../domain/internal/defined.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type { ConnectionError } from "../../domain/Errors.js"
import type * as Lifecycle from "../../domain/server/Lifecycle.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import { scrubDeep } from "../../domain/internal/scrubDeep.js"
import * as Secrets from "../../domain/Secrets.js"
import { secrets, type ServerConfig } from "../../domain/server/ServerConfig.js"
import type { FetchedList } from "./fetchLists.js"
import { reasonOf, scrubbed } from "../faults.js"

export interface Link {
  readonly server: string
  readonly generation: number
  /** The config that the link was opened for. */
  readonly config: ServerConfig
  /** The config that the link was opened with. It may contain additional headers from the `headers` option. */
  readonly dialedConfig: ServerConfig
  readonly session: Session
  /** The server info and instructions, without secrets. */
  readonly introduction: Introduction
  /** The scope of all fibers that work for this link. */
  readonly scope: Scope.Scope
  /** Monotonic milliseconds. */
  readonly now: () => number

  listings: Catalog.Listings
  readonly lists: Map<Protocol.ListKind, ListState>
  /** Completed, and replaced by a new one, when one of the lists is updated. */
  listsChanged: Deferred.Deferred<void>

  /** Requests in progress. */
  calls: number
  /** Open resource subscriptions. */
  subscriptions: number
  /** Lists being fetched. */
  fetching: number
  /** When a request or subscription last used the link. */
  usedAt: number
  /** When the server last responded. */
  heardAt: number

  /** Completed when the link stops accepting requests. */
  readonly retirement: Deferred.Deferred<void>
  isRetired: boolean
  /** Called when the last request of a retired link has ended. */
  onDrained: (() => void) | undefined
  /** Completed when the link is found to be lost. */
  readonly loss: Deferred.Deferred<ConnectionError>
  isLost: boolean
  /** Completed when the running health check ends; absent while none runs. */
  probing: Deferred.Deferred<void> | undefined
}

/** The state of one list. */
export interface ListState {
  readonly diagnostics: ReadonlyArray<Diagnostic>
  readonly fetchedAt: number
  readonly ttl: number | undefined
  readonly isStale: boolean
}

export const make = (options: {
  readonly server: string
  readonly generation: number
  readonly config: ServerConfig
  readonly dialled: ServerConfig
  readonly session: Session
  readonly scope: Scope.Scope
  readonly now: () => number
  readonly lists: ReadonlyArray<FetchedList>
}): Link => {
  const { config, dialled, generation, lists, now, scope, server, session } = options
  const link: Link = {
    server,
    generation,
    config,
    dialedConfig: dialled,
    session,
    introduction: introductionOf(dialled, session.info),
    scope,
    now,
    listings: Catalog.noListings,
    lists: new Map(),
    listsChanged: Deferred.unsafeMake(FiberId.none),
    calls: 0,
    subscriptions: 0,
    fetching: 0,
    usedAt: now(),
    heardAt: now(),
    retirement: Deferred.unsafeMake(FiberId.none),
    isRetired: false,
    onDrained: undefined,
    loss: Deferred.unsafeMake(FiberId.none),
    isLost: false,
    probing: undefined
  }
  for (const list of lists) setList(link, list)
  return link
}

/** Stores a fetched list. Kinds that the fetch does not contain keep their entries. */
export const setList = (link: Link, { diagnostics, isStale, kind, listings, ttl }: FetchedList): void => {
  link.listings = Catalog.retain(link.listings, { ...link.listings, ...listings })
  const scrubbedDiagnostics = diagnostics.length === 0 ? diagnostics : diagnostics.map(scrubbed(link.dialedConfig))
  link.lists.set(kind, { diagnostics: scrubbedDiagnostics, fetchedAt: link.now(), ttl, isStale })
  Deferred.unsafeDone(link.listsChanged, Effect.void)
  link.listsChanged = Deferred.unsafeMake(FiberId.none)
}

export const diagnostics = (link: Link): ReadonlyArray<Diagnostic> =>
  [...link.lists.values()].flatMap((list) => list.diagnostics)

type Introduction = Pick<Info, "serverInfo" | "instructions">

const introductionOf = (config: ServerConfig, { instructions, serverInfo }: Info): Introduction => {
  if (instructions === undefined && serverInfo === undefined) return {}
  const scrub = Secrets.scrub(secrets(config))
  return defined({
    instructions: instructions === undefined ? undefined : scrub(instructions),
    serverInfo: serverInfo === undefined ? undefined : (scrubDeep(serverInfo, scrub) as typeof serverInfo)
  })
}

/** The link details for the server's status. */
export const info = (link: Link, push: Protocol.Push): Lifecycle.LinkInfo => {
  const { era, protocolVersion, transport } = link.session.info
  const { prompts, resources, tools } = link.listings
  return {
    transport,
    protocolVersion,
    era,
    ...link.introduction,
    tools: tools.length,
    resources: resources.length,
    prompts: prompts.length,
    push
  }
}

/** Whether calls, subscriptions or fetches are in progress. */
export const isBusy = (link: Link): boolean => link.calls > 0 || link.subscriptions > 0 || link.fetching > 0

/** Stops accepting requests, and calls `onDrained` when the last one has ended. */
export const retire = (link: Link, onDrained: () => void): void => {
  link.isRetired = true
  link.onDrained = onDrained
  Deferred.unsafeDone(link.retirement, Effect.void)
  if (link.calls === 0) onDrained()
}

export const markLost = (link: Link, reason: ConnectionError): void => {
  link.isLost = true
  Deferred.unsafeDone(link.loss, Effect.succeed(reason))
}

/**
 * Runs work for the link. A fault in it marks the whole link as lost, because the link would be only partly working.
 */
export const loseOnFault = <R>(link: Link, effect: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  Effect.catchAllCause(effect, (cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause)
      : Effect.sync(() => markLost(link, reasonOf(link.server, link.dialedConfig, cause)))
  )

/** Forks work that runs until the link closes. */
export const forkWork = <R>(link: Link, effect: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  Effect.asVoid(Effect.forkIn(loseOnFault(link, effect), link.scope))

/** Counts a request as started. Until it ends, the link is neither stopped as idle nor drained. */
export const beginRequest = (link: Link): void => {
  link.calls += 1
}

/** Counts a request as ended, with a response or without. */
export const endRequest = (link: Link, isAnswered: boolean): void => {
  link.calls -= 1
  link.usedAt = link.now()
  if (isAnswered) link.heardAt = link.usedAt
  if (link.calls === 0) link.onDrained?.()
}
