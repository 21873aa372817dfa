import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, superviseBoth } from "../support/loggedIn.js"
import * as Raw from "../support/rawHttp.js"
import { textOf } from "../support/session.js"
import { awaitStatus, live, serveAt, withTools } from "../support/supervised.js"

/** A server that takes the bearers in the set. */
const withBearers = (good: Set<string>, challenge = "Bearer") =>
  serveAt(
    0,
    withTools(["echo"], (received, response) => {
      if (good.has((received.headers.authorization ?? "").replace("Bearer ", ""))) return false
      Raw.status(response, 401, { "www-authenticate": challenge })
      return true
    })
  )

describe.concurrent("provided headers", () => {
  live(
    "are requested for each attempt, and once more after a 401, also in a session, once for all requests",
    Effect.gen(function* () {
      const good = new Set(["one"])
      const server = yield* withBearers(good)
      const asked: Array<string> = []
      let current = "zero"
      const { supervisor } = yield* superviseBoth({
        servers: { it: { url: server.url } },
        headers: (name, reason) =>
          Effect.sync(() => {
            asked.push(`${name} ${reason}`)
            if (reason === "unauthorized") current = [...good][0]!
            return { Authorization: Redacted.make(`Bearer ${current}`) }
          })
      })
      yield* awaitStatus(supervisor, "it", "connected")
      assert.deepStrictEqual(asked, ["it connect", "it unauthorized"])
      good.clear()
      good.add("two")
      const calls = Array.from({ length: 20 }, () => Effect.map(supervisor.callTool("it_echo"), textOf))
      const results = yield* Effect.all(calls, { concurrency: "unbounded" })
      assert.deepStrictEqual(new Set(results), new Set(["called"]))
      assert.deepStrictEqual(asked, ["it connect", "it unauthorized", "it unauthorized"])
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
    })
  )

  live(
    "that stay invalid end in needs_auth without a discovery",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      let asked = 0
      const { auth, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url) },
        headers: () => Effect.sync(() => ({ authorization: Redacted.make(`Bearer wrong-${++asked}`) }))
      })
      const status = yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.include(status.hint, `"headers"`)
      assert.strictEqual(asked, 2)
      assert.deepStrictEqual(as.journal, [])
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual(rs.received.length, 2)
    })
  )

  for (const oauth of [undefined, false] as const) {
    live(
      `may have any name, also where a login is ${oauth === false ? "not " : ""}possible`,
      Effect.gen(function* () {
        let good = "one"
        let current = "one"
        const server = yield* serveAt(
          0,
          withTools(["echo"], (received, response) => {
            if (received.headers["x-api-key"] === good) return false
            Raw.status(response, 401)
            return true
          })
        )
        const asked: Array<string> = []
        const { supervisor } = yield* superviseBoth({
          servers: { it: { url: server.url, ...(oauth === undefined ? {} : { oauth }) } },
          headers: (_, reason) =>
            Effect.sync(() => {
              asked.push(reason)
              if (reason === "unauthorized") current = good
              return { "X-Api-Key": Redacted.make(current) }
            })
        })
        yield* awaitStatus(supervisor, "it", "connected")
        good = "two"
        assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
        assert.deepStrictEqual(asked, ["connect", "unauthorized"])
      })
    )
  }

  live(
    "are hidden if a server repeats them as a scope",
    Effect.gen(function* () {
      const server = yield* serveAt(
        0,
        withTools(["echo"], (received, response) => {
          if (!Raw.isCall(received)) return false
          const token = received.headers.authorization?.slice(7)
          const challenge = `Bearer error="insufficient_scope", scope="more ${token}"`
          Raw.status(response, 403, { "www-authenticate": challenge })
          return true
        })
      )
      const { supervisor } = yield* superviseBoth({
        servers: { it: { url: server.url } },
        headers: () => Effect.succeed({ Authorization: Redacted.make("Bearer marked-secret") })
      })
      yield* awaitStatus(supervisor, "it", "connected")
      const error = yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepInclude(error, { _tag: "AuthRequired", scope: "more" })
      assert.notInclude(JSON.stringify(error) + String(error), "marked-secret")
    })
  )

  live(
    "are sent together with the token of a login",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const { auth, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url) },
        headers: () => Effect.succeed({ "X-Tenant": Redacted.make("mine") }),
        openUrl: person().openUrl
      })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      as.expire()
      yield* supervisor.callTool("it_echo")
      assert.deepStrictEqual(new Set(rs.received.map(({ headers }) => headers["x-tenant"])), new Set(["mine"]))
      assert.strictEqual(as.given("refresh_token"), 1)
    })
  )
})
