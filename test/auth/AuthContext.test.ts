import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Exit, Fiber, FiberRef, HashMap, Option, Scope, Stream, TestClock } from "effect"
import type { Credential } from "../../src/auth/tokens/Credential.js"
import { type Key, makeMemory, type Service, StoreFailed } from "../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../src/auth/AuthContext.js"
import * as Logins from "../../src/auth/login/Logins.js"
import * as OAuthCredentials from "../../src/auth/OAuthCredentials.js"
import { loginTargetOf } from "../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const subjectAt = (server: string, url: string) => {
  const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode(server, { url })).config)
  return loginTargetOf(server, config as ServerConfig.Remote)!
}

const subject = subjectAt("it", "https://host.example/mcp")

const engineOver = (store: Service, onChange: (server: string, revoked: boolean) => void = () => {}) =>
  AuthContext.make({ store, clientInfo: { name: "test", version: "1" }, onEvent: () => {}, onChange })

/** What a fiber knows of whoever started it. */
const origin = Effect.gen(function* () {
  const span = yield* Effect.option(Effect.currentParentSpan)
  return { span: Option.isSome(span), annotations: HashMap.size(yield* FiberRef.get(FiberRef.currentLogAnnotations)) }
})

const fromNowhere = { span: false, annotations: 0 }

const inACall = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.withSpan("call"), Effect.annotateLogs("call", "this"))

describe("what all logins share", () => {
  it.scoped("waits at its end for what is under way, and then interrupts it", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const engine = yield* Scope.extend(engineOver(makeMemory()), scope)
      let kept = false
      const quick = engine.fork(
        Effect.delay(
          Effect.sync(() => void (kept = true)),
          "2 seconds"
        )
      )
      const stuck = engine.fork(Effect.never)
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

  it.scoped("does not wait for what cannot be interrupted", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const engine = yield* Scope.extend(engineOver(makeMemory()), scope)
      engine.fork(Effect.uninterruptible(Effect.never))
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(closing)
    })
  )

  it.scoped("ends also where it was begun by somebody who cannot be interrupted", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const store = { ...makeMemory(), changes: Stream.never }
      const engine = yield* Effect.uninterruptible(Scope.extend(engineOver(store), scope))
      yield* engine.watch
      engine.forkIn(scope)(Effect.never)
      const forked = engine.fork(Effect.never)
      const closing = yield* Effect.fork(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("3 seconds")
      assert.isTrue(Option.isSome(yield* Fiber.poll(closing)))
      assert.isTrue(Option.isSome(yield* Fiber.poll(forked)))
    })
  )

  it.scoped("starts nothing in a scope that is closed", () =>
    Effect.gen(function* () {
      const engine = yield* engineOver(makeMemory())
      const scope = yield* Scope.make()
      yield* Scope.close(scope, Exit.void)
      let isOver = false
      engine.forkIn(scope)(
        Effect.delay(
          Effect.sync(() => void (isOver = true)),
          "1 second"
        )
      )
      yield* TestClock.adjust("2 seconds")
      assert.isFalse(isOver)
    })
  )

  it.scoped("watches the store as nobody's child", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const changes = Stream.fromEffect(Effect.map(origin, (each) => void seen.push(each)))
      const engine = yield* engineOver({ ...makeMemory(), changes })
      yield* inACall(engine.watch)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, [fromNowhere])
    })
  )

  it.scoped("keeps tokens fresh as nobody's child", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const engine = yield* engineOver(makeMemory())
      const memory = engine.memoryOf(subject)
      const changed = Effect.zipRight(
        Effect.map(origin, (each) => void seen.push(each)),
        Effect.never
      )
      const memoryOf = () => ({ ...memory, changed })
      const credentials = yield* OAuthCredentials.make({ ...engine, memoryOf }, subject)
      yield* inACall(credentials.prepare)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, [fromNowhere])
    })
  )

  it.scoped("forgets a server that is removed", () =>
    Effect.gen(function* () {
      const engine = yield* engineOver(makeMemory())
      const logins = yield* Logins.make(engine, undefined)
      const before = engine.memoryOf(subject)
      const another = engine.memoryOf(subjectAt("another", "https://host.example/mcp"))
      yield* logins.abandon("it")
      assert.notStrictEqual(engine.memoryOf(subject), before)
      assert.strictEqual(engine.memoryOf(subjectAt("another", "https://host.example/mcp")), another)
    })
  )

  it.scoped("hides what it knew of a server that was removed meanwhile, and does not remember it again", () =>
    Effect.gen(function* () {
      const inner = yield* engineOver(makeMemory())
      let asked = 0
      const memoryOf = (key: Key) => {
        asked += 1
        return inner.memoryOf(key)
      }
      const scrub = AuthContext.scrubFor({ ...inner, memoryOf }, subject)
      const { server, serverUrl } = subject
      inner.memoryOf(subject).adopt({ server, serverUrl, tokens: { accessToken: "a-very-secret-token" } })
      inner.forget("it")
      assert.notInclude(scrub("refused: a-very-secret-token"), "a-very-secret-token")
      assert.strictEqual(asked, 1)
    })
  )

  it.scoped("looks at the store once for all servers", () =>
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
      const engine = yield* engineOver({ ...store, load, loadAll }, (server) => told.push(server))
      const subjects = ["a", "b", "c"].map((server) => subjectAt(server, "https://host.example/mcp"))
      for (const each of subjects) engine.memoryOf(each)
      yield* engine.watch
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(looks, [3])
      const { server, serverUrl } = subjects[1]!
      yield* store.save(subjects[1]!, Option.some({ server, serverUrl, tokens: { accessToken: "token" } }))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(looks, [3, 3])
      assert.deepStrictEqual(told, ["b"])
    })
  )

  it.scoped("goes on with the others where one cannot be looked at", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      const load = (key: Key): Effect.Effect<Option.Option<Credential>, StoreFailed> =>
        key.server === "a" ? Effect.fail(new StoreFailed({ detail: "no", isTemporary: true })) : store.load(key)
      const told: Array<string> = []
      const engine = yield* engineOver({ ...store, load }, (server) => told.push(server))
      const [a, b] = ["a", "b"].map((server) => subjectAt(server, "https://host.example/mcp"))
      const { server, serverUrl } = b!
      engine.memoryOf(a!).adopt({ ...a!, tokens: { accessToken: "kept" } })
      engine.memoryOf(b!)
      yield* store.save(b!, Option.some({ server, serverUrl, tokens: { accessToken: "token" } }))
      yield* engine.watch
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(told, ["b"])
      assert.strictEqual(engine.memoryOf(a!).credential()?.tokens?.accessToken, "kept")
    })
  )
})
