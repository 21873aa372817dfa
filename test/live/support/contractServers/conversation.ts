/** Opens sessions with contract servers, and records what is said in them. */
import { Effect, Stream } from "effect"
import * as Connector from "../../../../src/connection/Connector.js"
import * as Session from "../../../../src/connection/Session.js"
import type * as Protocol from "../../../../src/domain/catalog/Protocol.js"
import type * as ServerConfig from "../../../../src/domain/server/ServerConfig.js"
import { type Journal, makeJournal, type Told, toldIn } from "./journal.js"
import { type Subject } from "./subjects.js"
import { connect } from "../session.js"

/** A session and all that is said in it. */
export interface Conversation {
  readonly session: Session.Session
  /** What the server tells about itself. */
  readonly told: Journal<Told>
  readonly lines: Journal<Protocol.LogLine>
  readonly notifications: Journal<Session.Notification>
}

export const converse = (
  input: ServerConfig.Input,
  told: Journal<Told>,
  options: Omit<Connector.ConnectOptions, "server" | "config"> = {}
) =>
  Effect.gen(function* () {
    const lines = makeJournal<Protocol.LogLine>("the log")
    const notifications = makeJournal<Session.Notification>("the notifications")
    const onLog = (line: Protocol.LogLine) => {
      const entry = toldIn(line.text)
      if (entry !== undefined) told.add(entry)
    }
    const session = yield* connect(input, { ...options, onLog })
    yield* Effect.forkScoped(Stream.runForEach(session.logs, (line) => Effect.sync(() => lines.add(line))))
    yield* Effect.forkScoped(
      Stream.runForEach(session.notifications, (notification) => Effect.sync(() => notifications.add(notification)))
    )
    return { session, told, lines, notifications } satisfies Conversation
  })

export const makeTold = () => makeJournal<Told>("what the server told")

/** A session with a server that is started for it. */
export const meet = (
  start: Subject["start"],
  more: Readonly<Record<string, unknown>> = {},
  options?: Omit<Connector.ConnectOptions, "server" | "config">
) =>
  Effect.gen(function* () {
    const told = makeTold()
    const input = yield* start(told)
    return yield* converse({ ...input, ...more }, told, options)
  })
