import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, Exit, Fiber, Option, Scope, Stream, TestClock } from "effect"
import { type Key, makeMemory, type Service, StoreFailed } from "../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../src/auth/AuthContext.js"
import { keepFresh, renew } from "../../src/auth/tokens/Renewal.js"
import type { Granted } from "../../src/auth/oauth/sdkOAuth.js"
import { loginTargetOf } from "../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const url = "https://host.example/mcp"
const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", { url })).config) as ServerConfig.Remote
const subject = loginTargetOf("it", config)!

/** An engine that asks nobody but this one, and a login that it has kept. */
const engineWith = (refresh: () => Effect.Effect<Granted>, expiresAt: number, store: Service = makeMemory()) =>
  Effect.gen(function* () {
    const options = { store, clientInfo: { name: "test", version: "1" }, onEvent: () => {}, onChange: () => {} }
    const oauth = Effect.succeed({ refresh } as never)
    const engine: AuthContext.AuthContext = {
      ...(yield* AuthContext.make(options)),
      oauth,
      fetchFor: () => Effect.void as never
    }
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

describe("tokens that are being written", () => {
  const granted = { accessToken: "token-1", refreshToken: "next" }
  const settle = Effect.asVoid(Effect.repeatN(TestClock.adjust(0), 3))
  const tokenIn = (store: Service) =>
    Effect.map(store.load(subject), (found) => Option.getOrUndefined(found)?.tokens?.accessToken)

  /** A store that can be kept from writing. */
  const brittle = () => {
    const store = makeMemory()
    let writing: Effect.Effect<void, StoreFailed> = Effect.void
    const save: Service["save"] = (key, credential) =>
      Effect.zipRight(
        Effect.suspend(() => writing),
        store.save(key, credential)
      )
    return { store: { ...store, save }, become: (next: typeof writing) => void (writing = next) }
  }
  const full = Effect.fail(new StoreFailed({ detail: "the disk is full", isTemporary: true }))

  it.scoped("are written at the end of everything, if they could not be before", () =>
    Effect.gen(function* () {
      const { become, store } = brittle()
      const scope = yield* Scope.make()
      const engine = yield* Scope.extend(
        engineWith(() => Effect.succeed(granted), 0, store),
        scope
      )
      become(full)
      yield* renew(engine, subject, "token-0")
      assert.strictEqual(yield* tokenIn(store), "token-0")
      become(Effect.void)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* tokenIn(store), "token-1")
    })
  )

  it.scoped("do not keep the end waiting for long", () =>
    Effect.gen(function* () {
      const { become, store } = brittle()
      const scope = yield* Scope.make()
      const engine = yield* Scope.extend(
        engineWith(() => Effect.succeed(granted), 0, store),
        scope
      )
      become(full)
      yield* renew(engine, subject, "token-0")
      become(Effect.never)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
    })
  )

  it.scoped("are not taken back by a look at the store meanwhile", () =>
    Effect.gen(function* () {
      const { become, store } = brittle()
      const gate = yield* Deferred.make<void>()
      const engine = yield* engineWith(() => Effect.succeed(granted), 0, store)
      const memory = engine.memoryOf(subject)
      yield* engine.watch
      yield* settle
      become(Deferred.await(gate))
      const renewal = yield* Effect.fork(renew(engine, subject, "token-0"))
      yield* settle
      assert.strictEqual(memory.credential()?.tokens?.accessToken, "token-1")
      // another server's login was changed
      become(Effect.void)
      yield* store.save({ server: "another", serverUrl: url }, Option.none())
      yield* settle
      const meanwhile = memory.credential()?.tokens?.accessToken
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(renewal)
      assert.strictEqual(meanwhile, "token-1")
      assert.isUndefined(memory.unsaved)
    })
  )

  it.scoped("are not taken back by a look that began before", () =>
    Effect.gen(function* () {
      const inner = makeMemory()
      const gate = yield* Deferred.make<void>()
      let isSlow = true
      const loadAll = (keys: ReadonlyArray<Key>) =>
        Effect.gen(function* () {
          const found = yield* Effect.forEach(keys, inner.load)
          if (isSlow) yield* Deferred.await(gate)
          return found
        })
      const store: Service = { ...inner, loadAll, changes: Stream.concat(Stream.void, Stream.never) }
      const engine = yield* engineWith(() => Effect.succeed(granted), 0, store)
      yield* engine.watch
      yield* settle
      yield* renew(engine, subject, "token-0")
      isSlow = false
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.strictEqual(engine.memoryOf(subject).credential()?.tokens?.accessToken, "token-1")
    })
  )
})
