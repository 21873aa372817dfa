/**
 * The state of one attempt to connect, and later of its session. It receives the events of the wire and passes them on.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ConnectionClosed, type ConnectionError } from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import * as Secrets from "../../domain/Secrets.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import type { AttemptPhase } from "../../domain/server/ServerStatus.js"
import { isTooDeep } from "./results.js"
import * as Broadcast from "../../system/stream/Broadcast.js"
import * as Clocks from "./Clocks.js"
import type { ConnectOptions } from "../Connector.js"
import * as ProcessLog from "../stdio/ProcessLog.js"
import type { Notification } from "../Session.js"
import type { ErrorContext } from "../sdk/sdkClassify.js"
import * as SdkHandlers from "../sdk/sdkHandlers.js"
import { logLineOf, notificationKey, notificationOf } from "./notifications.js"
import { isRequest, type Message, type WireEvents } from "../wire/Wire.js"

/** The receiver of messages. It is replaced as the attempt advances. */
export interface Receiver {
  readonly message: WireEvents["message"]
  readonly awaits: WireEvents["awaits"]
  readonly closed: (reason: ConnectionError) => void
}

export interface WireListener extends WireEvents {
  /** Fails with the reason when the wire closes. */
  readonly died: Effect.Effect<never, ConnectionError>
  /** From now on, the end of this wire ends the session. */
  readonly adopt: Effect.Effect<void>
  /** Ignores all further events of this wire: another one replaces it. */
  readonly detach: () => void
}

export interface SessionState {
  readonly options: ConnectOptions
  readonly scrub: (text: string) => string
  readonly scrubBeginning: (text: string) => string
  readonly clocks: Clocks.Clocks
  readonly answering: SdkHandlers.Answering
  readonly closed: Deferred.Deferred<ConnectionError>
  readonly notifications: Broadcast.Broadcast<Notification>
  readonly updates: Broadcast.Broadcast<string>
  readonly logs: Broadcast.Broadcast<Protocol.LogLine>
  readonly processLog: ProcessLog.ProcessLog
  /** Adds a warning to the server's log. */
  readonly warn: (text: string) => void
  /** The current phase of the attempt; undefined once it has succeeded. */
  readonly phase: () => AttemptPhase | undefined
  readonly reached: (phase: AttemptPhase) => Effect.Effect<void>
  readonly succeeded: () => void
  readonly push: () => Protocol.Push
  readonly setPush: (push: Protocol.Push) => void
  /** Fails all requests that wait, before the wire is closed. */
  readonly leave: Effect.Effect<void>
  readonly receive: (receiver: Receiver) => void
  /** Creates the listener for one wire. An attempt may try several wires. */
  readonly events: () => WireListener
  readonly classify: () => ErrorContext
}

/** Runs a callback. If it throws, the process and the reading of further messages must go on. */
const guarded = (run: () => void) => {
  try {
    run()
  } catch {
    // Callbacks must not throw, as their documentation says.
  }
}

/** Removes the secrets of the config and the current credentials. */
const scrubbers = ({ config, credentials }: ConnectOptions) => {
  const fixed = ServerConfig.secrets(config)
  const of = (secrets: Secrets.Secrets) => ({
    secrets,
    scrub: Secrets.scrub(Secrets.union(fixed, secrets)),
    scrubBeginning: Secrets.scrubBeginning(Secrets.union(fixed, secrets))
  })
  let cached = of(Secrets.empty)
  const current = () => {
    const secrets = credentials?.secrets() ?? cached.secrets
    if (secrets !== cached.secrets) cached = of(secrets)
    return cached
  }
  return {
    scrub: (text: string) => current().scrub(text),
    scrubBeginning: (text: string) => current().scrubBeginning(text)
  }
}

/** The maximum number of characters of a method name in a message for people. */
const maxMethod = 100

/** The maximum number of items that wait for a slow reader. */
const maxWaiting = { notifications: 10_000, logs: 1000 }

