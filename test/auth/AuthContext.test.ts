import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Exit, Fiber, FiberRef, HashMap, Option, Scope, Stream, TestClock } from "effect"
import type { Credential } from "../../src/auth/tokens/Credential.js"
import { type Key, makeMemory, type Service, StoreFailed } from "../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../src/auth/AuthContext.js"
import * as Logins from "../../src/auth/login/Logins.js"
import * as OAuthCredentials from "../../src/auth/OAuthCredentials.js"
import { loginTargetOf } from "../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const targetAt = (server: string, url: string) => {
  const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode(server, { url })).config)
  return loginTargetOf(server, config as ServerConfig.Remote)!
}

const target = targetAt("it", "https://host.example/mcp")

const contextOver = (store: Service, onChange: (server: string, revoked: boolean) => void = () => {}) =>
  AuthContext.make({ store, clientInfo: { name: "test", version: "1" }, onEvent: () => {}, onChange })

/** What a fiber has inherited from its caller. */
const origin = Effect.gen(function* () {
  const span = yield* Effect.option(Effect.currentParentSpan)
  return { span: Option.isSome(span), annotations: HashMap.size(yield* FiberRef.get(FiberRef.currentLogAnnotations)) }
})

const fromNowhere = { span: false, annotations: 0 }

const inACall = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.withSpan("call"), Effect.annotateLogs("call", "this"))

describe("the auth context", () => {
  it.scoped("waits for requests in progress at shutdown, and then interrupts them", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(contextOver(makeMemory()), scope)
      let kept = false
      const quick = context.fork(
        Effect.delay(
          Effect.sync(() => void (kept = true)),
          "2 seconds"
        )
      )
      const stuck = context.fork(Effect.never)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("2900 millis")
      assert.isTrue(kept)
      assert.isTrue(Option.isSome(yield* Fiber.poll(quick)))
      assert.isTrue(Option.isNone(yield* Fiber.poll(stuck)))
      yield* TestClock.adjust("100 millis")
      yield* Fiber.join(closing)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(stuck)))
    })
  )

  it.scoped("does not wait for requests that cannot be interrupted", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(contextOver(makeMemory()), scope)
      context.fork(Effect.uninterruptible(Effect.never))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(closing)
    })
  )

  it.scoped("shuts down if it was created in an uninterruptible region", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const store = { ...makeMemory(), changes: Stream.never }
      const context = yield* Effect.uninterruptible(Scope.extend(contextOver(store), scope))
      yield* context.watch
      context.forkIn(scope)(Effect.never)
      const forked = context.fork(Effect.never)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
      assert.isTrue(Option.isSome(yield* Fiber.poll(forked)))
    })
  )

  it.scoped("starts nothing in a closed scope", () =>
    Effect.gen(function* () {
      const context = yield* contextOver(makeMemory())
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      let isOver = false
      context.forkIn(scope)(
        Effect.delay(
          Effect.sync(() => void (isOver = true)),
          "1 second"
        )
      )
      yield* TestClock.adjust("2 seconds")
      assert.isFalse(isOver)
    })
  )

  it.scoped("watches the store without the span of its caller", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const changes = Stream.fromEffect(Effect.map(origin, (each) => void seen.push(each)))
      const context = yield* contextOver({ ...makeMemory(), changes })
      yield* inACall(context.watch)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, [fromNowhere])
    })
  )

  it.scoped("renews tokens without the span of its caller", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const context = yield* contextOver(makeMemory())
      const state = context.loginState(target)
      const tokenChanged = Effect.zipRight(
        Effect.map(origin, (each) => void seen.push(each)),
        Effect.never
      )
      const loginState = () => ({ ...state, tokenChanged })
      const credentials = yield* OAuthCredentials.make({ ...context, loginState }, target)
      yield* inACall(credentials.prepare)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, [fromNowhere])
    })
  )

  it.scoped("forgets a removed server", () =>
    Effect.gen(function* () {
      const context = yield* contextOver(makeMemory())
      const logins = yield* Logins.make(context, undefined)
      const before = context.loginState(target)
      const another = context.loginState(targetAt("another", "https://host.example/mcp"))
      yield* logins.abandon("it")
      assert.notStrictEqual(context.loginState(target), before)
      assert.strictEqual(context.loginState(targetAt("another", "https://host.example/mcp")), another)
    })
  )

  it.scoped("hides the secrets of a server that was removed in the meantime, without creating a state for it", () =>
    Effect.gen(function* () {
      const inner = yield* contextOver(makeMemory())
      let asked = 0
      const loginState = (key: Key) => {
        asked += 1
        return inner.loginState(key)
      }
      const scrub = AuthContext.scrubFor({ ...inner, loginState }, target)
      const { server, serverUrl } = target
      inner.loginState(target).adopt({ server, serverUrl, tokens: { accessToken: "a-very-secret-token" } })
      inner.forget("it")
      assert.notInclude(scrub("refused: a-very-secret-token"), "a-very-secret-token")
      assert.strictEqual(asked, 1)
    })
  )

  it.scoped("reads the store once for all servers", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      const looks: Array<number> = []
      const load = (key: Key) =>
        Effect.zipRight(
          Effect.sync(() => looks.push(1)),
          store.load(key)
        )
      const loadAll = (keys: ReadonlyArray<Key>) =>
        Effect.zipRight(
          Effect.sync(() => looks.push(keys.length)),
          Effect.forEach(keys, store.load)
        )
      const told: Array<string> = []
      const context = yield* contextOver({ ...store, load, loadAll }, (server) => told.push(server))
      const targets = ["a", "b", "c"].map((server) => targetAt(server, "https://host.example/mcp"))
      for (const each of targets) context.loginState(each)
      yield* context.watch
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(looks, [3])
      const { server, serverUrl } = targets[1]!
      yield* store.save(targets[1]!, Option.some({ server, serverUrl, tokens: { accessToken: "token" } }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(looks, [3, 3])
      assert.deepStrictEqual(told, ["b"])
    })
  )

  it.scoped("reads the other logins if one cannot be read", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      const load = (key: Key): Effect.Effect<Option.Option<Credential>, StoreFailed> =>
        key.server === "a" ? Effect.fail(new StoreFailed({ detail: "no", isTemporary: true })) : store.load(key)
      const told: Array<string> = []
      const context = yield* contextOver({ ...store, load }, (server) => told.push(server))
      const [a, b] = ["a", "b"].map((server) => targetAt(server, "https://host.example/mcp"))
      const { server, serverUrl } = b!
      context.loginState(a!).adopt({ ...a!, tokens: { accessToken: "kept" } })
      context.loginState(b!)
      yield* store.save(b!, Option.some({ server, serverUrl, tokens: { accessToken: "token" } }))
      yield* context.watch
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, ["b"])
      assert.strictEqual(context.loginState(a!).credential()?.tokens?.accessToken, "kept")
    })
  )
})
