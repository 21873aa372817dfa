import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, fileIn, occupy, portOf, storedLogins, superviseBoth, waiting } from "../support/loggedIn.js"
import { textOf } from "../support/session.js"
import { awaitStatus, live, temporaryDirectory } from "../support/supervised.js"

describe.concurrent("the client of a login", () => {
  live(
    "from the config needs no registration and supports each authentication method",
    Effect.gen(function* () {
      for (const [methods, secret] of [
        [["client_secret_basic"], "a-secret"],
        [["client_secret_post"], "a-secret"],
        [["none"], undefined]
      ] as const) {
        const as = yield* authServer({ registration: "off", methods })
        as.clients.set("configured", { clientId: "configured", secret, redirectUris: undefined })
        const rs = yield* protectedServer(as)
        const oauth = { clientId: "configured", ...(secret === undefined ? {} : { clientSecret: secret }) }
        const { auth, supervisor } = yield* superviseBoth({
          servers: { it: yield* entryFor(rs.url, oauth) },
          openUrl: person().openUrl
        })
        yield* awaitStatus(supervisor, "it", "needs_auth")
        assert.strictEqual((yield* auth.login("it")).status, "connected", methods[0])
        assert.deepStrictEqual(as.asked("/register"), [])
        const isBasic = as.journal.some(({ headers, path }) => path === "/token" && headers.authorization !== undefined)
        assert.strictEqual(isBasic, methods[0] === "client_secret_basic")
        as.expire()
        assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      }
    })
  )

  live(
    "keeps its login while its configured secret is wrong",
    Effect.gen(function* () {
      const as = yield* authServer({ registration: "off" })
      as.clients.set("configured", { clientId: "configured", secret: "right", redirectUris: undefined })
      const rs = yield* protectedServer(as)
      const stateDir = yield* temporaryDirectory
      const run = (clientSecret: string, status: "needs_auth" | "needs_client_registration" | "connected") =>
        Effect.gen(function* () {
          const servers = { it: yield* entryFor(rs.url, { clientId: "configured", clientSecret }) }
          const { auth, supervisor } = yield* superviseBoth({ servers, stateDir, openUrl: person().openUrl })
          yield* awaitStatus(supervisor, "it", status)
          if (status === "needs_auth") yield* auth.login("it")
        }).pipe(Effect.scoped)
      yield* run("right", "needs_auth")
      as.expire()
      const before = fileIn(stateDir)
      yield* run("wrong", "needs_client_registration")
      assert.strictEqual(fileIn(stateDir), before)
      yield* run("right", "connected")
    })
  )

  live(
    "is missing: the status is needs_client_registration with the exact next step",
    Effect.gen(function* () {
      const { as, auth, entry, supervisor } = yield* waiting({
        as: { registration: "off" },
        status: "needs_client_registration"
      })
      const { error, hint } = yield* awaitStatus(supervisor, "it", "needs_client_registration")
      assert.include(error, as.url)
      assert.include(error, `http://127.0.0.1:${entry.oauth.callbackPort}/mcp/oauth/callback`)
      assert.include(hint, `"clientId"`)
      const refused = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(refused, { _tag: "AuthError", reason: "registration_required" })
      // A client in the config changes the status.
      as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
      yield* supervisor.reconcile({ servers: { it: { ...entry, oauth: { ...entry.oauth, clientId: "mine" } } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "cannot be registered: the status is needs_client_registration until a registration succeeds",
    Effect.gen(function* () {
      const { as, auth, browser, supervisor } = yield* waiting({ as: { registration: "reject" } })
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "registration_required" })
      yield* awaitStatus(supervisor, "it", "needs_client_registration")
      assert.deepStrictEqual(browser.opened, [])
      as.switches.registration = "on"
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "is the configured one, else its metadata document, else a registered one",
    Effect.gen(function* () {
      const clientMetadataUrl = "https://client.example/metadata.json"
      const of = (as: Parameters<typeof authServer>[0], oauth: Record<string, unknown>) =>
        Effect.gen(function* () {
          const found = yield* waiting({ as, oauth })
          found.as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
          yield* found.auth.login("it")
          return {
            id: found.as.asked("/authorize")[0]?.get("client_id") ?? "",
            registered: found.as.asked("/register").length
          }
        })
      const both = { clientId: "mine", clientMetadataUrl }
      assert.deepStrictEqual(yield* of({ cimd: true }, both), { id: "mine", registered: 0 })
      assert.deepStrictEqual(yield* of({ cimd: true }, { clientMetadataUrl }), { id: clientMetadataUrl, registered: 0 })
      const registered = yield* of({ cimd: false }, { clientMetadataUrl })
      assert.strictEqual(registered.registered, 1)
      assert.match(registered.id, /^client-/)
    })
  )

  live(
    "needs a metadata document at a valid https URL",
    Effect.gen(function* () {
      const { auth } = yield* waiting({ as: { cimd: true }, oauth: { clientMetadataUrl: "http://client.example/" } })
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { reason: "invalid_client_metadata" })
    })
  )

  live(
    "is used again on its registered port, and registered again if the port is busy",
    Effect.gen(function* () {
      const { as, auth, entry, stateDir } = yield* waiting()
      yield* auth.login("it")
      yield* auth.login("it")
      assert.strictEqual(as.asked("/register").length, 1)
      const tokens = storedLogins(stateDir)[0]?.tokens
      assert.isDefined(as.check(tokens?.accessToken))
      yield* occupy(entry.oauth.callbackPort)
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(as.asked("/register").length, 2)
      const uris = as.asked("/authorize").map((params) => portOf(params.get("redirect_uri") ?? ""))
      assert.deepStrictEqual(uris.slice(0, 2), [entry.oauth.callbackPort, entry.oauth.callbackPort])
      assert.notStrictEqual(uris[2], entry.oauth.callbackPort)
    })
  )

  live(
    "is registered again if the authorization server no longer knows it",
    Effect.gen(function* () {
      const { as, auth, stateDir, supervisor } = yield* waiting()
      yield* auth.login("it")
      as.clients.clear()
      as.expire()
      const error = yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepInclude(error, { _tag: "AuthRequired", login: true })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.isUndefined(storedLogins(stateDir)[0]?.clientInfo)
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(as.asked("/register").length, 2)
    })
  )

  live(
    "belongs to its authorization server: another one receives neither client nor tokens",
    Effect.gen(function* () {
      const { as, auth, rs, supervisor } = yield* waiting()
      yield* auth.login("it")
      const next = yield* authServer()
      rs.switches.by = next
      const error = yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepInclude(error, { _tag: "AuthRequired", login: true })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      const clients = [...as.clients.keys()]
      assert.isFalse(next.journal.some(({ params }) => clients.includes(params.get("client_id") ?? "")))
      assert.strictEqual(as.given("refresh_token"), 0)
    })
  )
})
