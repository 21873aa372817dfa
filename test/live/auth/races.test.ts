import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Either, Exit, Fiber, Option, Scope, Stream } from "effect"
import type { Credential } from "../../../src/auth/tokens/Credential.js"
import { type Key, makeMemory, StoreFailed } from "../../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../../src/auth/AuthContext.js"
import * as Logins from "../../../src/auth/login/Logins.js"
import * as OAuthCredentials from "../../../src/auth/OAuthCredentials.js"
import * as Renewal from "../../../src/auth/tokens/Renewal.js"
import { loginTargetOf } from "../../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { authServer, type Person, person, protectedServer } from "../support/authServer.js"
import { entryFor, kept, superviseBoth } from "../support/loggedIn.js"
import { eventually } from "../support/session.js"
import { awaitStatus, eventsUntil, live, temporaryDirectory } from "../support/supervised.js"

/** A server that wants a login, and as many supervisors as are asked for, over one store. */
const world = (switches: Parameters<typeof authServer>[0] = {}) =>
  Effect.gen(function* () {
    const as = yield* authServer(switches)
    const rs = yield* protectedServer(as)
    const stateDir = yield* temporaryDirectory
    const entry = yield* entryFor(rs.url)
    const somebody = person()
    const supervise = (openUrl = somebody.openUrl) =>
      Effect.tap(superviseBoth({ servers: { it: entry }, openUrl, stateDir }), ({ supervisor }) =>
        awaitStatus(supervisor, "it", "needs_auth")
      )
    return { as, rs, entry, somebody, stateDir, supervise }
  })

const leadsTo = (url: string) =>
  Effect.promise(() => fetch(url, { redirect: "manual" }).then((answer) => answer.headers.get("location") ?? ""))

const codes = (as: { readonly asked: (path: string) => ReadonlyArray<URLSearchParams> }) =>
  as.asked("/token").filter((params) => params.get("grant_type") === "authorization_code").length

const reasonOf = (error: { readonly _tag: string; readonly reason?: string }) => error.reason ?? error._tag

