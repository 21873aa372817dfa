/**
 * The life of one connection, from the first attempt until nothing of it is left. What happens to it is told as events of its
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
import type { Event } from "./Inbox.js"
import * as Link from "./Link.js"
import * as ServerLogs from "../servers/serverLogs.js"
import { openLink } from "./openLink.js"
import * as Refresher from "./Refresher.js"
import { scrubName } from "../scrubName.js"

/** A connection that can be used, and what can be done about it. */
export interface LiveLink {
  readonly link: Link.Link
  readonly refresh: (kind: Protocol.ListKind) => Effect.Effect<void>
  /** Looks after it anew, with the settings there are now. */
  readonly tend: Effect.Effect<void>
  /** Looks whether anybody is there. Returns at once. */
  readonly suspect: Effect.Effect<void>
  /** The same, and waits for what comes of it. */
  readonly isOver: Effect.Effect<boolean>
}

/** Whose connection it is. */
export interface LinkOwner {
  readonly server: string
  readonly roots: StateCell<ReadonlyArray<string>>
  /** Ends when a connection may be opened. */
  readonly ready: Effect.Effect<void>
  /** As it is now. */
  readonly config: () => ServerConfig | undefined
  readonly send: (event: Event) => void
  readonly onLive: (live: LiveLink) => void
  readonly onLog: (line: Protocol.LogLine) => void
  readonly onRefresh: () => void
  readonly onDiagnostic: (diagnostic: Diagnostic) => void
}

/** Between what a request notices of a connection's end and the end itself. */
const closingMoment = "50 millis"

/** No connection takes longer to end, whatever its connector says. */
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
      let hasBegun = false
      const life = serve(context, owner, generation, config, () => {
        hasBegun = true
      })
      const exit = yield* Effect.exit(restore(Effect.zipRight(owner.ready, Scope.extend(life, scope))))
      if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) {
        send({ _tag: "Lost", generation, failure: Failure.fromError(reasonOf(server, config, exit.cause)) })
      }
      // thousands may wait for their turn when everything ends
      if (!hasBegun) return
      const closed = yield* withinBudget(closeBudget)(Scope.close(scope, exit))
      if (Option.isNone(closed)) yield* ServerLogs.warning(server, "mcp.server.close_timeout", { generation })
    }).pipe(Effect.ensuring(Effect.sync(() => owner.send({ _tag: "Released", generation }))))
  )

/** Connects, and ends with the reason why the connection is of no more use. */
const serve = (
  context: SupervisorContext,
  owner: LinkOwner,
  generation: number,
  config: ServerConfig,
  onBegin: () => void
): Effect.Effect<never, ConnectionError, Scope.Scope> =>
  Effect.flatMap(
    openLink(context, {
      server: owner.server,
      generation,
      config,
      roots: owner.roots,
      onBegin,
      onPhase: (phase) => owner.send({ _tag: "PhaseReached", generation, phase }),
      onLog: owner.onLog
    }),
    (link) => contain(owner.server, () => link.dialled)(keep(context, owner, link))
  )

/** Makes it known, looks after it, and ends with the reason why it is of no more use. */
const keep = (
  context: SupervisorContext,
  owner: LinkOwner,
  link: Link.Link
): Effect.Effect<never, ConnectionError, Scope.Scope> =>
  Effect.gen(function* () {
    const { send, server } = owner
    const { config, generation } = link
    let push = yield* link.session.push
    const updated = () => send({ _tag: "LinkUpdated", generation, info: Link.info(link, push) })
    const { refresh } = Refresher.make(link, () => {
      owner.onRefresh()
      updated()
    })
    const care = (): LinkUpkeep.LinkUpkeep => ({
      link,
      config: owner.config() ?? config,
      clock: context.clock,
      refresh,
      onIdle: () => send({ _tag: "Idle", generation })
    })
    const tending = yield* FiberHandle.make<void>()
    const tend = Effect.suspend(() =>
      FiberHandle.run(tending, Link.guarded(link, LinkUpkeep.startUpkeep(care())))
    ).pipe(Effect.asVoid)
    const probe = Effect.suspend(() => LinkUpkeep.probe(care()))
    const suspect = Link.work(link, probe)
    const isOver = Effect.raceFirst(
      Effect.as(link.session.closed, true),
      // a sign of life may overtake the news of the end
      probe.pipe(
        Effect.zipRight(Effect.suspend(() => (link.isCondemned ? Effect.void : Effect.sleep(closingMoment)))),
        Effect.map(() => link.isCondemned)
      )
    )

    const hear = (note: Notification) => {
      switch (note._tag) {
        case "ListChanged":
          return send({ _tag: "ListChanged", generation, list: note.list })
        case "PushChanged":
          push = note.push
          return updated()
        case "Dropped":
          return owner.onDiagnostic({
            severity: "warning",
            code: "notification_dropped",
            message: `a notification was dropped, ${note.reason ?? tooDeep}: ${note.method}`,
            subject: note.method
          })
        case "ResourceUpdated":
          return context.events.publish({ type: "ResourceUpdated", server, uri: scrubName(link.dialled, note.uri) })
      }
    }

    owner.onLive({ link, refresh, tend, suspect, isOver })
    send({ _tag: "Opened", generation, info: Link.info(link, push) })
    yield* Link.work(
      link,
      Stream.runForEach(link.session.notifications, (note) => Effect.sync(() => hear(note)))
    )
    yield* tend
    return yield* Effect.flatMap(Effect.raceFirst(link.session.closed, Deferred.await(link.condemned)), Effect.fail)
  })

const tooDeep = `it is nested more than ${maxDepth} levels deep`
