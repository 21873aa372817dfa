/** Connects to fake servers, and renders the journal of a fake connector. */
import { Effect, Either, Option, TestClock } from "effect"
import { type ConnectOptions } from "../../src/connection/Connector.js"
import * as Errors from "../../src/domain/Errors.js"
import type * as Protocol from "../../src/domain/catalog/Protocol.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { FakeConnector } from "../../src/testing/Testing.js"

export const configOf = (input: ServerConfig.Input = { command: "server" }) =>
  Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("a", input)).config)

export const closedError = new Errors.ConnectionClosed({ server: "a" })
export const networkError = new Errors.NetworkFailed({ server: "a", code: "ECONNREFUSED", permanent: false })

export const connectTo = (
  fake: FakeConnector.FakeConnector,
  options: Partial<ConnectOptions> & { readonly input?: ServerConfig.Input } = {}
) => fake.connector.connect({ server: "a", config: configOf(options.input), ...options })

/** A fake with one open server, its session, and the handle of the attempt. */
export const openServer = (server: FakeConnector.ServerOptions = {}, options: Partial<ConnectOptions> = {}) =>
  Effect.gen(function* () {
    const fake = yield* FakeConnector.make({ a: FakeConnector.open(server) })
    const session = yield* connectTo(fake, options)
    const attempt = yield* fake.controls.awaitAttempt("a")
    return { ...fake.controls, session, attempt, story: story(fake) }
  })

/** Lets every fiber run until it waits. */
export const settle = TestClock.adjust(0)

export const story = (fake: FakeConnector.FakeConnector) =>
  Effect.map(fake.controls.journal, (all) => all.map(FakeConnector.render))

export const textOf = (result: Protocol.CallToolResult) => result.content.map((block) => block.text).join()
