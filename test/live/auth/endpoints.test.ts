/** Which addresses a login uses: those of the authorization server that it was begun with, checked before anything is sent. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { type AuthServer, authServer, type Switches } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, superviseBoth } from "../support/loggedIn.js"
import { awaitStatus, live } from "../support/supervised.js"

const world = (setup: {
  readonly as?: Partial<Switches> | undefined
  readonly description?: "path" | "none" | undefined
  readonly oauth?: ((as: AuthServer) => Record<string, unknown>) | undefined
}) =>
  Effect.gen(function* () {
    const as = yield* authServer(setup.as)
    as.clients.set("mine", { clientId: "mine", secret: "CORPSECRET", redirectUris: undefined })
    as.clients.set("open", { clientId: "open", secret: undefined, redirectUris: undefined })
    const rs = yield* protectedServer(as, { description: setup.description ?? "path" })
    const browser = person()
    const entry = yield* entryFor(rs.url, setup.oauth?.(as))
    const { auth, supervisor } = yield* superviseBoth({ servers: { it: entry }, openUrl: browser.openUrl })
    yield* supervisor.awaitSettled()
    return { as, auth, entry, rs, browser, supervisor }
  })

const configured = (as: AuthServer, clientId = "open") => ({
  clientId,
  authorizationUrl: `${as.url}/authorize`,
  tokenUrl: `${as.url}/token`
})

describe.concurrent("the issuer in a callback", () => {
  live(
    "must be the one of the login if no metadata is published",
    Effect.gen(function* () {
      const stranger = yield* world({ as: { metadata: "none", iss: "wrong" } })
      const error = yield* Effect.flip(stranger.auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "issuer_mismatch" })
      assert.deepStrictEqual(stranger.as.asked("/token"), [])

      const honest = yield* world({ as: { metadata: "none", iss: "on" } })
      assert.strictEqual((yield* honest.auth.login("it")).status, "connected")
    })
  )

  live(
    "must be the origin of the configured login page, or the configured issuer",
    Effect.gen(function* () {
      const none = { as: { metadata: "none", iss: "wrong" }, description: "none" } as const
      const stranger = yield* world({ ...none, oauth: configured })
      assert.deepInclude(yield* Effect.flip(stranger.auth.login("it")), { reason: "issuer_mismatch" })
      assert.deepStrictEqual(stranger.as.asked("/token"), [])

      const honest = yield* world({ ...none, as: { metadata: "none", iss: "on" }, oauth: configured })
      assert.strictEqual((yield* honest.auth.login("it")).status, "connected")

      // the name that it gives in its answers
      const issuer = "https://other.example"
      const named = yield* world({ ...none, oauth: (as) => ({ ...configured(as), issuer }) })
      assert.strictEqual((yield* named.auth.login("it")).status, "connected")
    })
  )

  live(
    "must not be empty or repeated",
    Effect.gen(function* () {
      const { as, auth, entry } = yield* world({ as: { metadata: "none" } })
      const there = `http://127.0.0.1:${entry.oauth.callbackPort}/mcp/oauth/callback`
      const right = encodeURIComponent(as.url)
      for (const answer of ["iss=", `iss=${right}&iss=https%3A%2F%2Fother.example`, `iss=${right}%2Fpath`]) {
        const { state } = yield* auth.startLogin("it")
        const text = `${there}?code=theirs&state=${state}&${answer}`
        assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", text)), { reason: "issuer_mismatch" }, answer)
      }
      assert.deepStrictEqual(as.asked("/token"), [])
    })
  )

  live(
    "is the configured one: metadata of others is not used",
    Effect.gen(function* () {
      const { as, auth } = yield* world({ oauth: () => ({ issuer: "https://idp.example" }) })
      assert.deepInclude(yield* Effect.flip(auth.login("it")), { reason: "issuer_mismatch" })
      assert.deepStrictEqual(as.asked("/register"), [])
    })
  )
})

describe.concurrent("endpoints that are configured with a secret", () => {
  live(
    "are the only ones used, whatever the server publishes",
    Effect.gen(function* () {
      const idp = yield* authServer({ metadata: "none" })
      idp.clients.set("mine", { clientId: "mine", secret: "CORPSECRET", redirectUris: undefined })
      const hostile = yield* world({ oauth: () => ({ ...configured(idp, "mine"), clientSecret: "CORPSECRET" }) })
      yield* Effect.either(hostile.auth.login("it"))
      assert.strictEqual(new URL(hostile.browser.opened[0]!).origin, idp.url)
      assert.isAtLeast(idp.asked("/token").length, 1)
      // the server has named it, and it is not asked for anything
      assert.deepStrictEqual(hostile.as.journal, [])
    })
  )

  for (const given of ["authorizationUrl", "tokenUrl"] as const) {
    live(
      `with only "${given}", the other one must be published by the same origin`,
      Effect.gen(function* () {
        const idp = yield* authServer()
        idp.clients.set("mine", { clientId: "mine", secret: "CORPSECRET", redirectUris: undefined })
        const oauth = { clientId: "mine", clientSecret: "CORPSECRET", [given]: configured(idp)[given] }
        const hostile = yield* world({ oauth: () => oauth })
        yield* Effect.either(hostile.auth.login("it"))
        assert.isAtLeast(idp.asked("/token").length, 1)
        assert.deepStrictEqual(hostile.as.journal, [])

        // another origin for the other one
        idp.switches.published = {
          authorization_endpoint: `${hostile.as.url}/authorize`,
          token_endpoint: `${hostile.as.url}/token`
        }
        const error = yield* Effect.flip(hostile.auth.login("it"))
        assert.strictEqual(error._tag === "AuthError" && error.reason, "incompatible_server")
        assert.include(error.message, given === "tokenUrl" ? "authorizationUrl" : "tokenUrl")
        assert.deepStrictEqual(hostile.as.journal, [])
      })
    )
  }

  for (const given of ["authorizationUrl", "tokenUrl", "both"] as const) {
    live(
      `with ${given}, another tenant of the same origin receives neither the page nor the secret`,
      Effect.gen(function* () {
        const idp = yield* authServer()
        idp.clients.set("mine", { clientId: "mine", secret: "CORPSECRET", redirectUris: undefined })
        const { authorizationUrl, tokenUrl } = {
          authorizationUrl: `${idp.url}/corp/authorize`,
          tokenUrl: `${idp.url}/corp/token`
        }
        const keys =
          given === "both" ? { authorizationUrl, tokenUrl } : { [given]: { authorizationUrl, tokenUrl }[given] }
        // the metadata of the idp is that of the other tenant: its endpoints are /authorize and /token
        const oauth = { clientId: "mine", clientSecret: "CORPSECRET", ...keys }
        const { auth, entry } = yield* world({ oauth: () => oauth })
        const begun = yield* Effect.either(auth.startLogin("it"))
        assert.strictEqual(begun._tag, given === "both" ? "Right" : "Left")
        if (begun._tag === "Right") {
          assert.strictEqual(new URL(begun.right.authorizationUrl).pathname, "/corp/authorize")
          const there = `http://127.0.0.1:${entry.oauth.callbackPort}/mcp/oauth/callback`
          yield* Effect.either(auth.finishLogin("it", `${there}?code=mine&state=${begun.right.state}`))
          assert.lengthOf(idp.asked("/corp/token"), 1)
        } else assert.deepInclude(begun.left, { reason: "incompatible_server" })
        assert.deepStrictEqual(idp.asked("/token"), [])
      })
    )
  }

  live(
    "receive no refresh token of another authorization server, which receives no secret",
    Effect.gen(function* () {
      const idp = yield* authServer({ metadata: "none" })
      const { as, auth, entry, supervisor } = yield* world({ oauth: () => ({ clientId: "open" }) })
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      const before = as.asked("/token").length
      as.expire()
      const oauth = { ...entry.oauth, ...configured(idp, "open"), clientSecret: "CORPSECRET" }
      yield* supervisor.reconcile({ servers: { it: { ...entry, oauth } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual(as.asked("/token").length, before)
      assert.deepStrictEqual(idp.journal, [])
    })
  )
})

describe.concurrent("published metadata", () => {
  for (const metadata of ["oauth", "oidc"] as const) {
    for (const methods of [undefined, [], ["plain"]]) {
      live(
        `for ${metadata} with the PKCE methods ${JSON.stringify(methods)} is rejected, unless assumePkce is set`,
        Effect.gen(function* () {
          const as = { metadata, published: { code_challenge_methods_supported: methods } }
          const silent = yield* world({ as })
          const error = yield* Effect.flip(silent.auth.login("it"))
          assert.deepInclude(error, { _tag: "AuthError", reason: "incompatible_server" })
          assert.include(error.message, `"assumePkce": true`)
          assert.deepStrictEqual(silent.as.asked("/register"), [])
          assert.deepStrictEqual(silent.browser.opened, [])
          const allowed = yield* world({ as, oauth: () => ({ assumePkce: true }) })
          assert.strictEqual((yield* allowed.auth.login("it")).status, "connected")
        })
      )
    }
  }

  live(
    "without PKCE is accepted for client credentials, which need no page",
    Effect.gen(function* () {
      const { supervisor } = yield* world({
        as: { published: { code_challenge_methods_supported: undefined } },
        oauth: () => ({ grant: "client_credentials", clientId: "mine", clientSecret: "CORPSECRET" })
      })
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  const unusable: ReadonlyArray<readonly [field: string, address: string, reason: string]> = [
    ["token_endpoint", "http://evil.example/token", "insecure_token_endpoint"],
    ["token_endpoint", "http://8.8.8.8/token", "insecure_token_endpoint"],
    ["registration_endpoint", "http://evil.example/register", "insecure_registration_endpoint"],
    ["authorization_endpoint", "http://evil.example/authorize", "insecure_authorization_endpoint"]
  ]
  for (const [field, address, reason] of unusable) {
    live(
      `with the ${field} ${address} is rejected before a client is registered and a page is opened`,
      Effect.gen(function* () {
        const { as, auth, browser, supervisor } = yield* world({ as: { published: { [field]: address } } })
        assert.deepInclude(yield* Effect.flip(auth.login("it")), { _tag: "AuthError", reason })
        assert.deepStrictEqual(as.asked("/register"), [])
        assert.deepStrictEqual(browser.opened, [])
        // Also before a login.
        assert.include((yield* awaitStatus(supervisor, "it", "failed")).error, "not encrypted")
      })
    )
  }

  live(
    "may name an unencrypted registration endpoint if the client is configured",
    Effect.gen(function* () {
      const { auth } = yield* world({
        as: { published: { registration_endpoint: "http://evil.example/register" } },
        oauth: () => ({ clientId: "open" })
      })
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )
})
