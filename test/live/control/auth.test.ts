/** Logging in through the control API, at a real authorization server. */
import { assert, describe } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { McpAuth } from "../../../src/auth/McpAuth.js"
import * as ControlClient from "../../../src/control/ControlClient.js"
import { McpSupervisor } from "../../../src/supervision/model.js"
import { authServer } from "../support/authServer.js"
import { protectedServer } from "../support/protectedServer.js"
import { ask, type Asked, local, serve, token } from "../support/control.js"
import { entryFor, storedLogins, superviseBoth } from "../support/loggedIn.js"
import { textOf } from "../support/session.js"
import { awaitStatus, live } from "../support/supervised.js"

/** The control API with a server that requires a login, and a local one that has no logins. */
const waiting = (as: Parameters<typeof authServer>[0] = {}) =>
  Effect.gen(function* () {
    const authorization = yield* authServer({ iss: "on", ...as })
    const resource = yield* protectedServer(authorization)
    const servers = { it: yield* entryFor(resource.url), near: { ...local, enabled: false } }
    const both = yield* superviseBoth({ servers })
    const context = Context.make(McpSupervisor, both.supervisor).pipe(Context.add(McpAuth, both.auth))
    const server = yield* Effect.provide(serve({}), context)
    const client = yield* ControlClient.make({ ...server, token: Redacted.make(token) })
    yield* awaitStatus(both.supervisor, "it", "needs_auth")
    return {
      ...both,
      as: authorization,
      client,
      ask: (path: string, asked?: Asked) => ask(server, path, asked),
      post: (path: string, body?: unknown) => ask(server, path, { method: "POST", body })
    }
  })

/** The URL to which the authorization server redirects after consent, without requesting it. */
const endOf = (url: string): Effect.Effect<string> =>
  Effect.promise(async () => (await fetch(url, { redirect: "manual" })).headers.get("location") ?? "")

type Harness = Effect.Effect.Success<ReturnType<typeof waiting>>

const begin = ({ post }: Harness) =>
  Effect.gen(function* () {
    const { json, status } = yield* post("/mcp/it/auth")
    assert.strictEqual(status, 200)
    assert.deepStrictEqual(Object.keys(json).sort(), ["authorizationUrl", "state"])
    assert.strictEqual(new URL(json.authorizationUrl).searchParams.get("state"), json.state)
    const end = yield* endOf(json.authorizationUrl)
    return { end, params: Object.fromEntries(new URL(end).searchParams), state: String(json.state) }
  })

const overview = ({ ask }: Harness) =>
  Effect.map(ask("/auth"), ({ json }) =>
    json.map((each: { server: string; login: string; status: { status: string } }) => [
      each.server,
      each.login,
      each.status.status
    ])
  )

