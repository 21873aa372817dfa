import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, Exit, Fiber, FiberId, FiberRef, HashMap, Option, Scope, TestClock } from "effect"
import { makeMemory } from "../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../src/auth/AuthContext.js"
import * as Logins from "../../src/auth/login/Logins.js"
import { loginTargetOf } from "../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const target = (() => {
  // Not on this machine: callbacks arrive by `finish`.
  const oauth = { clientId: "c", redirectUri: "https://app.example/callback" }
  const { config } = Either.getOrThrow(ServerConfig.decode("it", { url: "https://host.example/mcp", oauth }))
  return loginTargetOf("it", Option.getOrThrow(config) as ServerConfig.Remote)!
})()

interface Setup {
  /** Runs before the authorization server is known. */
  readonly discovery?: Effect.Effect<void> | undefined
  readonly onEvent?: ((what: AuthContext.AuthEventKind) => void) | undefined
  readonly openUrl?: ((url: string) => Effect.Effect<void>) | undefined
}

/** Logins at an authorization server that issues a token for every code. */
const world = ({ discovery = Effect.void, onEvent = () => {}, openUrl = () => Effect.void }: Setup = {}) =>
  Effect.gen(function* () {
    const store = makeMemory()
    const events: Array<AuthContext.AuthEventKind> = []
    const options: AuthContext.Options = {
      store,
      clientInfo: { name: "test", version: "1" },
      onEvent: (_, what) => {
        events.push(what)
        onEvent(what)
      },
      onChange: () => {}
    }
    const issuer = "https://as.example"
    const oauth = {
      requestChallenge: () => Effect.succeed({}),
      discover: () => Effect.as(discovery, { issuer, authorizationServerUrl: issuer }),
      begin: (_: unknown, { state }: { readonly state: string }) =>
        Effect.succeed({ authorizationUrl: `${issuer}/?state=${state}`, codeVerifier: "v" }),
      register: () => Effect.never,
      supportsMetadataUrl: () => false,
      supportsRegistration: () => true,
      checkLogin: () => Effect.void,
      checkIssuer: () => Effect.void,
      exchange: () => Effect.succeed({ accessToken: "token" })
    }
    const own = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(own, Exit.void))
    const context: AuthContext.AuthContext = {
      ...(yield* Scope.extend(AuthContext.make(options), own)),
      oauth: Effect.succeed(oauth as never),
      fetchFor: () => Effect.void as never
    }
    const logins = yield* Scope.extend(Logins.make(context, openUrl), own)
    return { close: Scope.close(own, Exit.void), context, events, logins, store }
  })

const settle = Effect.asVoid(Effect.repeatN(TestClock.adjust(0), 3))

/** Why a fiber has failed, if it has ended. */
const reasonOf = <A>(fiber: Fiber.RuntimeFiber<A, { readonly reason: string }>) =>
  Effect.map(Fiber.poll(fiber), (over) => {
    if (Option.isNone(over)) return "running"
    return Exit.match(over.value, {
      onSuccess: () => "success",
      onFailure: (cause) => (cause._tag === "Fail" ? cause.error.reason : cause._tag)
    })
  })

describe("a login", () => {
  it.scoped("fails at shutdown while it starts", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { close, events, logins } = yield* world({ discovery: Deferred.await(gate) })
      const login = yield* Effect.fork(logins.login(target))
      yield* settle
      yield* close
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.strictEqual(yield* reasonOf(login), "closed")
      assert.deepStrictEqual(events, ["login_failed"])
    })
  )

  it.scoped("fails at once after shutdown", () =>
    Effect.gen(function* () {
      const { close, logins } = yield* world({ discovery: Effect.never })
      yield* close
      const login = yield* Effect.fork(logins.login(target))
      const start = yield* Effect.fork(logins.start(target))
      yield* settle
      assert.strictEqual(yield* reasonOf(login), "closed")
      assert.strictEqual(yield* reasonOf(start), "closed")
    })
  )

  it.scoped("ends if its only caller is interrupted while it starts", () =>
    Effect.gen(function* () {
      const opened: Array<string> = []
      const interrupted = yield* Deferred.make<void>()
      let waiting: Fiber.RuntimeFiber<unknown, unknown> | undefined
      const { logins, store } = yield* world({
        onEvent: () => {
          waiting?.unsafeInterruptAsFork(FiberId.none)
          waiting = undefined
          Deferred.unsafeDone(interrupted, Effect.void)
        },
        openUrl: (url) => Effect.sync(() => void opened.push(url))
      })
      waiting = yield* Effect.fork(logins.login(target))
      const first = waiting
      yield* Deferred.await(interrupted)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(first)))
      yield* settle
      assert.deepStrictEqual(opened, [])
      const before = Option.getOrThrow(yield* store.load(target)).login?.oauthState
      assert.isDefined(before)
      assert.notStrictEqual((yield* logins.start(target)).state, before)
    })
  )

  it.scoped("can be interrupted while another one starts", () =>
    Effect.gen(function* () {
      const { logins } = yield* world({ discovery: Effect.never })
      const first = yield* Effect.fork(logins.login(target))
      yield* settle
      const second = yield* Effect.fork(logins.login(target))
      yield* settle
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(second)))
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(first)))
    })
  )

  it.scoped("without a callback ends although the store is locked", () =>
    Effect.gen(function* () {
      const { events, logins, store } = yield* world()
      const login = yield* Effect.fork(logins.login(target))
      yield* settle
      const busy = yield* Effect.fork(store.exclusively(target)(Effect.never))
      yield* TestClock.adjust("5 minutes")
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(yield* reasonOf(login), "timeout")
      assert.deepStrictEqual(events, ["login_started", "login_failed"])
      yield* Fiber.interrupt(busy)
    })
  )

  it.scoped("with a callback at the last moment succeeds", () =>
    Effect.gen(function* () {
      const { events, logins, store } = yield* world()
      const login = yield* Effect.fork(logins.login(target))
      yield* settle
      const { state } = yield* logins.start(target)
      const busy = yield* Effect.fork(store.exclusively(target)(Effect.never))
      yield* TestClock.adjust("5 minutes")
      const finish = yield* Effect.fork(logins.finish(target, `?code=c&state=${state}`))
      yield* settle
      yield* Fiber.interrupt(busy)
      yield* settle
      assert.strictEqual(yield* reasonOf(finish), "success")
      assert.strictEqual(yield* reasonOf(login), "success")
      assert.deepStrictEqual(events, ["login_started", "login_finished"])
    })
  )

  it.scoped("opens its page without the span of its caller", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const openUrl = () =>
        Effect.gen(function* () {
          const span = yield* Effect.option(Effect.currentParentSpan)
          const annotations = yield* FiberRef.get(FiberRef.currentLogAnnotations)
          seen.push({ span: Option.isSome(span), annotations: HashMap.size(annotations) })
        })
      const { logins } = yield* world({ openUrl })
      const call = logins.login(target).pipe(Effect.withSpan("call"), Effect.annotateLogs("call", "this"))
      yield* Effect.fork(call)
      yield* settle
      assert.deepStrictEqual(seen, [{ span: false, annotations: 0 }])
    })
  )
})