describe.concurrent("a login that somebody interferes with", () => {
  live(
    "pain 34: a logout while the code is being exchanged leaves nobody logged in",
    Effect.gen(function* () {
      const { as, rs, stateDir, supervise } = yield* world()
      const { auth, supervisor } = yield* supervise()
      as.switches.fault = (grant) => (grant === "authorization_code" ? "late" : undefined)
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      yield* eventually(() => codes(as) === 1)
      yield* auth.logout("it")
      assert.strictEqual(reasonOf(yield* Fiber.join(login)), "logged_out")
      // the exchange has come to its end by then: nobody else had his turn
      assert.strictEqual(as.given("authorization_code"), 1)
      assert.deepStrictEqual(kept(stateDir), [])
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual((yield* supervisor.restart("it")).status, "needs_auth")
      assert.deepStrictEqual(kept(stateDir), [])
      yield* supervisor.remove("it")
      const events = yield* eventsUntil(supervisor, ({ type }) => type === "ServerRemoved")
      assert.deepStrictEqual(
        events.flatMap((event) => (event.type === "Auth" ? [event.what] : [])),
        ["login_started", "login_failed", "logged_out"]
      )
      assert.notInclude(
        events.flatMap((event) => (event.type === "StatusChanged" ? [event.to.status] : [])),
        "connected"
      )
      assert.deepStrictEqual(rs.tokens(), [])
    })
  )

  live(
    "ends with the supervisor",
    Effect.gen(function* () {
      const { somebody, supervise } = yield* world({ person: "waits" })
      const scope = yield* Scope.make()
      const { auth } = yield* Scope.extend(supervise(), scope)
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      yield* eventually(() => somebody.seen.length === 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* Fiber.join(login)), "closed")
    })
  )

  live(
    "ends when its server is removed",
    Effect.gen(function* () {
      const { somebody, supervise } = yield* world({ person: "waits" })
      const { auth, supervisor } = yield* supervise()
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      yield* eventually(() => somebody.seen.length === 1)
      yield* supervisor.remove("it")
      assert.strictEqual(reasonOf(yield* Fiber.join(login)), "removed")
    })
  )

  live(
    "pain 40: the same answer is exchanged once, however many bring it",
    Effect.gen(function* () {
      const { as, supervise } = yield* world()
      const first = yield* supervise()
      const second = yield* supervise()
      const { authorizationUrl } = yield* first.auth.startLogin("it")
      const ending = yield* leadsTo(authorizationUrl)
      const outcomes = yield* Effect.all(
        [second, second, second, first].map(({ auth }) => Effect.either(auth.finishLogin("it", ending))),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(codes(as), 1)
      assert.isTrue(outcomes.some(Either.isRight))
      for (const each of outcomes) if (Either.isLeft(each)) assert.strictEqual(reasonOf(each.left), "state_mismatch")
      yield* awaitStatus(first.supervisor, "it", "connected")
      yield* awaitStatus(second.supervisor, "it", "connected")
    })
  )

  live(
    "pain 40: is finished although whoever brought the answer is gone",
    Effect.gen(function* () {
      const { as, supervise } = yield* world()
      const first = yield* supervise()
      const second = yield* supervise()
      as.switches.fault = (grant) => (grant === "authorization_code" ? "late" : undefined)
      for (const [round, { auth, supervisor }] of [first, second].entries()) {
        const { authorizationUrl } = yield* first.auth.startLogin("it")
        const bringing = yield* Effect.fork(auth.finishLogin("it", yield* leadsTo(authorizationUrl)))
        yield* eventually(() => codes(as) === round + 1)
        yield* Fiber.interrupt(bringing)
        yield* awaitStatus(supervisor, "it", "connected")
        yield* first.auth.logout("it")
        yield* awaitStatus(supervisor, "it", "needs_auth")
      }
    })
  )

  live(
    "pain 40: that another process finished is finished here, too",
    Effect.gen(function* () {
      const { as, somebody, supervise } = yield* world({ person: "waits" })
      const first = yield* supervise()
      const second = yield* supervise()
      const login = yield* Effect.fork(first.auth.login("it"))
      yield* eventually(() => somebody.seen.length === 1)
      as.switches.person = "agrees"
      const ending = yield* leadsTo(somebody.opened[0]!)
      assert.strictEqual((yield* second.auth.finishLogin("it", ending)).status, "connected")
      assert.strictEqual((yield* Fiber.join(login)).status, "connected")
      assert.strictEqual(codes(as), 1)
    })
  )

  live(
    "pain 34: one that fails does not take away the one that another process has begun",
    Effect.gen(function* () {
      const { stateDir, supervise } = yield* world()
      const first = yield* supervise()
      const second = yield* supervise()
      const mine = yield* first.auth.startLogin("it")
      const other = yield* second.auth.startLogin("it")
      const refused = new URLSearchParams({ error: "access_denied", state: mine.state })
      assert.strictEqual(reasonOf(yield* Effect.flip(first.auth.finishLogin("it", refused))), "access_denied")
      assert.strictEqual(kept(stateDir)[0]?.login?.oauthState, other.state)
      const ending = yield* leadsTo(other.authorizationUrl)
      assert.strictEqual((yield* first.auth.finishLogin("it", ending)).status, "connected")
    })
  )

  live(
    "pain 35: begun without a page gets one when somebody asks for it",
    Effect.gen(function* () {
      const { somebody, supervise } = yield* world()
      const { auth } = yield* supervise()
      const { authorizationUrl } = yield* auth.startLogin("it")
      assert.deepStrictEqual(somebody.opened, [])
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.deepStrictEqual(somebody.opened, [authorizationUrl])
    })
  )

  live(
    "goes on for the second who waits when the first is gone",
    Effect.gen(function* () {
      const { as, somebody, supervise } = yield* world({ person: "waits" })
      const { auth } = yield* supervise()
      const first = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => somebody.seen.length === 1)
      const second = yield* Effect.fork(auth.login("it"))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      as.switches.person = "agrees"
      yield* auth.finishLogin("it", yield* leadsTo(somebody.opened[0]!))
      assert.strictEqual((yield* Fiber.join(second)).status, "connected")
      assert.strictEqual(somebody.opened.length, 1)
    })
  )

  live(
    "pain 40: says so when its page cannot be opened",
    Effect.gen(function* () {
      const { supervise } = yield* world()
      const { auth } = yield* supervise(() => Effect.die(new Error("no browser")))
      assert.strictEqual(reasonOf(yield* Effect.flip(auth.login("it"))), "no_browser")
    })
  )

  live(
    "pain 40: whose page cannot be opened goes on for whoever was given its address, and is told to who relied on the page",
    Effect.gen(function* () {
      const { supervise } = yield* world()
      let tries = 0
      const { auth } = yield* supervise(() => Effect.suspend(() => Effect.die(new Error(`no browser ${++tries}`))))
      const { authorizationUrl } = yield* auth.startLogin("it")
      for (const round of [1, 2]) {
        const error = yield* Effect.timeout(Effect.flip(auth.login("it")), "30 seconds")
        assert.strictEqual(reasonOf(error), "no_browser")
        assert.strictEqual(tries, round)
      }
      const ending = yield* leadsTo(authorizationUrl)
      assert.strictEqual((yield* auth.finishLogin("it", ending)).status, "connected")
    })
  )

  live(
    "pain 35: goes on when settings are changed that have nothing to do with it: still one page",
    Effect.gen(function* () {
      const { as, entry, somebody, supervise } = yield* world({ person: "waits" })
      const { auth, supervisor } = yield* supervise()
      const first = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => somebody.seen.length === 1)
      yield* supervisor.reconcile({ servers: { it: { ...entry, timeout: 12_345 } } })
      const second = yield* Effect.fork(auth.login("it"))
      as.switches.person = "agrees"
      const { state } = yield* auth.startLogin("it")
      assert.include(somebody.opened[0], state)
      yield* auth.finishLogin("it", yield* leadsTo(somebody.opened[0]!))
      for (const each of [first, second]) assert.strictEqual((yield* Fiber.join(each)).status, "connected")
      assert.strictEqual(somebody.opened.length, 1)
    })
  )

  live(
    "pain 36: that no client can be registered is still known after a change of other settings",
    Effect.gen(function* () {
      const { entry, supervise } = yield* world({ registration: "reject" })
      const { auth, supervisor } = yield* supervise()
      yield* Effect.flip(auth.login("it"))
      yield* awaitStatus(supervisor, "it", "needs_client_registration")
      yield* supervisor.reconcile({ servers: { it: { ...entry, timeout: 12_345 } } })
      assert.strictEqual((yield* supervisor.restart("it")).status, "needs_client_registration")
    })
  )

  live(
    "pain 38: whose client the token endpoint does not know registers anew the next time",
    Effect.gen(function* () {
      const { as, supervise } = yield* world()
      const { auth } = yield* supervise()
      yield* auth.login("it")
      as.switches.fault = () => ({ status: 401, body: { error: "invalid_client" } })
      yield* Effect.flip(auth.login("it"))
      assert.strictEqual(as.asked("/register").length, 1)
      as.switches.fault = () => undefined
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(as.asked("/register").length, 2)
    })
  )

  live(
    "is forgotten also where the config wants no login any more",
    Effect.gen(function* () {
      const { entry, stateDir, supervise } = yield* world()
      const { auth, supervisor } = yield* supervise()
      yield* auth.login("it")
      yield* supervisor.reconcile({ servers: { it: { ...entry, oauth: false } } })
      yield* auth.logout("it")
      assert.deepStrictEqual(kept(stateDir), [])
    })
  )
})