describe.concurrent("a login through the control API", () => {
  live(
    "completes with the parameters of the redirect: { code, state, iss }",
    Effect.gen(function* () {
      const harness = yield* waiting()
      const { as, post, stateDir, supervisor } = harness
      assert.deepStrictEqual(yield* overview(harness), [["it", "not_authenticated", "needs_auth"]])
      const { params, state } = yield* begin(harness)
      assert.deepStrictEqual(Object.keys(params).sort(), ["code", "iss", "state"])
      assert.strictEqual(params.state, state)
      // authorization servers add what they like
      const finished = yield* post("/mcp/it/auth/callback", { ...params, session_state: "x", scope: "a b" })
      assert.deepStrictEqual([finished.status, finished.json.status], [200, "connected"])
      assert.deepStrictEqual(finished.json, (yield* supervisor.server("it")).status)
      assert.deepStrictEqual(yield* overview(harness), [["it", "authenticated", "connected"]])
      assert.strictEqual(as.given("authorization_code"), 1)
      assert.strictEqual(storedLogins(stateDir).length, 1)
      const called = yield* post("/tools/it_echo/call", {})
      assert.strictEqual(textOf(called.json), "called")
    })
  )

  live(
    "completes with the URL of the redirect: { url }",
    Effect.gen(function* () {
      const harness = yield* waiting({ iss: "off" })
      const { client, post } = harness
      const { end } = yield* begin(harness)
      const finished = yield* post("/mcp/it/auth/callback", { url: end })
      assert.deepStrictEqual([finished.status, finished.json.status], [200, "connected"])
      assert.strictEqual((yield* client.auth.list({}))[0]?.login, "authenticated")
    })
  )

  live(
    "completes without iss if the authorization server sends none",
    Effect.gen(function* () {
      const harness = yield* waiting({ iss: "off" })
      const { params } = yield* begin(harness)
      assert.notProperty(params, "iss")
      const finished = yield* harness.post("/mcp/it/auth/callback", params)
      assert.deepStrictEqual([finished.status, finished.json.status], [200, "connected"])
    })
  )

  live(
    "fails with a wrong state, a foreign issuer, or if no login was started",
    Effect.gen(function* () {
      const harness = yield* waiting()
      const { as, post } = harness
      const refused = (path: string, body: unknown, secret = "nothing") =>
        Effect.map(post(path, body), ({ json, status, text }) => {
          assert.notInclude(text, secret)
          return `${status} ${json.error.tag} ${json.error.reason} ${json.error.server}`
        })
      const callback = "/mcp/it/auth/callback"
      const early = { code: "c0de-of-nobody", state: "0".repeat(64) }
      assert.strictEqual(yield* refused(callback, early, early.code), "409 AuthError state_mismatch it")
      const { end, params, state } = yield* begin(harness)
      const { code = "" } = params
      const other = "f".repeat(64)
      for (const body of [{ ...params, state: other }, { url: end.replace(state, other) }]) {
        assert.strictEqual(yield* refused(callback, body, code), "409 AuthError state_mismatch it")
      }
      for (const url of ["", "nonsense", "https://example.test/"]) {
        assert.strictEqual(yield* refused(callback, { url }), "409 AuthError invalid_callback it")
      }
      // none of these has ended the login
      assert.deepStrictEqual(yield* overview(harness), [["it", "not_authenticated", "needs_auth"]])
      const forged = { ...params, iss: "https://somebody.else" }
      assert.strictEqual(yield* refused(callback, forged, code), "409 AuthError issuer_mismatch it")
      assert.strictEqual(yield* refused(callback, params, code), "409 AuthError state_mismatch it")
      assert.strictEqual(as.given("authorization_code"), 0)
      for (const path of ["/mcp/near/auth", "/mcp/near/auth/callback"]) {
        assert.match(yield* refused(path, early), /^409 AuthError \w+ near$/)
      }
      const nobody = yield* post("/mcp/nobody/auth/callback", early)
      assert.deepStrictEqual([nobody.status, nobody.json.error.tag], [404, "ServerNotFound"])
      const both = yield* post(callback, { code: "c" })
      assert.deepStrictEqual([both.status, both.json.error.tag], [400, "BadRequest"])
    })
  )

  live(
    "is deleted by DELETE, and the server requires a login again",
    Effect.gen(function* () {
      const harness = yield* waiting()
      const { ask, post, stateDir, supervisor } = harness
      yield* post("/mcp/it/auth/callback", (yield* begin(harness)).params)
      const forgotten = yield* ask("/mcp/it/auth", { method: "DELETE" })
      assert.strictEqual(forgotten.status, 200)
      assert.isString(forgotten.json.status)
      assert.deepStrictEqual(storedLogins(stateDir), [])
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.deepStrictEqual(yield* overview(harness), [["it", "not_authenticated", "needs_auth"]])
      // nothing to forget is no error
      assert.strictEqual((yield* ask("/mcp/it/auth", { method: "DELETE" })).status, 200)
      const again = yield* post("/mcp/it/auth/callback", (yield* begin(harness)).params)
      assert.strictEqual(again.json.status, "connected")
    })
  )
})
