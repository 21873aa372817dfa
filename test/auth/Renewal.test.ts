import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Exit, Fiber, Option, Scope, TestClock } from "effect"
import { makeMemory } from "../../src/auth/CredentialStore/port.js"
import * as Engine from "../../src/auth/Engine.js"
import { keepFresh, renew } from "../../src/auth/Renewal.js"
import type { Granted } from "../../src/auth/sdkOAuth.js"
import { subjectOf } from "../../src/auth/Subject.js"
import * as ServerConfig from "../../src/domain/ServerConfig.js"

const url = "https://host.example/mcp"
const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", { url })).config) as ServerConfig.Remote
const subject = subjectOf("it", config)!

/** An engine that asks nobody but this one, and a login that it has kept. */
const engineWith = (refresh: () => Effect.Effect<Granted>, expiresAt: number) =>
  Effect.gen(function* () {
    const store = makeMemory()
    const options = { store, clientInfo: { name: "test", version: "1" }, onEvent: () => {}, onChange: () => {} }
    const oauth = Effect.succeed({ refresh } as never)
    const engine: Engine.Engine = { ...(yield* Engine.make(options)), oauth, fetchFor: () => Effect.void as never }
    const discovery = { issuer: "https://as.example", authorizationServerUrl: "https://as.example" }
    const record = {
      server: subject.server,
      serverUrl: subject.serverUrl,
      discovery,
      clientInfo: { clientId: "c", registered: true },
      tokens: { accessToken: "token-0", refreshToken: "refresh", expiresAt }
    }
    yield* store.save(subject, Option.some(record))
    engine.memoryOf(subject).adopt(record)
    return engine
  })

describe("tokens that hardly live", () => {
  it.scoped("are renewed ever more seldom, while nobody needs them", () =>
    Effect.gen(function* () {
      let asked = 0
      const refresh = () =>
        Effect.sync(() => ({ accessToken: `token-${++asked}`, refreshToken: "refresh", expiresIn: 1 }))
      const engine = yield* engineWith(refresh, 1000)
      yield* Effect.forkScoped(keepFresh(engine, subject))
      for (let second = 0; second < 60; second += 1) yield* TestClock.adjust("1 second")
      assert.isAtLeast(asked, 3)
      assert.isAtMost(asked, 8)
    })
  )
})

describe("a refresh that is under way at the end of everything", () => {
  const endingWith = (refresh: () => Effect.Effect<Granted>) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const engine = yield* Scope.extend(engineWith(refresh, 0), scope)
      const renewal = yield* Effect.fork(Effect.either(renew(engine, subject, "token-0")))
      yield* Effect.yieldNow()
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      return { engine, renewal, closing }
    })

  it.scoped("is given up when nobody answers in time", () =>
    Effect.gen(function* () {
      const { closing, engine, renewal } = yield* endingWith(() => Effect.never)
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
      const outcome = yield* Fiber.join(renewal)
      assert.include(Either.isLeft(outcome) ? outcome.left.message : "", "the supervisor was closed")
      // what there was is as good as before
      assert.strictEqual(Option.getOrThrow(yield* engine.store.load(subject)).tokens?.accessToken, "token-0")
    })
  )

  it.scoped("is kept when the answer comes in time", () =>
    Effect.gen(function* () {
      const granted = { accessToken: "token-1", refreshToken: "next" }
      const { closing, engine, renewal } = yield* endingWith(() => Effect.delay(Effect.succeed(granted), "2 seconds"))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(closing)
      assert.isTrue(Either.isRight(yield* Fiber.join(renewal)))
      assert.strictEqual(Option.getOrThrow(yield* engine.store.load(subject)).tokens?.accessToken, "token-1")
    })
  )
})