describe.concurrent("a renewal that somebody interferes with", () => {
  const engineFor = (entry: Effect.Effect.Success<ReturnType<typeof entryFor>>, openUrl: Person["openUrl"]) =>
    Effect.gen(function* () {
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const subject = loginTargetOf("it", config as ServerConfig.Remote)!
      // nobody else tells what was done
      const store = { ...makeMemory(), changes: Stream.never }
      const clientInfo = { name: "test", version: "1" }
      const engine = yield* AuthContext.make({ store, clientInfo, onEvent: () => {}, onChange: () => {} })
      const logins = yield* Logins.make(engine, openUrl)
      yield* logins.login(subject)
      return { engine, logins, subject, memory: engine.memoryOf(subject) }
    })

  live(
    "pain 34: a logout meanwhile leaves no token, neither kept nor in use",
    Effect.gen(function* () {
      const { as, entry, somebody } = yield* world()
      const { engine, logins, memory, subject } = yield* engineFor(entry, somebody.openUrl)
      as.switches.fault = (grant) => (grant === "refresh_token" ? "late" : undefined)
      const renewal = yield* Effect.fork(Renewal.renew(engine, subject, memory.credential()?.tokens?.accessToken))
      yield* eventually(() => as.asked("/token").length === 2)
      yield* logins.logout(subject)
      yield* Fiber.await(renewal)
      assert.strictEqual(as.given("refresh_token"), 1)
      assert.isUndefined(memory.credential())
      assert.isTrue(Option.isNone(yield* engine.store.load(subject)))
    })
  )

  live(
    "the end of the supervisor waits for it, but not for ever",
    Effect.gen(function* () {
      const { as, entry, somebody } = yield* world()
      const scope = yield* Scope.make()
      const { engine, memory, subject } = yield* Scope.extend(engineFor(entry, somebody.openUrl), scope)
      as.switches.fault = (grant) => (grant === "refresh_token" ? "never" : undefined)
      const renewal = yield* Effect.fork(
        Effect.flip(Renewal.renew(engine, subject, memory.credential()?.tokens?.accessToken))
      )
      yield* eventually(() => as.asked("/token").length === 2)
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.isBelow(Duration.toMillis(took), 30_000)
      const error = yield* Effect.timeout(Fiber.join(renewal), "20 seconds")
      assert.deepInclude(error, { _tag: "AuthError", reason: "unavailable" })
      assert.include(error.message, "the supervisor was closed")
      // and nobody is kept waiting for a lock
      yield* Effect.timeout(engine.store.exclusively(subject)(Effect.void), "20 seconds")
    })
  )
})

