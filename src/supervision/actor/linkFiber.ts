/**
 * Runs one link, from the attempt until it is released. It reports everything that happens to the link as events of its
 * generation.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberHandle from "effect/FiberHandle"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { withinBudget } from "../../system/budget.js"
import type { Notification } from "../../connection/Session.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type { ConnectionError } from "../../domain/Errors.js"
import * as Failure from "../../domain/server/Failure.js"
import { maxDepth } from "../../domain/internal/isDeeper.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { StateCell } from "../../system/stream/StateCell.js"
import * as LinkUpkeep from "./linkUpkeep.js"
import { contain, reasonOf } from "../faults.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import type { UnstampedEvent } from "./Inbox.js"
import * as Link from "./Link.js"
import * as ServerLogs from "../servers/serverLogs.js"
import { openLink } from "./openLink.js"
import * as Refresher from "./Refresher.js"
import { scrubName } from "../scrubName.js"

/** A usable link and the operations on it. */
export interface LiveLink {
  readonly link: Link.Link
  readonly refresh: (kind: Protocol.ListKind) => Effect.Effect<void>
  /** Restarts the upkeep with the current settings. */
  readonly restartUpkeep: Effect.Effect<void>
  /** Starts a health check in the background. */
  readonly startHealthCheck: Effect.Effect<void>
  /** Runs a health check and returns whether the link is lost. */
  readonly checkLost: Effect.Effect<boolean>
}

/** The actor that owns the link. */
export interface LinkOwner {
  readonly server: string
  readonly roots: StateCell<ReadonlyArray<string>>
  /** Completes when a link may be opened. */
  readonly ready: Effect.Effect<void>
  /** The current config. */
  readonly config: () => ServerConfig | undefined
  readonly send: (event: UnstampedEvent) => void
  readonly onLive: (live: LiveLink) => void
  readonly onLog: (line: Protocol.LogLine) => void
  readonly onRefresh: () => void
  readonly onDiagnostic: (diagnostic: Diagnostic) => void
}

/**
 * The time to wait for the link's close after a successful health check: a request may notice the end of the connection
 * before the session reports it.
 */
const closeDelay = "50 millis"

/** Time limit for closing a link, whatever the connector does. */
const closeBudget = "4500 millis"

export const runLink = (
  context: SupervisorContext,
  owner: LinkOwner,
  generation: number,
  config: ServerConfig
): Effect.Effect<void> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const { send, server } = owner
      const scope = yield* Scope.make()
      let hasStarted = false
      const serving = serve(context, owner, generation, config, () => {
        hasStarted = true
      })
      const exit = yield* Effect.exit(restore(Effect.zipRight(owner.ready, Scope.extend(serving, scope))))
      if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) {
        send({ _tag: "Lost", generation, failure: Failure.fromError(reasonOf(server, config, exit.cause)) })
      }
      // When the supervisor shuts down, thousands of attempts may still wait for their turn; they have nothing to
      // close.
      if (!hasStarted) return
      const closed = yield* withinBudget(closeBudget)(Scope.close(scope, exit))
      if (Option.isNone(closed)) yield* ServerLogs.warning(server, "mcp.server.close_timeout", { generation })
    }).pipe(Effect.ensuring(Effect.sync(() => owner.send({ _tag: "Released", generation }))))
  )

/** Opens the link and fails with the reason when it is lost. */
const serve = (
  context: SupervisorContext,
  owner: LinkOwner,
  generation: number,
  config: ServerConfig,
  onStart: () => void
): Effect.Effect<never, ConnectionError, Scope.Scope> =>
  Effect.flatMap(
    openLink(context, {
      server: owner.server,
      generation,
      config,
      roots: owner.roots,
      onStart,
      onPhase: (phase) => owner.send({ _tag: "PhaseReached", generation, phase }),
      onLog: owner.onLog
    }),
    (link) => contain(owner.server, () => link.dialedConfig)(superviseLink(context, owner, link))
  )

/** Publishes the link, runs its upkeep, and fails with the reason when it is lost. */
const superviseLink = (
  context: SupervisorContext,
  owner: LinkOwner,
  link: Link.Link
): Effect.Effect<never, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { send, server } = owner
    const { config, generation } = link
    let push = yield* link.session.push
    const sendUpdate = () => send({ _tag: "LinkUpdated", generation, info: Link.info(link, push) })
    const { refresh } = Refresher.make(link, () => {
      owner.onRefresh()
      sendUpdate()
    })
    const upkeep = (): LinkUpkeep.LinkUpkeep => ({
      link,
      config: owner.config() ?? config,
      clock: context.clock,
      refresh,
      onIdle: () => send({ _tag: "Idle", generation })
    })
    const upkeepFiber = yield* FiberHandle.make<void>()
    const restartUpkeep = Effect.suspend(() =>
      FiberHandle.run(upkeepFiber, Link.loseOnFault(link, LinkUpkeep.startUpkeep(upkeep())))
    ).pipe(Effect.asVoid)
    const probe = Effect.suspend(() => LinkUpkeep.probe(upkeep()))
    const startHealthCheck = Link.forkWork(link, probe)
    const checkLost = Effect.raceFirst(
      Effect.as(link.session.closed, true),
      // The response to the health check may arrive before the session reports its end.
      probe.pipe(
        Effect.zipRight(Effect.suspend(() => (link.isLost ? Effect.void : Effect.sleep(closeDelay)))),
        Effect.map(() => link.isLost)
      )
    )

    const handleNotification = (notification: Notification) => {
      switch (notification._tag) {
        case "ListChanged":
          return send({ _tag: "ListChanged", generation, list: notification.list })
        case "PushChanged":
          push = notification.push
          return sendUpdate()
        case "Dropped":
          return owner.onDiagnostic({
            severity: "warning",
            code: "notification_dropped",
            message: `a notification was dropped, ${notification.reason ?? tooDeep}: ${notification.method}`,
            subject: notification.method
          })
        case "ResourceUpdated":
          return context.events.publish({
            type: "ResourceUpdated",
            server,
            uri: scrubName(link.dialedConfig, notification.uri)
          })
      }
    }

    owner.onLive({ link, refresh, restartUpkeep, startHealthCheck, checkLost })
    send({ _tag: "Opened", generation, info: Link.info(link, push) })
    yield* Link.forkWork(
      link,
      Stream.runForEach(link.session.notifications, (notification) =>
        Effect.sync(() => handleNotification(notification))
      )
    )
    yield* restartUpkeep
    return yield* Effect.flatMap(Effect.raceFirst(link.session.closed, Deferred.await(link.loss)), Effect.fail)
  })

const tooDeep = `it is nested more than ${maxDepth} levels deep`
