/** Logins to servers of a project file that is not trusted. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { superviseBoth } from "../support/loggedIn.js"
import { live } from "../support/supervised.js"

/** An address that counts who asks it. */
const counting = Effect.acquireRelease(
  Effect.async<{ readonly url: string; readonly asked: () => number; readonly close: () => void }>((resume) => {
    let asked = 0
    const server = createServer((_request, response) => {
      asked += 1
      response.writeHead(404).end()
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => {
        server.close()
        server.closeAllConnections()
      }
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}/mcp`, asked: () => asked, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("a login to a server that is not trusted", () => {
  live(
    "fails before any request is sent, and names the next step",
    Effect.gen(function* () {
      const { asked, url } = yield* counting
      const { auth, supervisor } = yield* superviseBoth({ servers: {} })
      yield* supervisor.reconcile({
        servers: { theirs: { type: "http", url }, local: { command: "untrusted" } },
        untrusted: ["theirs", "local"]
      })
      const logins = (name: string) => [
        auth.login(name),
        auth.startLogin(name),
        auth.finishLogin(name, "http://127.0.0.1:1/?code=c&state=s")
      ]
      for (const attempt of [...logins("theirs"), ...logins("local")]) {
        const error = yield* Effect.flip(
          attempt as Effect.Effect<
            unknown,
            { readonly _tag: string; readonly reason?: string; readonly message: string }
          >
        )
        assert.deepInclude(error, { _tag: "AuthError", reason: "not_trusted" })
        assert.include(error.message, "mcp-supervisor trust")
      }
      assert.strictEqual(asked(), 0)
      assert.strictEqual(yield* auth.status("theirs"), "not_authenticated")
    })
  )
})