describe.concurrent("tokens that cannot be written", () => {
  live(
    "pain 32: are used all the same, written as soon as it is possible, and the old ones never come back",
    Effect.gen(function* () {
      const { as, entry, somebody } = yield* world()
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const subject = loginTargetOf("it", config as ServerConfig.Remote)!
      const memoryStore = makeMemory()
      let full = false
      const save = (key: Key, credential: Option.Option<Credential>) =>
        full
          ? Effect.fail(new StoreFailed({ detail: "no space", isTemporary: true }))
          : memoryStore.save(key, credential)
      const engine = yield* AuthContext.make({
        store: { ...memoryStore, save },
        clientInfo: { name: "test", version: "1" },
        onEvent: () => {},
        onChange: () => {}
      })
      const logins = yield* Logins.make(engine, somebody.openUrl)
      yield* logins.login(subject)
      const credentials = yield* OAuthCredentials.make(engine, subject)
      const token = () => engine.memoryOf(subject).credential()?.tokens?.accessToken
      const stored = Effect.map(memoryStore.load(subject), (found) => Option.getOrThrow(found).tokens?.accessToken)
      full = true
      // however often
      for (let round = 1; round <= 3; round += 1) {
        const old = token()
        as.expire()
        yield* Renewal.renew(engine, subject, old)
        yield* credentials.prepare
        assert.isDefined(as.check(token()))
        assert.notStrictEqual(yield* stored, token())
      }
      full = false
      const last = token()
      as.expire()
      yield* Renewal.renew(engine, subject, last)
      assert.strictEqual(yield* stored, token())
      assert.isDefined(as.check(token()))
      assert.strictEqual(as.misuse(), 0)
      assert.strictEqual(as.given("refresh_token"), 4)
    })
  )

  live(
    "pain 32: are written later without anybody asking",
    Effect.gen(function* () {
      const { as, entry, somebody } = yield* world()
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const subject = loginTargetOf("it", config as ServerConfig.Remote)!
      const memoryStore = makeMemory()
      let failures = 0
      const save = (key: Key, credential: Option.Option<Credential>) =>
        Effect.suspend(() =>
          failures-- > 0
            ? Effect.fail(new StoreFailed({ detail: "no space", isTemporary: true }))
            : memoryStore.save(key, credential)
        )
      const engine = yield* AuthContext.make({
        store: { ...memoryStore, save },
        clientInfo: { name: "test", version: "1" },
        onEvent: () => {},
        onChange: () => {}
      })
      const logins = yield* Logins.make(engine, somebody.openUrl)
      yield* logins.login(subject)
      failures = 1
      as.expire()
      const memory = engine.memoryOf(subject)
      yield* Renewal.renew(engine, subject, memory.credential()?.tokens?.accessToken)
      assert.isDefined(memory.unsaved)
      yield* eventually(() => memory.unsaved === undefined)
      const now = Option.getOrThrow(yield* memoryStore.load(subject))
      assert.isDefined(as.check(now.tokens?.accessToken))
    })
  )
})
