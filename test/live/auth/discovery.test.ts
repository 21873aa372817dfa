import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer, type Switches } from "../support/authServer.js"
import { person, protectedServer, type Protected } from "../support/protectedServer.js"
import { entryFor, superviseBoth } from "../support/loggedIn.js"
import { awaitStatus, live } from "../support/supervised.js"

const logIn = (rs: Protected, oauth: Record<string, unknown> = {}) =>
  Effect.gen(function* () {
    const { auth, supervisor } = yield* superviseBoth({
      servers: { it: yield* entryFor(rs.url, oauth) },
      openUrl: person().openUrl
    })
    yield* supervisor.awaitSettled()
    return yield* auth.login("it")
  })

describe.concurrent("the discovery of an authorization server", () => {
  for (const description of ["named", "path", "root"] as const) {
    for (const metadata of ["oauth", "oidc"] as const) {
      live(
        `finds resource metadata (${description}) and metadata for ${metadata}`,
        Effect.gen(function* () {
          const as = yield* authServer({ metadata })
          const rs = yield* protectedServer(as, { description })
          assert.strictEqual((yield* logIn(rs)).status, "connected")
          assert.strictEqual(as.asked("/authorize")[0]?.get("resource"), rs.url)
        })
      )
    }
  }

  for (const status of [401, 403, 404]) {
    live(
      `finds resource metadata at the root if the other address responds ${status}`,
      Effect.gen(function* () {
        const as = yield* authServer()
        const rs = yield* protectedServer(as, { description: "root" })
        rs.switches.elsewhere = status
        assert.strictEqual((yield* logIn(rs)).status, "connected")
      })
    )
  }

  live(
    "finds resource metadata although the challenge names a wrong address",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as, { description: "named" })
      rs.switches.isMisled = true
      assert.strictEqual((yield* logIn(rs)).status, "connected")
    })
  )

  live(
    "accepts an issuer with and without a trailing slash",
    Effect.gen(function* () {
      const as = yield* authServer()
      as.switches.issuer = `${as.url}/`
      const rs = yield* protectedServer(as)
      rs.switches.resource = new URL(rs.url).origin
      assert.strictEqual((yield* logIn(rs)).status, "connected")
      // as the document spells it
      assert.strictEqual(as.asked("/authorize")[0]?.get("resource"), new URL(rs.url).origin)
    })
  )

  live(
    "uses the endpoints of the config if nothing is published",
    Effect.gen(function* () {
      const as = yield* authServer({ metadata: "none", registration: "off" })
      as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
      const rs = yield* protectedServer(as, { description: "none" })
      const oauth = { clientId: "mine", authorizationUrl: `${as.url}/authorize`, tokenUrl: `${as.url}/token` }
      assert.strictEqual((yield* logIn(rs, oauth)).status, "connected")
      as.expire()
    })
  )

  const refusals: ReadonlyArray<{
    readonly name: string
    readonly reason: string
    readonly as?: (as: Switches) => void
    readonly rs?: (rs: Protected) => void
  }> = [
    {
      name: "an authorization server with another issuer",
      reason: "issuer_mismatch",
      as: (switches) => {
        switches.issuer = "https://other.example"
      }
    },
    {
      name: "a server with metadata of another resource",
      reason: "resource_mismatch",
      rs: ({ switches }) => {
        switches.resource = "https://other.example/mcp"
      }
    }
  ]
  for (const { as: change, name, reason, rs: spoil } of refusals) {
    live(
      `rejects ${name}: sends nothing there, and the status says why`,
      Effect.gen(function* () {
        const as = yield* authServer()
        const rs = yield* protectedServer(as)
        change?.(as.switches)
        spoil?.(rs)
        const { auth, supervisor } = yield* superviseBoth({ servers: { it: yield* entryFor(rs.url) } })
        const status = yield* awaitStatus(supervisor, "it", "failed")
        assert.strictEqual(status.errorTag, "AuthError")
        assert.include(status.error, reason)
        assert.isUndefined(status.retryAt)
        assert.deepInclude(yield* Effect.flip(auth.login("it")), { _tag: "AuthError", reason })
        assert.deepStrictEqual(as.asked("/register"), [])
        assert.deepStrictEqual(as.asked("/authorize"), [])
      })
    )
  }

  live(
    "finds nothing for a server without a login: needs_auth, and after a login the hint to set a header",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as, { description: "none" })
      const { auth, supervisor } = yield* superviseBoth({ servers: { it: yield* entryFor(rs.url) } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.deepInclude(yield* Effect.flip(auth.login("it")), { _tag: "AuthError", reason: "no_login" })
      yield* awaitStatus(supervisor, "it", "needs_auth", ({ hint }) => hint.includes(`"headers"`))
    })
  )

  live(
    "selects the requested scopes, else the published ones, and offline_access if it is published",
    Effect.gen(function* () {
      const asked = (
        rsSwitches: Parameters<typeof protectedServer>[1],
        scopes: ReadonlyArray<string> | undefined,
        oauth: Record<string, unknown> = {}
      ) =>
        Effect.gen(function* () {
          const as = yield* authServer({ scopes })
          const rs = yield* protectedServer(as, rsSwitches)
          yield* logIn(rs, oauth)
          return as.asked("/authorize")[0]?.get("scope") ?? undefined
        })
      const known = ["a", "b"]
      assert.strictEqual(yield* asked({ scope: "x", scopesSupported: known }, undefined), "x")
      assert.strictEqual(yield* asked({ scopesSupported: known }, undefined), "a b")
      assert.isUndefined(yield* asked({}, undefined))
      assert.strictEqual(yield* asked({ scopesSupported: known }, undefined, { scope: "mine" }), "mine")
      assert.strictEqual(yield* asked({ scope: "x" }, ["x", "offline_access"]), "x offline_access")
    })
  )
})
