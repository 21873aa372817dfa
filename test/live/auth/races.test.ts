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
import { authServer } from "../support/authServer.js"
import { type Person, person, protectedServer } from "../support/protectedServer.js"
import { entryFor, redirectOf, storedLogins, superviseBoth } from "../support/loggedIn.js"
import { eventually } from "../support/session.js"
import { awaitStatus, eventsUntil, live, temporaryDirectory } from "../support/supervised.js"

/** A server that requires a login, and any number of supervisors with one store. */
const world = (switches: Parameters<typeof authServer>[0] = {}) =>
  Effect.gen(function* () {
    const as = yield* authServer(switches)
    const rs = yield* protectedServer(as)
    const stateDir = yield* temporaryDirectory
    const entry = yield* entryFor(rs.url)
    const browser = person()
    const supervise = (openUrl = browser.openUrl) =>
      Effect.tap(superviseBoth({ servers: { it: entry }, openUrl, stateDir }), ({ supervisor }) =>
        awaitStatus(supervisor, "it", "needs_auth")
      )
    return { as, rs, entry, browser, stateDir, supervise }
  })

const codes = (as: { readonly asked: (path: string) => ReadonlyArray<URLSearchParams> }) =>
  as.asked("/token").filter((params) => params.get("grant_type") === "authorization_code").length

const reasonOf = (error: { readonly _tag: string; readonly reason?: string }) => error.reason ?? error._tag

