import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, superviseBoth, waiting } from "../support/loggedIn.js"
import * as Raw from "../support/rawHttp.js"
import { textOf } from "../support/session.js"
import { awaitStatus, live } from "../support/supervised.js"

describe.concurrent("a login without a required scope", () => {
  live(
    "fails the call with the missing scope; the next login requests both, and the call succeeds",
    Effect.gen(function* () {
      const { as, auth, supervisor } = yield* waiting({ rs: { scope: "read", toolScope: "write" } })
      yield* auth.login("it")
      assert.strictEqual(as.asked("/authorize")[0]?.get("scope"), "read")
      const error = yield* Effect.flip(supervisor.callTool("it_admin"))
      assert.deepInclude(error, { _tag: "AuthRequired", scope: "write", login: true })
      // The connection stays open, and the token is not refreshed.
      assert.strictEqual((yield* supervisor.server("it")).status.status, "connected")
      assert.strictEqual(as.given("refresh_token"), 0)
      yield* auth.login("it")
      assert.strictEqual(as.asked("/authorize")[1]?.get("scope"), "read write")
      assert.strictEqual(textOf(yield* supervisor.callTool("it_admin")), "called")
    })
  )

  live(
    "is requested again at most twice",
    Effect.gen(function* () {
      const { as, auth, supervisor } = yield* waiting({ rs: { scope: "read", toolScope: "write", endless403: true } })
      yield* auth.login("it")
      let rounds = 0
      while (true) {
        const error = yield* Effect.flip(supervisor.callTool("it_admin"))
        assert.strictEqual(error._tag, "AuthRequired")
        if (error._tag !== "AuthRequired" || !error.login) break
        rounds += 1
        yield* auth.login("it")
      }
      assert.strictEqual(rounds, 2)
      assert.strictEqual(as.asked("/authorize").length, 3)
    })
  )
})

describe.concurrent("a server that rejects every scope", () => {
  live(
    "cannot demand the same scopes again in another order",
    Effect.gen(function* () {
      const { auth, rs, supervisor } = yield* waiting({ rs: { toolScope: "a b", endless403: true } })
      yield* auth.login("it")
      let rounds = 0
      while (rounds < 5) {
        rs.switches.toolScope = rounds % 2 === 0 ? "a b" : "b a"
        const error = yield* Effect.flip(supervisor.callTool("it_admin"))
        assert.strictEqual(error._tag, "AuthRequired")
        if (error._tag !== "AuthRequired" || !error.login) break
        rounds += 1
        yield* auth.login("it")
      }
      assert.strictEqual(rounds, 2)
    })
  )

  live(
    "cannot make an error show the token that it echoes",
    Effect.gen(function* () {
      const as = yield* authServer()
      let status = 403
      const rs = yield* protectedServer(as, {}, (received, response) => {
        if (!Raw.isCall(received)) return false
        const token = received.headers.authorization?.slice(7)
        const error = status === 403 ? "insufficient_scope" : "invalid_token"
        Raw.status(response, status, { "www-authenticate": `Bearer error="${error}", scope="more ${token}"` })
        return true
      })
      const { auth, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url) },
        openUrl: person().openUrl
      })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      yield* auth.login("it")
      for (status of [403, 401]) {
        const error = yield* Effect.flip(supervisor.callTool("it_echo"))
        assert.deepInclude(error, { _tag: "AuthRequired", scope: "more" })
        const shown = JSON.stringify([error, yield* supervisor.servers]) + String(error)
        for (const secret of as.secrets()) assert.notInclude(shown, secret)
      }
    })
  )
})
