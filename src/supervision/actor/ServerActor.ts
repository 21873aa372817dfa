/**
 * Runs one server. All its messages arrive in one inbox; one loop passes them to the lifecycle, writes the new state
 * and starts the resulting actions. The loop never waits for an action.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FiberHandle from "effect/FiberHandle"
import * as FiberId from "effect/FiberId"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Catalog from "../../domain/catalog/Catalog.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { UnexpectedFailure } from "../../domain/Errors.js"
import * as Failure from "../../domain/server/Failure.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import * as StateCell from "../../system/stream/StateCell.js"
import type { Definition } from "../servers/Definition.js"
import { faultText, scrubbed } from "../faults.js"
import * as CallQueue from "../calls/CallQueue.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import * as Inbox from "./Inbox.js"
import * as Link from "./Link.js"
import { runLink, type LiveLink, type LinkOwner } from "./linkFiber.js"
import * as ServerLogs from "../servers/serverLogs.js"
import * as Metrics from "../metrics.js"
import * as ReplayLog from "../../system/stream/ReplayLog.js"

export interface ServerActor {
  readonly name: string
  readonly definition: () => Definition
  /** Ends when all links of the removed server are released. */
  readonly state: StateCell.StateCell<Lifecycle.State>
  readonly gate: CallQueue.CallQueue
  readonly metrics: Metrics.ServerMetrics
  readonly logs: ReplayLog.ReplayLog<Protocol.LogLine>
  /** The routed link, if there is one. */
  readonly link: () => Link.Link | undefined
  /** The last listings of the server. */
  readonly known: () => Catalog.Listings | undefined
  /** The listings for the catalog. `undefined` if the server was unavailable for longer than the grace period. */
  readonly source: () => Catalog.Source | undefined
  readonly diagnostics: () => ReadonlyArray<Diagnostic>
  /** Adds a diagnostic that is shown until another link is routed. */
  readonly diagnose: (diagnostic: Diagnostic) => void
  readonly send: (event: Inbox.UnstampedEvent) => void
  /** Starts an idle server. Does nothing in any other state. */
  readonly demand: () => void
  /**
   * Returns the first result of `pick` that is not `undefined`, for the current or a later state. Fails if the server
   * is removed before.
   */
  readonly until: <A>(pick: (state: Lifecycle.State) => A | undefined) => Effect.Effect<A, "ended">
  /** Sends a message and returns when it was handled or the inbox was closed. */
  readonly tell: (message: Inbox.ActorMessage) => Effect.Effect<void>
  /** Starts a health check of the link after a failed request, and returns at once. */
  readonly suspect: (link: Link.Link) => Effect.Effect<void>
  /** Runs a health check of the link and returns whether the link is lost. */
  readonly isOver: (link: Link.Link) => Effect.Effect<boolean>
  /** Runs the server. Returns when the server was removed and all its links are released. */
  readonly run: Effect.Effect<void>
}

/** Tools of a lost server stay listed for this long while it reconnects. */
const grace = 30_000

/** Number of log lines in the replay log. Beyond that, the oldest is dropped. */
const keptLines = 1000

/** Number of calls that may wait for their turn. Further calls fail with `Overloaded`. */
const maxQueued = 1000

/** The pause after a fault in the loop of a server. */
const faultPause = "1 second"

/** Number of diagnostics reported at run time. Further ones are dropped. */
const maxRemarks = 100