describe.concurrent("a login with concurrent events", () => {
  live(
    "is deleted by a logout during the exchange of the code",
    Effect.gen(function* () {
      const { as, rs, stateDir, supervise } = yield* world()
      const { auth, supervisor } = yield* supervise()
      as.switches.fault = (grant) => (grant === "authorization_code" ? "late" : undefined)
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      yield* eventually(() => codes(as) === 1)
      yield* auth.logout("it")
      assert.strictEqual(reasonOf(yield* Fiber.join(login)), "logged_out")
      // The exchange is complete: the logout has waited for it.
      assert.strictEqual(as.given("authorization_code"), 1)
      assert.deepStrictEqual(storedLogins(stateDir), [])
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual((yield* supervisor.restart("it")).status, "needs_auth")
      assert.deepStrictEqual(storedLogins(stateDir), [])
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
      const { browser, supervise } = yield* world({ person: "waits" })
      const scope = yield* Scope.make()
      const { auth } = yield* Scope.extend(supervise(), scope)
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      yield* eventually(() => browser.seen.length === 1)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(reasonOf(yield* Fiber.join(login)), "closed")
    })
  )

  live(
    "ends when its server is removed",
    Effect.gen(function* () {
      const { browser, supervise } = yield* world({ person: "waits" })
      const { auth, supervisor } = yield* supervise()
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      yield* eventually(() => browser.seen.length === 1)
      yield* supervisor.remove("it")
      assert.strictEqual(reasonOf(yield* Fiber.join(login)), "removed")
    })
  )

  live(
    "fails like a restart if its server is removed while it connects",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as, {}, ({ message }) => message.method === "initialize")
      const entry = { ...(yield* entryFor(rs.url)), protocol: "legacy" as const }
      const browser = person()
      const { auth, supervisor } = yield* superviseBoth({ servers: { it: entry }, openUrl: browser.openUrl })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      const login = yield* Effect.fork(Effect.flip(auth.login("it")))
      // The browser shows the result of the login after its end.
      yield* eventually(() => browser.seen.length === 1 && rs.tokens().length === 1)
      const restart = yield* Effect.fork(Effect.flip(supervisor.restart("it")))
      yield* awaitStatus(supervisor, "it", "connecting")
      yield* supervisor.remove("it")
      assert.strictEqual((yield* Fiber.join(login))._tag, "ServerNotFound")
      assert.strictEqual((yield* Fiber.join(restart))._tag, "ServerNotFound")
    })
  )

  live(
    "exchanges a code once, however often the callback is passed on",
    Effect.gen(function* () {
      const { as, supervise } = yield* world()
      const first = yield* supervise()
      const second = yield* supervise()
      const { authorizationUrl } = yield* first.auth.startLogin("it")
      const ending = yield* redirectOf(authorizationUrl)
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
    "completes if the caller of finishLogin is interrupted",
    Effect.gen(function* () {
      const { as, supervise } = yield* world()
      const first = yield* supervise()
      const second = yield* supervise()
      as.switches.fault = (grant) => (grant === "authorization_code" ? "late" : undefined)
      for (const [round, { auth, supervisor }] of [first, second].entries()) {
        const { authorizationUrl } = yield* first.auth.startLogin("it")
        const bringing = yield* Effect.fork(auth.finishLogin("it", yield* redirectOf(authorizationUrl)))
        yield* eventually(() => codes(as) === round + 1)
        yield* Fiber.interrupt(bringing)
        yield* awaitStatus(supervisor, "it", "connected")
        yield* first.auth.logout("it")
        yield* awaitStatus(supervisor, "it", "needs_auth")
      }
    })
  )

  live(
    "completes when another process completes it",
    Effect.gen(function* () {
      const { as, browser, supervise } = yield* world({ person: "waits" })
      const first = yield* supervise()
      const second = yield* supervise()
      const login = yield* Effect.fork(first.auth.login("it"))
      yield* eventually(() => browser.seen.length === 1)
      as.switches.person = "agrees"
      const ending = yield* redirectOf(browser.opened[0]!)
      assert.strictEqual((yield* second.auth.finishLogin("it", ending)).status, "connected")
      assert.strictEqual((yield* Fiber.join(login)).status, "connected")
      assert.strictEqual(codes(as), 1)
    })
  )

  live(
    "that fails leaves the pending login of another process",
    Effect.gen(function* () {
      const { stateDir, supervise } = yield* world()
      const first = yield* supervise()
      const second = yield* supervise()
      const mine = yield* first.auth.startLogin("it")
      const other = yield* second.auth.startLogin("it")
      const refused = new URLSearchParams({ error: "access_denied", state: mine.state })
      assert.strictEqual(reasonOf(yield* Effect.flip(first.auth.finishLogin("it", refused))), "access_denied")
      assert.strictEqual(storedLogins(stateDir)[0]?.login?.oauthState, other.state)
      const ending = yield* redirectOf(other.authorizationUrl)
      assert.strictEqual((yield* first.auth.finishLogin("it", ending)).status, "connected")
    })
  )

  live(
    "started with startLogin opens its page when login is called",
    Effect.gen(function* () {
      const { browser, supervise } = yield* world()
      const { auth } = yield* supervise()
      const { authorizationUrl } = yield* auth.startLogin("it")
      assert.deepStrictEqual(browser.opened, [])
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.deepStrictEqual(browser.opened, [authorizationUrl])
    })
  )

  live(
    "continues for the second caller if the first is interrupted",
    Effect.gen(function* () {
      const { as, browser, supervise } = yield* world({ person: "waits" })
      const { auth } = yield* supervise()
      const first = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => browser.seen.length === 1)
      const second = yield* Effect.fork(auth.login("it"))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      as.switches.person = "agrees"
      yield* auth.finishLogin("it", yield* redirectOf(browser.opened[0]!))
      assert.strictEqual((yield* Fiber.join(second)).status, "connected")
      assert.strictEqual(browser.opened.length, 1)
    })
  )

  live(
    "fails if its page cannot be opened",
    Effect.gen(function* () {
      const { supervise } = yield* world()
      const { auth } = yield* supervise(() => Effect.die(new Error("no browser")))
      assert.strictEqual(reasonOf(yield* Effect.flip(auth.login("it"))), "no_browser")
    })
  )

  live(
    "whose page cannot be opened stays pending if its URL was returned, and fails for callers of login",
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
      const ending = yield* redirectOf(authorizationUrl)
      assert.strictEqual((yield* auth.finishLogin("it", ending)).status, "connected")
    })
  )

  live(
    "continues when unrelated settings change, with one page",
    Effect.gen(function* () {
      const { as, entry, browser, supervise } = yield* world({ person: "waits" })
      const { auth, supervisor } = yield* supervise()
      const first = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => browser.seen.length === 1)
      yield* supervisor.reconcile({ servers: { it: { ...entry, timeout: 12_345 } } })
      const second = yield* Effect.fork(auth.login("it"))
      as.switches.person = "agrees"
      const { state } = yield* auth.startLogin("it")
      assert.include(browser.opened[0], state)
      yield* auth.finishLogin("it", yield* redirectOf(browser.opened[0]!))
      for (const each of [first, second]) assert.strictEqual((yield* Fiber.join(each)).status, "connected")
      assert.strictEqual(browser.opened.length, 1)
    })
  )

  live(
    "keeps needs_client_registration when unrelated settings change",
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
    "whose client is unknown to the token endpoint registers another one next time",
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
    "is deleted by a logout also if the config allows no login any longer",
    Effect.gen(function* () {
      const { entry, stateDir, supervise } = yield* world()
      const { auth, supervisor } = yield* supervise()
      yield* auth.login("it")
      yield* supervisor.reconcile({ servers: { it: { ...entry, oauth: false } } })
      yield* auth.logout("it")
      assert.deepStrictEqual(storedLogins(stateDir), [])
    })
  )
})