export const make = (options: ConnectOptions): Effect.Effect<SessionState, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { config, server } = options
    const scrubbing = scrubbers(options)
    const { scrub, scrubBeginning } = scrubbing
    const clocks = Clocks.make(Clocks.nodeTimer)
    const answering = yield* SdkHandlers.make(options.handlers ?? {}, clocks)
    const closed = yield* Deferred.make<ConnectionError>()
    const capacity = maxWaiting.notifications
    const notifications = Broadcast.make<Notification>({ capacity, key: notificationKey, early: true })
    const updates = Broadcast.make<string>({ capacity, key: (uri) => uri, early: false })
    const logs = Broadcast.make<Protocol.LogLine>({ capacity: maxWaiting.logs, early: true })
    let phase: AttemptPhase | undefined = config._tag === "Local" ? "spawn" : "handshake"
    let reason: ConnectionError | undefined
    let finished = false
    let push: Protocol.Push = "none"
    let receiver: Receiver = { message: () => {}, awaits: () => false, closed: () => {} }

    const log = (line: Protocol.LogLine) => {
      logs.publish(line)
      guarded(() => options.onLog?.(line))
    }

    const warn = (text: string) => log({ at: Date.now(), source: "server", level: "warning", text })

    /** Marks the session as closed. Requests that were sent may still receive a response. */
    const markClosed = (why: ConnectionError) => {
      if (reason !== undefined) return
      reason = why
      notifications.end()
      updates.end()
      Deferred.unsafeDone(closed, Effect.succeed(why))
    }

    /** Ends the session: requests that still wait for a response fail. */
    const finish = (why: ConnectionError) => {
      if (finished) return
      finished = true
      receiver.closed(reason ?? why)
      markClosed(why)
    }

    const setPush = (value: Protocol.Push) => {
      if (value === push) return
      push = value
      notifications.publish({ _tag: "PushChanged", push })
    }

    const message: WireEvents["message"] = (message, text) => {
      if (message.method === undefined) return receiver.message(message, text)
      const line = logLineOf(message, scrubbing, Date.now())
      if (line !== undefined) log(line)
      if (isTooDeep(message.params)) return refuse(message, message.method)
      const notification = notificationOf(message)
      if (notification !== undefined) notifications.publish(notification)
      if (notification?._tag === "ResourceUpdated") updates.publish(notification.uri)
      receiver.message(message, text)
    }

    /**
     * Handles parameters that are nested too deeply. A notification is dropped. A request is passed on without its parameters,
     * so that the server receives a response.
     */
    const refuse = (message: Message, method: string) => {
      if (isRequest(message)) return receiver.message({ ...message, params: {} }, "")
      notifications.publish({ _tag: "Dropped", method: scrub(method).slice(0, maxMethod) })
    }

    const dropped: WireEvents["dropped"] = (envelopes, bytes) => {
      const [first] = envelopes
      const what = first?.method === undefined ? "an answer" : scrub(first.method).slice(0, maxMethod)
      warn(`a message of ${bytes} bytes was dropped, it is too long for what it is: ${what}`)
      for (const { id, method } of envelopes) {
        if (id !== undefined && method !== undefined) {
          receiver.message({ jsonrpc: "2.0", id, method, params: {} }, "")
        }
      }
    }

    const closedByUs = () => new ConnectionClosed({ server, detail: "it was closed by us" })
    // If the session is already closing, the wire may still receive responses.
    const leave = Effect.sync(() => reason === undefined && finish(closedByUs()))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        finish(closedByUs())
        logs.end()
      })
    )

    return {
      options,
      scrub,
      scrubBeginning,
      clocks,
      answering,
      closed,
      notifications,
      updates,
      logs,
      processLog: ProcessLog.make({ scrub, scrubBeginning, onLine: log }),
      setPush,
      warn,
      leave,
      phase: () => phase,
      reached: (next) =>
        Effect.suspend(() => {
          phase = next
          return options.onPhase?.(next) ?? Effect.void
        }),
      succeeded: () => {
        phase = undefined
      },
      push: () => push,
      receive: (next) => {
        receiver = next
      },
      events: () => {
        const died = Deferred.unsafeMake<never, ConnectionError>(FiberId.none)
        let listening = true
        let adopted = false
        const end = (why: ConnectionError) => {
          finish(why)
          logs.end()
        }
        const whenListening =
          <A>(tell: (value: A) => void) =>
          (value: A) => {
            if (listening) tell(value)
          }
        return {
          message: (each, text) => {
            if (listening) guarded(() => message(each, text))
          },
          awaits: (id) => listening && receiver.awaits(id),
          dropped: (envelopes, bytes) => {
            if (listening) guarded(() => dropped(envelopes, bytes))
          },
          push: whenListening(setPush),
          closing: whenListening((why: ConnectionError) => {
            if (adopted) markClosed(why)
          }),
          closed: whenListening((why: ConnectionError) => {
            Deferred.unsafeDone(died, Effect.fail(why))
            if (adopted) end(why)
          }),
          died: Deferred.await(died),
          adopt: Effect.suspend(() => {
            adopted = true
            // The wire may have closed just before.
            return Effect.flatMap(
              Deferred.poll(died),
              Option.match({ onNone: () => Effect.void, onSome: Effect.catchAll((why) => Effect.sync(() => end(why))) })
            )
          }),
          detach: () => {
            listening = false
          }
        }
      },
      classify: () => ({
        server,
        scrub,
        scrubBeginning,
        login: ServerConfig.allowsLogin(config),
        phase: phase ?? "handshake",
        timeout: config.timeout.connect,
        closed: reason
      })
    }
  })
