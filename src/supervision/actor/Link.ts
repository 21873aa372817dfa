/**
 * One connection of a server, from the moment it is usable: what it lists, who uses it, and whether it still may be used.
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
  /** What it was opened for. */
  readonly config: ServerConfig
  /** What it was opened with: there may be headers that were asked for. */
  readonly dialled: ServerConfig
  readonly session: Session
  /** What the server says of itself, without its secrets. */
  readonly introduction: Introduction
  /** Of everything that is done for this connection. */
  readonly scope: Scope.Scope
  /** Monotonic milliseconds. */
  readonly now: () => number

  listings: Catalog.Listings
  readonly lists: Map<Protocol.ListKind, ListState>
  /** Done when something new is known about one of them. */
  learned: Deferred.Deferred<void>

  /** Requests that wait for their answer. */
  calls: number
  /** Readers of resource updates. */
  subscriptions: number
  /** Lists being fetched. */
  fetching: number
  /** When somebody used it last. */
  usedAt: number
  /** When the server last gave a sign of life. */
  heardAt: number

  /** Done when it takes no more requests. */
  readonly retired: Deferred.Deferred<void>
  isRetired: boolean
  /** Told when the last request of a retired link has ended. */
  onDrained: (() => void) | undefined
  /** Done when it is found to be of no more use. */
  readonly condemned: Deferred.Deferred<ConnectionError>
  isCondemned: boolean
  /** Done when it has been asked for a sign of life; absent while it is not. */
  probing: Deferred.Deferred<void> | undefined
}

/** What is known about one of its lists. */
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
  readonly found: ReadonlyArray<FetchedList>
}): Link => {
  const { config, dialled, found, generation, now, scope, server, session } = options
  const link: Link = {
    server,
    generation,
    config,
    dialled,
    session,
    introduction: introductionOf(dialled, session.info),
    scope,
    now,
    listings: Catalog.noListings,
    lists: new Map(),
    learned: Deferred.unsafeMake(FiberId.none),
    calls: 0,
    subscriptions: 0,
    fetching: 0,
    usedAt: now(),
    heardAt: now(),
    retired: Deferred.unsafeMake(FiberId.none),
    isRetired: false,
    onDrained: undefined,
    condemned: Deferred.unsafeMake(FiberId.none),
    isCondemned: false,
    probing: undefined
  }
  for (const each of found) learn(link, each)
  return link
}

/** Takes over what a server said about one of its lists. What it could not tell stays as it was. */
export const learn = (link: Link, { diagnostics, isStale, kind, listings, ttl }: FetchedList): void => {
  link.listings = Catalog.retain(link.listings, { ...link.listings, ...listings })
  const hidden = diagnostics.length === 0 ? diagnostics : diagnostics.map(scrubbed(link.dialled))
  link.lists.set(kind, { diagnostics: hidden, fetchedAt: link.now(), ttl, isStale })
  Deferred.unsafeDone(link.learned, Effect.void)
  link.learned = Deferred.unsafeMake(FiberId.none)
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

/** What the status tells of it. */
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

/** Whether somebody would miss it. */
export const isBusy = (link: Link): boolean => link.calls > 0 || link.subscriptions > 0 || link.fetching > 0

/** Takes no more requests, and says when the last one has ended. */
export const retire = (link: Link, onDrained: () => void): void => {
  link.isRetired = true
  link.onDrained = onDrained
  Deferred.unsafeDone(link.retired, Effect.void)
  if (link.calls === 0) onDrained()
}

export const condemn = (link: Link, reason: ConnectionError): void => {
  link.isCondemned = true
  Deferred.unsafeDone(link.condemned, Effect.succeed(reason))
}

/** Something that is done for the connection. A fault of it is the end of the connection, not a connection half alive. */
export const guarded = <R>(link: Link, effect: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  Effect.catchAllCause(effect, (cause) =>
    Cause.isInterruptedOnly(cause)
      ? Effect.failCause(cause)
      : Effect.sync(() => condemn(link, reasonOf(link.server, link.dialled, cause)))
  )

/** Does it beside everything else, as long as the connection lasts. */
export const work = <R>(link: Link, effect: Effect.Effect<void, never, R>): Effect.Effect<void, never, R> =>
  Effect.asVoid(Effect.forkIn(guarded(link, effect), link.scope))

/** A request begins. Until it ends, the link is neither put to rest nor drained. */
export const enter = (link: Link): void => {
  link.calls += 1
}

/** A request has ended, with an answer or without. */
export const leave = (link: Link, answered: boolean): void => {
  link.calls -= 1
  link.usedAt = link.now()
  if (answered) link.heardAt = link.usedAt
  if (link.calls === 0) link.onDrained?.()
}
