import { assert, describe } from "@effect/vitest"
import { Effect, Either, Fiber, Option } from "effect"
import { makeMemory } from "../../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../../src/auth/AuthContext.js"
import * as Logins from "../../../src/auth/login/Logins.js"
import { loginTargetOf } from "../../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { hasty } from "../support/hasty.js"
import {
  entryFor,
  occupy,
  portClosed,
  portOf,
  redirectOf,
  statusAt,
  superviseBoth,
  visit,
  waiting
} from "../support/loggedIn.js"
import { eventually } from "../support/session.js"
import { awaitStatus, freePort, live, temporaryDirectory } from "../support/supervised.js"

describe.concurrent("the callback of a login", () => {
  live(
    "whose port is busy fails the login before a page is opened, and the error names the setting",
    Effect.gen(function* () {
      const { as, auth, entry, browser } = yield* waiting({ as: { registration: "off" }, oauth: { clientId: "mine" } })
      as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
      yield* occupy(entry.oauth.callbackPort)
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "port_busy" })
      assert.include(error.message, String(entry.oauth.callbackPort))
      assert.include(error.message, "callbackPort")
      assert.deepStrictEqual(browser.opened, [])
    })
  )

  live(
    "is matched by state: concurrent logins share one listener",
    Effect.gen(function* () {
      const as = yield* authServer()
      const [first, second] = [yield* protectedServer(as), yield* protectedServer(as)]
      const callbackPort = yield* freePort
      const oauth = { callbackPort }
      const { auth, supervisor } = yield* superviseBoth({
        servers: { first: { url: first.url, oauth }, second: { url: second.url, oauth } }
      })
      yield* supervisor.awaitSettled()
      const one = yield* auth.startLogin("first")
      const two = yield* auth.startLogin("second")
      const ports = as.asked("/register").length
      assert.strictEqual(ports, 2)
      for (const { authorizationUrl } of [two, one]) {
        assert.strictEqual(portOf(new URL(authorizationUrl).searchParams.get("redirect_uri") ?? ""), callbackPort)
      }
      assert.strictEqual((yield* visit(two.authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "second", "connected")
      assert.strictEqual((yield* supervisor.server("first")).status.status, "needs_auth")
      assert.strictEqual((yield* visit(one.authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "first", "connected")
      // No login is pending: the listener closes.
      yield* portClosed(callbackPort)
    })
  )

  live(
    "with a wrong or missing state gets an error page, and the login stays pending",
    Effect.gen(function* () {
      const { auth, entry, supervisor } = yield* waiting()
      const { authorizationUrl, state } = yield* auth.startLogin("it")
      const there = `http://127.0.0.1:${entry.oauth.callbackPort}/mcp/oauth/callback`
      for (const query of [
        "",
        "?code=x",
        "?code=x&state=",
        `?code=x&state=${"0".repeat(64)}`,
        `?state=<script>alert(1)</script>`
      ]) {
        const { status, text } = yield* visit(`${there}${query}`)
        assert.strictEqual(status, 400, query)
        assert.include(text, "No such login is pending")
        assert.notInclude(text, "<script>")
      }
      assert.strictEqual(
        (yield* visit(`http://127.0.0.1:${entry.oauth.callbackPort}/elsewhere?state=${state}`)).status,
        404
      )
      const posted = yield* Effect.promise(() => fetch(`${there}?state=${state}`, { method: "POST" }))
      assert.strictEqual(posted.status, 405)
      assert.strictEqual((yield* visit(authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "is not confused by invalid requests to its port",
    Effect.gen(function* () {
      const { auth, entry, supervisor } = yield* waiting()
      const { authorizationUrl } = yield* auth.startLogin("it")
      for (const path of ["//", "//:", "/\\", "*", "http://[", "/%"]) {
        assert.isAtLeast(yield* statusAt(entry.oauth.callbackPort, path), 400, path)
      }
      assert.strictEqual((yield* visit(authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "of another authorization server is rejected, and no code is sent (RFC 9207)",
    Effect.gen(function* () {
      for (const iss of ["wrong", "missing"] as const) {
        const { as, auth } = yield* waiting({ as: { iss } })
        const error = yield* Effect.flip(auth.login("it"))
        assert.deepInclude(error, { _tag: "AuthError", reason: "issuer_mismatch" })
        assert.deepStrictEqual(as.asked("/token"), [])
      }
      const { auth } = yield* waiting({ as: { iss: "on" } })
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "goes to the configured redirect URI, also if it is not on this machine",
    Effect.gen(function* () {
      const port = yield* freePort
      const own = `http://localhost:${port}/my/own/path`
      const local = yield* waiting({ oauth: { redirectUri: own } })
      assert.strictEqual((yield* local.auth.login("it")).status, "connected")
      assert.strictEqual(local.as.asked("/authorize")[0]?.get("redirect_uri"), own)
      const far = yield* waiting({ oauth: { redirectUri: "https://app.example/callback" } })
      const { authorizationUrl } = yield* far.auth.startLogin("it")
      const callback = yield* redirectOf(authorizationUrl)
      assert.match(callback, /^https:\/\/app\.example\/callback\?/)
      assert.strictEqual((yield* far.auth.finishLogin("it", callback)).status, "connected")
    })
  )
})

describe.concurrent("a login without a browser", () => {
  live(
    "returns the URL of the page, and is completed by the pasted callback",
    Effect.gen(function* () {
      const { as, auth, browser, supervisor } = yield* waiting({ as: { iss: "on" } })
      const { authorizationUrl, state } = yield* auth.startLogin("it")
      const callback = yield* redirectOf(authorizationUrl)
      for (const nonsense of [
        "",
        "hello",
        "https://example.com/",
        `?code=abc`,
        new URL(callback).searchParams.get("code")!
      ]) {
        assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", nonsense)), { reason: "invalid_callback" })
      }
      for (const other of ["0".repeat(64), "é".repeat(64)]) {
        const foreign = callback.replace(state, encodeURIComponent(other))
        assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", foreign)), { reason: "state_mismatch" })
      }
      assert.strictEqual((yield* auth.finishLogin("it", `  ${callback}\n`)).status, "connected")
      assert.deepStrictEqual(browser.opened, [])
      assert.strictEqual(as.given("authorization_code"), 1)
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "is completed by whichever callback arrives first",
    Effect.gen(function* () {
      const { as, auth, browser } = yield* waiting({ as: { person: "waits" } })
      const login = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => browser.opened.length === 1)
      as.switches.person = "agrees"
      const callback = yield* redirectOf(browser.opened[0]!)
      assert.strictEqual((yield* auth.finishLogin("it", new URL(callback).searchParams)).status, "connected")
      assert.strictEqual((yield* Fiber.join(login)).status, "connected")
    })
  )

  live(
    "is completed after a restart of the process",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const as = yield* authServer({ iss: "on" })
      const rs = yield* protectedServer(as)
      const servers = { it: yield* entryFor(rs.url) }
      const callback = yield* Effect.scoped(
        Effect.gen(function* () {
          const { auth } = yield* superviseBoth({ servers, stateDir })
          const { authorizationUrl } = yield* auth.startLogin("it")
          return yield* redirectOf(authorizationUrl)
        })
      )
      const { auth } = yield* superviseBoth({ servers, stateDir })
      const wrong = callback.replace(/iss=[^&]*/, "iss=https%3A%2F%2Fother.example")
      assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", wrong)), { reason: "issuer_mismatch" })
      // The forged callback ended the login.
      assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", callback)), { reason: "state_mismatch" })
      const again = yield* auth.startLogin("it")
      assert.strictEqual((yield* auth.finishLogin("it", yield* redirectOf(again.authorizationUrl))).status, "connected")
    })
  )

  live(
    "closes its port when it is cancelled",
    Effect.gen(function* () {
      const { auth, entry, browser } = yield* waiting({ as: { person: "waits" } })
      const fiber = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => browser.opened.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* portClosed(entry.oauth.callbackPort)
    })
  )
})

describe.concurrent("a login without a callback", () => {
  live(
    "ends after 5 minutes and closes its port, and the next one registers another client",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const entry = yield* entryFor(rs.url)
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const target = loginTargetOf("it", config as ServerConfig.Remote)!
      const clientInfo = { name: "test", version: "1" }
      const store = makeMemory()
      const browser = person()
      const make = Effect.gen(function* () {
        const context = yield* AuthContext.make({ store, clientInfo, onEvent: () => {}, onChange: () => {} })
        return yield* Logins.make(context, browser.openUrl)
      })
      const logins = yield* make
      yield* logins.login(target)
      as.switches.person = "waits"
      // A minute passes in 20 milliseconds.
      const hurried = yield* Effect.withClock(make, hasty(3000))
      const error = yield* Effect.flip(hurried.login(target))
      assert.deepInclude(error, { _tag: "AuthError", reason: "timeout" })
      yield* portClosed(entry.oauth.callbackPort)
      assert.isDefined(Option.getOrThrow(yield* store.load(target)).tokens)
      assert.strictEqual(as.asked("/register").length, 1)
      as.switches.person = "agrees"
      yield* logins.login(target)
      assert.strictEqual(as.asked("/register").length, 2)
    })
  )
})
