/**
 * Implements one attempt of a fake connector. It runs the script, obeys the test, and handles interruption and closing.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Broadcast from "../../system/stream/Broadcast.js"
import type { ConnectOptions } from "../../connection/Connector.js"
import type * as Session from "../../connection/Session.js"
import { notificationKey } from "../../connection/session/notifications.js"
import * as Errors from "../../domain/Errors.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"
import { background, change, elicit, type FakeLink, notify, refusal, sample, whenOpen, type World } from "./link.js"
import type { Attempt, Behaviour } from "./model.js"
import { makeSession } from "./session.js"

export interface RunningAttempt {
  readonly link: FakeLink
  readonly handle: Attempt
  /** The effect that the caller of `connect` runs. */
  readonly connect: Effect.Effect<Session.Session, Errors.ConnectionError>
  /** Closes the attempt, in the time that `closeTakes` sets. */
  readonly release: Effect.Effect<void>
}

export const makeAttempt = (
  world: World,
  options: ConnectOptions,
  number: number,
  behaviour: Behaviour
): Effect.Effect<RunningAttempt> =>
  Effect.gen(function* () {
    const { config, handlers, server } = options
    const ready = yield* Deferred.make<Session.Session, Errors.ConnectionError>()
    const roots = yield* SubscriptionRef.make(Option.none<ReadonlyArray<Protocol.Root>>())
    let phase: AttemptPhase = config._tag === "Local" ? "spawn" : "handshake"

    const link: FakeLink = {
      world,
      options,
      number,
      scope: yield* Scope.make(),
      notifications: Broadcast.make({ key: notificationKey, capacity: 10_000, early: true }),
      logs: Broadcast.make({ capacity: 1000, early: true }),
      closed: yield* Deferred.make<Errors.ConnectionError>(),
      subscriptions: new Map(),
      onEnd: new Set(),
      stage: "opening",
      opened: false,
      reason: undefined,
      settings: behaviour.server,
      questions: 0,
      askedAt: 0,
      stood: 0,
      resumed: undefined,
      push: "open",
      logLevel: "debug"
    }

    /** Ends the session. Must run within a change. */
    const end = (reason: Errors.ConnectionError) => {
      link.stage = "over"
      link.reason = reason
      for (const tell of link.onEnd) tell(reason)
      for (const { updates } of link.subscriptions.values()) updates.end()
      link.notifications.end()
      link.logs.end()
      Deferred.unsafeDone(link.closed, Effect.succeed(reason))
    }

    const open: Attempt["open"] = (given) =>
      Effect.tap(
        change(link, (write) => {
          if (link.stage !== "opening") return false
          link.stage = "open"
          link.opened = true
          link.settings = { ...link.settings, ...given }
          link.push = link.settings.push ?? "open"
          write({ type: "opened" })
          Deferred.unsafeDone(ready, Effect.succeed(makeSession(link)))
          return true
        }),
        (opened) => (opened && handlers?.roots !== undefined ? readRoots(handlers.roots) : Effect.void)
      )

    const readRoots = (given: Stream.Stream<ReadonlyArray<Protocol.Root>>) =>
      background(
        link,
        Stream.runForEach(given, (next) =>
          Effect.flatMap(SubscriptionRef.getAndSet(roots, Option.some(next)), (before) =>
            Option.isNone(before)
              ? Effect.void
              : Effect.asVoid(whenOpen(link, (write) => write({ type: "rootsChanged", roots: next })))
          )
        )
      )

    const fail: Attempt["fail"] = (error) =>
      change(link, (write) => {
        if (link.stage !== "opening") return false
        link.stage = "over"
        write({ type: "failed", error })
        Deferred.unsafeDone(ready, Effect.fail(error))
        return true
      })

    const crash: Attempt["crash"] = (error = new Errors.ConnectionClosed({ server })) =>
      whenOpen(link, (write) => {
        write({ type: "crashed", error })
        end(error)
      })

    const abandon = change(link, (write) => {
      if (link.stage !== "opening") return
      link.stage = "over"
      write({ type: "abandoned" })
    })

    const toPhase: Attempt["phase"] = (next) =>
      Effect.suspend(() => {
        if (link.stage !== "opening") return Effect.succeed(false)
        phase = next
        return Effect.as(options.onPhase?.(next) ?? Effect.void, true)
      })

    const play = Effect.gen(function* () {
      if (behaviour._tag === "Wait") return
      yield* pass(behaviour.after)
      if (behaviour._tag === "Fail") return yield* fail(behaviour.error)
      yield* open()
      if (behaviour.crash === undefined) return
      yield* pass(behaviour.crash.after)
      return yield* crash(behaviour.crash.error)
    })

    const connect = Effect.gen(function* () {
      yield* toPhase(phase)
      if (phase === "spawn") yield* toPhase("handshake")
      yield* background(link, play)
      const after = config.timeout.connect
      return yield* Deferred.await(ready).pipe(
        Effect.timeoutTo({
          duration: after,
          onSuccess: Effect.succeed,
          // If it has just opened, the session counts.
          onTimeout: () =>
            Effect.zipRight(fail(new Errors.ConnectTimeout({ server, phase, after })), Deferred.await(ready))
        }),
        Effect.flatten
      )
    }).pipe(Effect.onInterrupt(() => abandon))

    const release = Effect.gen(function* () {
      const { closeTakes } = link.settings
      yield* abandon
      yield* change(link, (write) => {
        if (closeTakes !== undefined) write({ type: "closing" })
        if (link.stage === "open") end(new Errors.ConnectionClosed({ server, detail: "it was closed by us" }))
      })
      if (closeTakes === "forever") yield* Effect.never
      else if (closeTakes !== undefined) yield* pass(closeTakes)
      yield* Scope.close(link.scope, Exit.void)
      yield* change(link, (write) => {
        world.unclosed.delete(link)
        write({ type: "closed" })
      })
    })

    const handle: Attempt = {
      server,
      number,
      options,
      stage: Effect.sync(() => link.stage),
      phase: toPhase,
      open,
      fail,
      crash,
      set: (given) =>
        Effect.sync(() => {
          link.settings = { ...link.settings, ...given }
        }),
      listChanged: (list) => notify(link, { _tag: "ListChanged", list }),
      updateResource: (uri) =>
        whenOpen(link, (write) => {
          const notification = { _tag: "ResourceUpdated", uri } as const
          link.subscriptions.get(uri)?.updates.publish({ uri })
          link.notifications.publish(notification)
          write({ type: "notified", notification })
        }),
      completeElicitation: (elicitationId) => notify(link, { _tag: "ElicitationCompleted", elicitationId }),
      setPush: (push) =>
        whenOpen(link, (write) => {
          if (link.push === push) return
          const notification = { _tag: "PushChanged", push } as const
          link.push = push
          link.notifications.publish(notification)
          write({ type: "notified", notification })
        }),
      log: (given) =>
        change(link, (_, at) => {
          const line: Protocol.LogLine = {
            at,
            source: "stderr",
            ...(typeof given === "string" ? { text: given } : given)
          }
          if (isTooQuiet(link, line)) return
          options.onLog?.(line)
          link.logs.publish(line)
        }),
      elicit: (request) => elicit(link, request),
      sample: (request) => sample(link, request),
      roots:
        handlers?.roots === undefined
          ? Effect.fail(refusal(link, Protocol.errorCodes.MethodNotFound, "Method not found: roots/list"))
          : Effect.flatMap(Stream.runHead(Stream.filterMap(roots.changes, (current) => current)), Effect.orDie)
    }

    return { link, handle, connect, release }
  })

/** Sleeps, unless the time is zero: no timer is needed then. */
const pass = (time: Duration.DurationInput): Effect.Effect<void> =>
  Duration.toMillis(time) > 0 ? Effect.sleep(time) : Effect.void

/** Whether a server omits a log line because it is below the level that the client has set. */
const isTooQuiet = (link: FakeLink, { level, source }: Protocol.LogLine): boolean => {
  const order = Protocol.LogLevel.literals
  return source === "server" && level !== undefined && order.indexOf(level) < order.indexOf(link.logLevel)
}