describe.concurrent("a renewal with concurrent events", () => {
  const contextFor = (entry: Effect.Effect.Success<ReturnType<typeof entryFor>>, openUrl: Person["openUrl"]) =>
    Effect.gen(function* () {
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const target = loginTargetOf("it", config as ServerConfig.Remote)!
      // No other process reports changes.
      const store = { ...makeMemory(), changes: Stream.never }
      const clientInfo = { name: "test", version: "1" }
      const context = yield* AuthContext.make({ store, clientInfo, onEvent: () => {}, onChange: () => {} })
      const logins = yield* Logins.make(context, openUrl)
      yield* logins.login(target)
      return { context, logins, target, loginState: context.loginState(target) }
    })

  live(
    "leaves no token after a concurrent logout",
    Effect.gen(function* () {
      const { as, entry, browser } = yield* world()
      const { context, logins, loginState, target } = yield* contextFor(entry, browser.openUrl)
      as.switches.fault = (grant) => (grant === "refresh_token" ? "late" : undefined)
      const renewal = yield* Effect.fork(Renewal.renew(context, target, loginState.credential()?.tokens?.accessToken))
      yield* eventually(() => as.asked("/token").length === 2)
      yield* logins.logout(target)
      yield* Fiber.await(renewal)
      assert.strictEqual(as.given("refresh_token"), 1)
      assert.isUndefined(loginState.credential())
      assert.isTrue(Option.isNone(yield* context.store.load(target)))
    })
  )

  live(
    "delays the shutdown of the supervisor for a limited time",
    Effect.gen(function* () {
      const { as, entry, browser } = yield* world()
      const scope = yield* Scope.make()
      const { context, loginState, target } = yield* Scope.extend(contextFor(entry, browser.openUrl), scope)
      as.switches.fault = (grant) => (grant === "refresh_token" ? "never" : undefined)
      const renewal = yield* Effect.fork(
        Effect.flip(Renewal.renew(context, target, loginState.credential()?.tokens?.accessToken))
      )
      yield* eventually(() => as.asked("/token").length === 2)
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.isBelow(Duration.toMillis(took), 30_000)
      const error = yield* Effect.timeout(Fiber.join(renewal), "20 seconds")
      assert.deepInclude(error, { _tag: "AuthError", reason: "unavailable" })
      assert.include(error.message, "the supervisor was closed")
      // The lock is released.
      yield* Effect.timeout(context.store.exclusively(target)(Effect.void), "20 seconds")
    })
  )
})

describe.concurrent("tokens that cannot be saved", () => {
  live(
    "are used anyway, and saved by the next renewal or without one",
    Effect.gen(function* () {
      const { as, entry, browser } = yield* world()
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const target = loginTargetOf("it", config as ServerConfig.Remote)!
      const memoryStore = makeMemory()
      let isFull = false
      const save = (key: Key, credential: Option.Option<Credential>) =>
        Effect.suspend(() =>
          isFull
            ? Effect.fail(new StoreFailed({ detail: "no space", isTemporary: true }))
            : memoryStore.save(key, credential)
        )
      const context = yield* AuthContext.make({
        store: { ...memoryStore, save },
        clientInfo: { name: "test", version: "1" },
        onEvent: () => {},
        onChange: () => {}
      })
      const logins = yield* Logins.make(context, browser.openUrl)
      yield* logins.login(target)
      const credentials = yield* OAuthCredentials.make(context, target)
      const loginState = context.loginState(target)
      const token = () => loginState.credential()?.tokens?.accessToken
      const stored = Effect.map(memoryStore.load(target), (found) => Option.getOrThrow(found).tokens?.accessToken)
      const renew = Effect.suspend(() => {
        as.expire()
        return Renewal.renew(context, target, token())
      })
      isFull = true
      for (let round = 1; round <= 3; round += 1) {
        yield* renew
        yield* credentials.prepare
        assert.isDefined(as.check(token()))
        assert.notStrictEqual(yield* stored, token())
      }
      isFull = false
      yield* renew
      assert.strictEqual(yield* stored, token())
      assert.isDefined(as.check(token()))
      assert.strictEqual(as.misuse(), 0)
      assert.strictEqual(as.given("refresh_token"), 4)

      isFull = true
      yield* renew
      assert.isDefined(loginState.unsaved)
      isFull = false
      yield* eventually(() => loginState.unsaved === undefined)
      assert.strictEqual(yield* stored, token())
      assert.isDefined(as.check(token()))
    })
  )
})