export const make = (
  context: SupervisorContext,
  options: {
    readonly definition: Definition
    /** The listings stored in an earlier run. */
    readonly kept?: Catalog.Listings | undefined
    /** Returns when a link may be opened: removed servers of the same name must be released. */
    readonly ready?: Effect.Effect<void> | undefined
    /** Called when state, listings or diagnostics change. */
    readonly onChange: (actor: ServerActor) => void
  }
): Effect.Effect<ServerActor> =>
  Effect.gen(function* () {
    let { definition, kept: known } = options
    const { name } = definition
    const now = () => context.clock.unsafeCurrentTimeMillis()
    const inbox = yield* Inbox.make
    const beginning = Lifecycle.start(definition.settings, now())
    const state = StateCell.make(beginning.state)
    const metrics = Metrics.ofServer(name)
    const logs = ReplayLog.make<Protocol.LogLine>({ capacity: keptLines })
    const gate = CallQueue.make(definition.config?.concurrency ?? 1, maxQueued)
    const roots = StateCell.make(rootsOf(context, definition))
    /** Open links by generation. The routed one takes requests. */
    const live = new Map<number, LiveLink>()
    const remarks = new Map<string, Diagnostic>()
    /** Whether `Demanded` was already sent for the current phase. */
    let isDemanded = false
    /** Whether the server became unavailable within the grace period. */
    let inGrace = false

    const send = (event: Inbox.UnstampedEvent) => inbox.send({ event })

    const routed = () => live.get(Lifecycle.routed(state.get())?.generation ?? 0)

    const source = (): Catalog.Source | undefined =>
      known !== undefined && isListed(state.get(), inGrace)
        ? { server: name, listings: known, tools: definition.config?.tools ?? noPatterns }
        : undefined

    const owner: LinkOwner = {
      server: name,
      roots,
      ready: options.ready ?? Effect.void,
      config: () => definition.config,
      send,
      onLive: (opened) => void live.set(opened.link.generation, opened),
      onLog: logs.push,
      onRefresh: metrics.refreshed,
      onDiagnostic: (diagnostic) => actor.diagnose(diagnostic)
    }

    const adopt = ({ definition: next, event, cachedListings: kept }: Inbox.ActorMessage) => {
      if (next === undefined) return
      const change = event?._tag === "ConfigChanged" ? event.change : "settings"
      // The listings of another server, or of another config, say nothing about this one.
      if (change === "identity" || (change === "link" && routed() === undefined)) known = kept
      definition = next
      gate.resize(next.config?.concurrency ?? 1)
      roots.set(rootsOf(context, next))
    }

    /** The only function that writes the state. */
    const write = (next: Lifecycle.State) => {
      const before = state.get()
      if (next !== before) state.set(next)
      if (next.phase !== before.phase) isDemanded = false
      const link = routed()?.link
      if (link !== undefined) {
        if (link.generation !== Lifecycle.routed(before)?.generation) remarks.clear()
        if (known !== undefined && known !== link.listings) link.listings = Catalog.retain(known, link.listings)
        known = link.listings
      }
      if (isUp(before) && !isUp(next)) inGrace = true
      // A server that is not reconnecting has no grace period.
      if (isUp(next) || !isExpected(next)) inGrace = false
      if (next.restarts > before.restarts) metrics.restarted()
      metrics.isAt(Lifecycle.status(next).status)
      options.onChange(actor)
    }

    /** Runs the server until it is removed or a fault occurs. Everything it starts ends with its scope. */
    const serveUntilFault = (fault?: Failure.Failure): Effect.Effect<void, never, Scope.Scope> =>
      Effect.gen(function* () {
        // Released in reverse order: links are closed before anything else is awaited.
        const saving = yield* FiberHandle.make<void>()
        const timers = yield* FiberMap.make<number | "grace">()
        const links = yield* FiberMap.make<number>()
        yield* Effect.addFinalizer(() => Effect.sync(() => live.clear()))
        let saved = known

        const wakeAfter = (timer: number | "grace", millis: number, wake: () => void) =>
          FiberMap.unsafeSet(timers, timer, context.fork(Effect.delay(Effect.sync(wake), Math.max(0, millis))))

        const schedule = ({ at, id }: Lifecycle.Timer) =>
          wakeAfter(id, at - now(), () => send({ _tag: "TimerFired", timer: id }))

        const watchGrace = () =>
          wakeAfter("grace", grace, () => {
            inGrace = false
            inbox.send({})
          })

        const open = (generation: number) => {
          const { config } = definition
          if (config === undefined) return send({ _tag: "Released", generation })
          const life = Effect.ensuring(
            runLink(context, owner, generation, config),
            Effect.sync(() => live.delete(generation))
          )
          FiberMap.unsafeSet(links, generation, context.fork(life))
        }

        const close = (generation: number) =>
          Option.map(FiberMap.unsafeGet(links, generation), (fiber) => fiber.unsafeInterruptAsFork(FiberId.none))

        const drain = (generation: number) => {
          const draining = live.get(generation)?.link
          if (draining !== undefined) Link.retire(draining, () => send({ _tag: "Drained", generation }))
        }

        const start = (action: Lifecycle.Action): Effect.Effect<void> => {
          switch (action._tag) {
            case "Open":
              return Effect.sync(() => open(action.generation))
            case "Close":
              return Effect.sync(() => close(action.generation))
            case "Drain":
              return Effect.sync(() => drain(action.generation))
            case "ScheduleTimer":
              return Effect.sync(() => schedule(action.timer))
            case "CancelTimer":
              return FiberMap.remove(timers, action.timer)
            case "RefreshCatalog":
              return live.get(action.generation)?.refresh(action.list) ?? Effect.void
            case "PublishStatus":
              context.events.publish({ type: "StatusChanged", server: name, from: action.from, to: action.to })
              return ServerLogs.statusChanged(name, action.from, action.to)
            case "PublishReplacement":
              return Effect.sync(() =>
                context.events.publish({ type: "Replacement", server: name, ...action.replacement })
              )
          }
        }

        /** Stores the listings for the next run. */
        const save = Effect.suspend(() => {
          const link = routed()?.link
          if (link === undefined || link.listings === saved) return Effect.void
          saved = link.listings
          const { serverInfo } = link.introduction
          return FiberHandle.run(saving, context.store.save(name, link.config, { serverInfo, listings: saved }))
        })

        const handle = (message: Inbox.ActorMessage) =>
          Effect.gen(function* () {
            const random = yield* Random.next
            adopt(message)
            const before = state.get()
            const step =
              message.event === undefined
                ? { state: before, actions: [] }
                : Lifecycle.step(before, { ...message.event, at: now(), random } as Lifecycle.Event)
            write(step.state)
            yield* Effect.forEach(step.actions, start, { discard: true })
            if (isUp(before) && inGrace) watchGrace()
            if (message.definition !== undefined) yield* routed()?.restartUpkeep ?? Effect.void
            yield* save
          })

        /** Marks all links as lost after a fault, so that the lifecycle reconnects. */
        const mourn = (failure: Failure.Failure) =>
          Effect.forEach(generationsOf(state.get()), (generation) => {
            const lost: Lifecycle.Event = { _tag: "Lost", generation, failure, at: now(), random: 0 }
            const step = Lifecycle.step(state.get(), lost)
            write(step.state)
            return Effect.forEach(step.actions.filter(isNews), start)
          })

        if (fault === undefined) yield* Effect.forEach(beginning.actions, start, { discard: true })
        else {
          const mourned = yield* Effect.exit(Effect.suspend(() => mourn(fault)))
          // Limits the rate of repeated faults.
          yield* Effect.sleep(faultPause)
          yield* mourned
          for (const generation of generationsOf(state.get())) send({ _tag: "Released", generation })
          Lifecycle.timers(state.get()).forEach(schedule)
          if (inGrace) watchGrace()
        }
        while (!Lifecycle.isFinished(state.get())) yield* inbox.next(handle)
      })

    /** A fault closes the links of this server; other servers are not affected. */
    const contained = (fault?: Failure.Failure): Effect.Effect<void> =>
      Effect.catchAllCause(Effect.scoped(serveUntilFault(fault)), (cause) => {
        if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
        const { config } = definition
        const detail = faultText(config, cause)
        const message = `a fault of the supervisor was contained, please report it: ${detail}`
        return Effect.sync(() => actor.diagnose({ severity: "error", code: "internal_fault", message })).pipe(
          Effect.zipRight(ServerLogs.fault(name, config, cause)),
          // A fault while reporting must not prevent the restart.
          Effect.exit,
          Effect.zipRight(contained(Failure.fromError(new UnexpectedFailure({ server: name, detail }))))
        )
      })

    const actor: ServerActor = {
      name,
      definition: () => definition,
      state,
      gate,
      metrics,
      logs,
      link: () => routed()?.link,
      known: () => known,
      source,
      diagnostics: () => {
        const link = routed()?.link
        return [...definition.diagnostics, ...(link === undefined ? [] : Link.diagnostics(link)), ...remarks.values()]
      },
      diagnose: (diagnostic) => {
        const key = `${diagnostic.code} ${diagnostic.subject ?? ""}`
        if (remarks.has(key) || remarks.size >= maxRemarks) return
        const { config } = definition
        remarks.set(key, config === undefined ? diagnostic : scrubbed(config)(diagnostic))
        options.onChange(actor)
      },
      send,
      demand: () => {
        if (isDemanded || state.get().phase._tag !== "Resting") return
        isDemanded = true
        send({ _tag: "Demanded" })
      },
      until: (pick) =>
        Effect.flatMap(
          state.until((state) => {
            if (Lifecycle.isRemoved(state)) return Either.left("ended" as const)
            const picked = pick(state)
            return picked === undefined ? undefined : Either.right(picked)
          }),
          (found) => found
        ),
      tell: inbox.tell,
      suspect: (link) => live.get(link.generation)?.startHealthCheck ?? Effect.void,
      isOver: (link) => live.get(link.generation)?.checkLost ?? Effect.succeed(true),
      run: Effect.ensuring(
        Effect.suspend(() => {
          metrics.isAt(Lifecycle.status(state.get()).status)
          // The caller starts many actors: each yields before its first attempt.
          return Effect.zipRight(Effect.yieldNow(), contained())
        }),
        Effect.sync(() => {
          metrics.isAt(undefined)
          inbox.end()
          state.end()
          roots.end()
          logs.end()
        })
      )
    }
    return actor
  })

const noPatterns = {}

const isNews = ({ _tag }: Lifecycle.Action): boolean => _tag === "PublishStatus" || _tag === "PublishReplacement"

/** Whether the server is connected, or idle and can be started at any time. */
const isUp = ({ phase }: Lifecycle.State): boolean => phase._tag === "Serving" || phase._tag === "Resting"

/** Whether the server reconnects without a command. */
const isExpected = (state: Lifecycle.State): boolean => {
  const pursuit = Lifecycle.pursuit(state)?._tag
  return pursuit === "Pending" || pursuit === "Opening" || pursuit === "Backoff"
}

const isListed = (state: Lifecycle.State, inGrace: boolean): boolean => isUp(state) || (inGrace && isExpected(state))

const generationsOf = (state: Lifecycle.State): ReadonlyArray<number> =>
  [Lifecycle.routed(state)?.generation, Lifecycle.opening(state), state.draining?.generation, ...state.closing].filter(
    (generation) => generation !== undefined
  )

const rootsOf = (context: SupervisorContext, { config }: Definition): ReadonlyArray<string> =>
  config?.roots ?? context.roots
