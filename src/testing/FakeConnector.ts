/**
 * A `Connector` without processes, sockets and timers. It uses Effect's clock, so `TestClock` controls its time.
 *
 * A script decides the result of each attempt to connect, or the test does so by hand; a journal records all events.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ConnectOptions, Connector } from "../connection/Connector.js"
import type * as Errors from "../domain/Errors.js"
import type * as Protocol from "../domain/catalog/Protocol.js"
import { makeAttempt, type RunningAttempt } from "./FakeConnector/attempt.js"
import { type Entry, makeJournal } from "./FakeConnector/journal.js"
import type { FakeLink, World } from "./FakeConnector/link.js"
import type { Attempt, Behaviour, Call, Script, ServerOptions } from "./FakeConnector/model.js"

export { type Entry, type Fact, render } from "./FakeConnector/journal.js"
export type * from "./FakeConnector/model.js"

/**
 * Opens after `latency`. Defaults to immediately.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const open = (
  options: ServerOptions & { readonly latency?: Duration.DurationInput | undefined } = {}
): Behaviour => {
  const { latency, ...server } = options
  return { _tag: "Open", after: latency ?? 0, server }
}

/**
 * Opens like {@link open}, and crashes after this time.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const openThenCrash = (
  after: Duration.DurationInput,
  error: Errors.ConnectionError,
  options: ServerOptions & { readonly latency?: Duration.DurationInput | undefined } = {}
): Behaviour => {
  const { latency, ...server } = options
  return { _tag: "Open", after: latency ?? 0, server, crash: { after, error } }
}

/**
 * Fails immediately.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const fail = (error: Errors.ConnectionError): Behaviour => failAfter(0, error)

/**
 * Fails after this time.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const failAfter = (after: Duration.DurationInput, error: Errors.ConnectionError): Behaviour => ({
  _tag: "Fail",
  after,
  error,
  server: {}
})

/**
 * Never opens: the attempt is interrupted, or fails with `ConnectTimeout` after the config's `timeout.connect`.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const hang: Behaviour = { _tag: "Wait", server: {} }

/**
 * Waits for the test to open or fail the attempt. The default for servers without a script.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const byHand: Behaviour = hang

/**
 * Changes a behaviour so that closing its scope takes this time, to test a shutdown with a server that hangs.
 *
 * @since 0.1.0
 * @category behaviours
 */
export const closing = (behaviour: Behaviour, closeTakes: Duration.DurationInput | "forever"): Behaviour => ({
  ...behaviour,
  server: { ...behaviour.server, closeTakes }
})

/**
 * A result with one text.
 *
 * @since 0.1.0
 * @category results
 */
export { text } from "./FakeConnector/session.js"

/**
 * A tool result that reports a failure of the tool.
 *
 * @since 0.1.0
 * @category results
 */
export const errorText = (text: string): Protocol.CallToolResult => ({
  content: [{ type: "text", text }],
  isError: true
})

/**
 * The functions with which a test observes and controls the fake.
 *
 * @since 0.1.0
 * @category tags
 */
export class Controls extends Context.Tag("mcp-supervisor/Testing/Controls")<
  Controls,
  {
    /** Replaces the script of a server for further attempts. The new script counts attempts from 1. */
    readonly script: (server: string, script: Script) => Effect.Effect<void>
    /** All attempts so far, oldest first. */
    readonly attempts: (server: string) => Effect.Effect<ReadonlyArray<Attempt>>
    /** The attempt with this number, or the newest that is opening or open. Waits until there is one. */
    readonly awaitAttempt: (server: string, number?: number) => Effect.Effect<Attempt>
    /** The oldest pending tool call that was not returned before, of this tool or of any. Waits until there is one. */
    readonly awaitCall: (server: string, tool?: string) => Effect.Effect<Call<Protocol.CallToolResult>>
    /** All entries of the journal, oldest first. */
    readonly journal: Effect.Effect<ReadonlyArray<Entry>>
    /** The first entry that matches, recorded or yet to come. */
    readonly awaitEntry: (matches: (entry: Entry) => boolean) => Effect.Effect<Entry>
    /** The number of opened sessions whose scope is not closed, of this server or of all. */
    readonly openSessions: (server?: string) => Effect.Effect<number>
    /** The number of attempts whose scope is not closed, whatever their result, of this server or of all. */
    readonly unclosed: (server?: string) => Effect.Effect<number>
  }
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface FakeConnector {
  readonly connector: Context.Tag.Service<Connector>
  readonly layer: Layer.Layer<Connector>
  readonly controls: Context.Tag.Service<Controls>
}

