import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, fileIn, storedLogins, superviseBoth, waiting } from "../support/loggedIn.js"
import { eventually, textOf } from "../support/session.js"
import { awaitStatus, eventsUntil, live, temporaryDirectory } from "../support/supervised.js"

describe.concurrent("a login", () => {
  live(
    "connects a server in needs_auth and stores its tokens",
    Effect.gen(function* () {
      const { as, auth, rs, browser, stateDir, supervisor } = yield* waiting()
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(browser.opened.length, 1)
      assert.strictEqual(yield* auth.status("it"), "authenticated")
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      const [login] = storedLogins(stateDir)
      assert.strictEqual(login?.serverUrl, rs.url)
      assert.strictEqual(login?.issuer, as.url)
      assert.isDefined(login?.tokens?.refreshToken)
      assert.isUndefined(login?.login)
      yield* eventually(() => browser.seen.length === 1)
      assert.include(browser.seen[0]?.text, "Logged in")
      const events = yield* eventsUntil(supervisor, (event) => event.type === "Auth" && event.what === "login_finished")
      assert.deepStrictEqual(
        events.flatMap((event) => (event.type === "Auth" ? [event.what] : [])),
        ["login_started", "login_finished"]
      )
      // PKCE, a state of 32 bytes, and a token for this server only.
      const [asked] = as.asked("/authorize")
      assert.strictEqual(asked?.get("code_challenge_method"), "S256")
      assert.match(asked?.get("state") ?? "", /^[0-9a-f]{64}$/)
      assert.strictEqual(asked?.get("resource"), rs.url)
      assert.strictEqual(as.asked("/token")[0]?.get("resource"), rs.url)
    })
  )

  live(
    "is deleted by a logout, which ends the connection and removes everything stored",
    Effect.gen(function* () {
      const { auth, stateDir, supervisor } = yield* waiting()
      yield* auth.login("it")
      yield* auth.logout("it")
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.deepStrictEqual(storedLogins(stateDir), [])
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "opens one page for concurrent calls; connects, retries and statuses open none",
    Effect.gen(function* () {
      const { as, auth, browser, supervisor } = yield* waiting()
      yield* supervisor.connect("it")
      yield* supervisor.restart("it")
      yield* Effect.flip(supervisor.callTool("it_echo"))
      yield* auth.status("it")
      yield* supervisor.servers
      assert.deepStrictEqual(as.asked("/authorize"), [])
      assert.deepStrictEqual(as.asked("/register"), [])
      assert.deepStrictEqual(browser.opened, [])
      const statuses = yield* Effect.all([auth.login("it"), auth.login("it"), auth.login("it")], { concurrency: 3 })
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ["connected", "connected", "connected"]
      )
      assert.strictEqual(browser.opened.length, 1)
      assert.strictEqual(as.asked("/authorize").length, 1)
    })
  )

  live(
    "leaves the current login unchanged if it fails",
    Effect.gen(function* () {
      const { as, auth, stateDir, supervisor } = yield* waiting()
      yield* auth.login("it")
      const before = storedLogins(stateDir)[0]?.tokens
      as.switches.person = "denies"
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "access_denied" })
      assert.deepStrictEqual(storedLogins(stateDir)[0]?.tokens, before)
      as.switches.person = "agrees"
      as.switches.fault = () => "500"
      assert.deepInclude(yield* Effect.flip(auth.login("it")), { _tag: "AuthError", reason: "unavailable" })
      assert.deepStrictEqual(storedLogins(stateDir)[0]?.tokens, before)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
    })
  )

  live(
    "is rejected for servers without a login, with what to do",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const { auth, supervisor } = yield* superviseBoth({
        servers: {
          off: { url: rs.url, oauth: false },
          header: { url: rs.url, headers: { Authorization: "Bearer wrong" } },
          local: { command: "node", enabled: false }
        }
      })
      yield* supervisor.awaitSettled()
      const reasons = yield* Effect.forEach(["off", "header", "local"], (name) => Effect.flip(auth.login(name)))
      assert.deepStrictEqual(
        reasons.map((error) => (error._tag === "AuthError" ? error.reason : error._tag)),
        ["oauth_off", "header_set", "not_remote"]
      )
      assert.strictEqual((yield* Effect.flip(auth.login("unknown")))._tag, "ServerNotFound")
      // No request was sent to the authorization server.
      for (const name of ["off", "header"]) {
        const status = yield* awaitStatus(supervisor, name, "needs_auth")
        assert.include(status.hint, `"headers"`)
      }
      assert.deepStrictEqual(as.journal, [])
    })
  )

  live(
    "is not used for another address of the server, and is used again for the first one",
    Effect.gen(function* () {
      const { as, auth, entry, rs, supervisor } = yield* waiting()
      yield* auth.login("it")
      const other = yield* protectedServer(as)
      yield* supervisor.reconcile({ servers: { it: { ...entry, url: other.url } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      yield* supervisor.reconcile({ servers: { it: { ...entry, url: `${rs.url}/other/path` } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.deepStrictEqual(other.tokens(), [])
      const paths = rs.received.filter(({ url }) => url.includes("other")).map(({ headers }) => headers.authorization)
      assert.deepStrictEqual(new Set(paths), new Set([undefined]))
      yield* supervisor.reconcile({ servers: { it: entry } })
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "is not sent to the target of a redirect",
    Effect.gen(function* () {
      const as = yield* authServer()
      const elsewhere = yield* protectedServer(as)
      const rs = yield* protectedServer(as, {}, (received, response) => {
        if (received.message.method !== "tools/call") return false
        response.writeHead(307, { location: elsewhere.url }).end()
        return true
      })
      const { auth, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url) },
        openUrl: person().openUrl
      })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      yield* auth.login("it")
      yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepStrictEqual(elsewhere.received, [])
    })
  )

  live(
    "connects the server in other processes, and a logout disconnects it there",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const { auth, entry, supervisor } = yield* waiting({ stateDir })
      const other = yield* superviseBoth({ servers: { it: entry }, stateDir })
      yield* awaitStatus(other.supervisor, "it", "needs_auth")
      yield* auth.login("it")
      yield* awaitStatus(other.supervisor, "it", "connected")
      yield* other.auth.logout("it")
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.include(fileIn(stateDir), `"logins": []`)
    })
  )

  live(
    "leaves a disabled server disabled",
    Effect.gen(function* () {
      const { auth, supervisor } = yield* waiting()
      yield* supervisor.disable("it")
      assert.strictEqual((yield* auth.login("it")).status, "disabled")
      assert.strictEqual((yield* supervisor.connect("it")).status, "connected")
    })
  )

  live(
    "requests the challenge of a server that was never connected",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as, { description: "named", scope: "special" })
      const { auth } = yield* superviseBoth({
        servers: { it: { ...(yield* entryFor(rs.url)), lazy: true } },
        openUrl: person().openUrl
      })
      assert.strictEqual((yield* auth.login("it")).status, "idle")
      assert.strictEqual(as.asked("/authorize")[0]?.get("scope"), "special")
    })
  )
})
