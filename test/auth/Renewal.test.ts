import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, Exit, Fiber, Option, Scope, Stream, TestClock } from "effect"
import { type Key, makeMemory, type Service, StoreFailed } from "../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../src/auth/AuthContext.js"
import { keepFresh } from "../../src/auth/tokens/keepFresh.js"
import { renew } from "../../src/auth/tokens/Renewal.js"
import type { Granted } from "../../src/auth/oauth/sdkOAuth.js"
import { loginTargetOf } from "../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const url = "https://host.example/mcp"
const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", { url })).config) as ServerConfig.Remote
const target = loginTargetOf("it", config)!

/** A context with this refresh, and a stored login. */
const contextWith = (refresh: () => Effect.Effect<Granted>, expiresAt: number, store: Service = makeMemory()) =>
  Effect.gen(function* () {
    const options = { store, clientInfo: { name: "test", version: "1" }, onEvent: () => {}, onChange: () => {} }
    const oauth = Effect.succeed({ refresh } as never)
    const context: AuthContext.AuthContext = {
      ...(yield* AuthContext.make(options)),
      oauth,
      fetchFor: () => Effect.void as never
    }
    const discovery = { issuer: "https://as.example", authorizationServerUrl: "https://as.example" }
    const record = {
      server: target.server,
      serverUrl: target.serverUrl,
      discovery,
      clientInfo: { clientId: "c", registered: true },
      tokens: { accessToken: "token-0", refreshToken: "refresh", expiresAt }
    }
    yield* store.save(target, Option.some(record))
    context.loginState(target).adopt(record)
    return context
  })

describe("tokens with a short lifetime", () => {
  it.scoped("are renewed less and less often while the server is not used", () =>
    Effect.gen(function* () {
      let asked = 0
      const refresh = () =>
        Effect.sync(() => ({ accessToken: `token-${++asked}`, refreshToken: "refresh", expiresIn: 1 }))
      const context = yield* contextWith(refresh, 1000)
      yield* Effect.forkScoped(keepFresh(context, target))
      for (let second = 0; second < 60; second += 1) yield* TestClock.adjust("1 second")
      assert.isAtLeast(asked, 3)
      assert.isAtMost(asked, 8)
    })
  )
})

describe("a refresh in progress at shutdown", () => {
  const endingWith = (refresh: () => Effect.Effect<Granted>) =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(contextWith(refresh, 0), scope)
      const renewal = yield* Effect.fork(Effect.either(renew(context, target, "token-0")))
      yield* Effect.yieldNow()
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      return { context, renewal, closing }
    })

  it.scoped("is interrupted at its time limit", () =>
    Effect.gen(function* () {
      const { closing, context, renewal } = yield* endingWith(() => Effect.never)
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
      const outcome = yield* Fiber.join(renewal)
      assert.include(Either.isLeft(outcome) ? outcome.left.message : "", "the supervisor was closed")
      // The old tokens are unchanged.
      assert.strictEqual(Option.getOrThrow(yield* context.store.load(target)).tokens?.accessToken, "token-0")
    })
  )

  it.scoped("saves the tokens if the response arrives in time", () =>
    Effect.gen(function* () {
      const granted = { accessToken: "token-1", refreshToken: "next" }
      const { closing, context, renewal } = yield* endingWith(() => Effect.delay(Effect.succeed(granted), "2 seconds"))
      yield* TestClock.adjust("2 seconds")
      yield* Fiber.join(closing)
      assert.isTrue(Either.isRight(yield* Fiber.join(renewal)))
      assert.strictEqual(Option.getOrThrow(yield* context.store.load(target)).tokens?.accessToken, "token-1")
    })
  )
})

describe("renewed tokens", () => {
  const granted = { accessToken: "token-1", refreshToken: "next" }
  const settle = Effect.asVoid(Effect.repeatN(TestClock.adjust(0), 3))
  const tokenIn = (store: Service) =>
    Effect.map(store.load(target), (found) => Option.getOrUndefined(found)?.tokens?.accessToken)

  /** A store whose writes can fail or hang. */
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

  it.scoped("are saved at shutdown if they could not be saved before", () =>
    Effect.gen(function* () {
      const { become, store } = brittle()
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(
        contextWith(() => Effect.succeed(granted), 0, store),
        scope
      )
      become(full)
      yield* renew(context, target, "token-0")
      assert.strictEqual(yield* tokenIn(store), "token-0")
      become(Effect.void)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* tokenIn(store), "token-1")
    })
  )

  it.scoped("delay the shutdown for a limited time", () =>
    Effect.gen(function* () {
      const { become, store } = brittle()
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(
        contextWith(() => Effect.succeed(granted), 0, store),
        scope
      )
      become(full)
      yield* renew(context, target, "token-0")
      become(Effect.never)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
    })
  )

  it.scoped("are not replaced by a concurrent read of the store", () =>
    Effect.gen(function* () {
      const { become, store } = brittle()
      const gate = yield* Deferred.make<void>()
      const context = yield* contextWith(() => Effect.succeed(granted), 0, store)
      const loginState = context.loginState(target)
      yield* context.watch
      yield* settle
      become(Deferred.await(gate))
      const renewal = yield* Effect.fork(renew(context, target, "token-0"))
      yield* settle
      assert.strictEqual(loginState.credential()?.tokens?.accessToken, "token-1")
      // The login of another server changes.
      become(Effect.void)
      yield* store.save({ server: "another", serverUrl: url }, Option.none())
      yield* settle
      const meanwhile = loginState.credential()?.tokens?.accessToken
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(renewal)
      assert.strictEqual(meanwhile, "token-1")
      assert.isUndefined(loginState.unsaved)
    })
  )

  it.scoped("are not replaced by a read of the store that started before", () =>
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
      const context = yield* contextWith(() => Effect.succeed(granted), 0, store)
      yield* context.watch
      yield* settle
      yield* renew(context, target, "token-0")
      isSlow = false
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.strictEqual(context.loginState(target).credential()?.tokens?.accessToken, "token-1")
    })
  )
})