/**
 * Creates a fake. The test drives servers without a script by hand.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (scripts: Readonly<Record<string, Script>> = {}): Effect.Effect<FakeConnector> =>
  Effect.sync(() => {
    const journal = makeJournal()
    const world: World = { journal, pendingCalls: new Set(), unclosed: new Set(), lastCall: 0 }
    const scriptOf = new Map(Object.entries(scripts).map(([server, script]) => [server, { script, used: 0 }]))
    const numbers = new Map<string, number>()
    const attempts = new Map<string, ReadonlyArray<RunningAttempt>>()

    const next = (server: string): Behaviour => {
      const entry = scriptOf.get(server)
      if (entry === undefined) return byHand
      entry.used++
      const { script, used } = entry
      if (typeof script === "function") return script(used)
      if (!isList(script)) return script
      return script[Math.min(used, script.length) - 1] ?? byHand
    }

    const of = (server: string): ReadonlyArray<RunningAttempt> => attempts.get(server) ?? []

    const begin = (options: ConnectOptions) =>
      Effect.suspend(() => {
        const { server } = options
        const number = (numbers.get(server) ?? 0) + 1
        numbers.set(server, number)
        return Effect.tap(makeAttempt(world, options, number, next(server)), (running) =>
          journal.change((write) => {
            attempts.set(server, [...of(server), running])
            world.unclosed.add(running.link)
            write(server, number, { type: "opening" })
          })
        )
      })

    const connector = Connector.of({
      connect: (options) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.acquireRelease(begin(options), ({ release }) => release).pipe(
            Effect.flatMap(({ connect }) => restore(connect))
          )
        )
    })

    const count = (server: string | undefined, counts: (link: FakeLink) => boolean) =>
      Effect.sync(() => {
        let found = 0
        for (const link of world.unclosed) {
          if ((server === undefined || link.options.server === server) && counts(link)) found++
        }
        return found
      })

    const controls = Controls.of({
      script: (server, script) => Effect.sync(() => void scriptOf.set(server, { script, used: 0 })),
      attempts: (server) => Effect.sync(() => of(server).map(({ handle }) => handle)),
      awaitAttempt: (server, number) =>
        journal.until(
          () =>
            of(server).findLast(({ link }) => (number === undefined ? link.stage !== "over" : link.number === number))
              ?.handle
        ),
      awaitCall: (server, tool) =>
        journal.until(() => {
          for (const call of world.pendingCalls) {
            if (call.server !== server || (tool !== undefined && call.name !== tool)) continue
            world.pendingCalls.delete(call)
            return call
          }
          return undefined
        }),
      journal: journal.entries,
      awaitEntry: journal.untilEntry,
      openSessions: (server) => count(server, ({ opened }) => opened),
      unclosed: (server) => count(server, () => true)
    })

    return { connector, layer: Layer.succeed(Connector, connector), controls }
  })

const isList = (script: Behaviour | ReadonlyArray<Behaviour>): script is ReadonlyArray<Behaviour> =>
  Array.isArray(script)

/**
 * Provides a fake connector and its {@link Controls}.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (scripts: Readonly<Record<string, Script>> = {}): Layer.Layer<Connector | Controls> =>
  Layer.unwrapEffect(
    Effect.map(make(scripts), ({ controls, layer }) => Layer.merge(layer, Layer.succeed(Controls, controls)))
  )
