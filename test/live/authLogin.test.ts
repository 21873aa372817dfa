import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer, person, protectedServer } from "./support/authServer.js"
import { entryFor, kept, superviseBoth } from "./support/loggedIn.js"
import { textOf } from "./support/session.js"
import { awaitStatus, live } from "./support/supervised.js"

describe.concurrent("a login", () => {
  live(
    "brings a server that wants one from needs_auth to connected, and its tokens into the store",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const somebody = person()
      const { auth, stateDir, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url) },
        openUrl: somebody.openUrl
      })
      const before = yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.include(before.hint, "mcp-supervisor auth it")
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.deepStrictEqual(somebody.opened, [])
      const after = yield* auth.login("it")
      assert.strictEqual(after.status, "connected")
      assert.strictEqual(somebody.opened.length, 1)
      assert.strictEqual(yield* auth.status("it"), "authenticated")
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      const [login] = kept(stateDir)
      assert.strictEqual(login?.serverUrl, rs.url)
      assert.strictEqual(login?.issuer, as.url)
      assert.isDefined(login?.tokens?.refreshToken)
      assert.isUndefined(login?.login)
      yield* Effect.promise(async () => {
        while (somebody.seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
      })
      assert.include(somebody.seen[0]?.text, "Logged in")
    })
  )
})
