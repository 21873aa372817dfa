/** Runs the commands and routes of the opencode documentation, one by one and in order. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { authServer } from "../support/authServer.js"
import { protectedServer } from "../support/protectedServer.js"
import { greet, places } from "../support/cli.js"
import { entryFor } from "../support/loggedIn.js"
import { live } from "../support/supervised.js"

const newPlace = places()

describe("the commands known from opencode", () => {
  it("add, list, test, status, reload and remove work as in its documentation", async () => {
    const here = await newPlace()
    const ok = async (...words: ReadonlyArray<string>) => {
      const { code, stderr, stdout } = await here.run(words)
      assert.strictEqual(code, 0, `${words.join(" ")}: ${stderr}`)
      return stdout
    }
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    assert.include(await ok("add", "my-server", "--command", "node", "--args", greet.args[0]!), "added my-server")
    assert.match(await ok("list"), /my-server +● connected/)
    assert.include(await ok("add", "github", "--url", "https://mcp.example.invalid", "--oauth"), "added github")
    assert.include(await ok("list"), "github")
    assert.include(await ok("remove", "github"), "removed github")
    assert.include(await ok("test", "my-server"), "my-server works")
    assert.match(await ok("status"), /my-server +● connected/)
    assert.include(await ok("reload"), "no changes")
    assert.match(await ok("stop"), /^stopped/)
  })
})

describe("the routes known from opencode", () => {
  live(
    "GET and POST /mcp, connect, disconnect, auth, auth/callback and DELETE auth, of a supervisor that serves",
    Effect.gen(function* () {
      const rs = yield* protectedServer(yield* authServer())
      const entry = yield* entryFor(rs.url)
      const here = yield* Effect.promise(newPlace)
      const started = yield* Effect.promise(() => here.run(["start", "--port", "0", "--json"]))
      assert.strictEqual(started.code, 0, started.stderr)
      const { address } = JSON.parse(started.stdout)
      const token = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
      const ask = (method: string, path: string, body?: unknown) =>
        Effect.promise(async () => {
          const answer = await fetch(address + path, {
            method,
            headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
            ...(body === undefined ? {} : { body: JSON.stringify(body) })
          })
          const json = JSON.parse(await answer.text())
          assert.strictEqual(answer.status, 200, `${method} ${path}: ${JSON.stringify(json)}`)
          return json
        })

      assert.deepStrictEqual(yield* ask("GET", "/mcp"), {})
      assert.hasAllKeys(yield* ask("POST", "/mcp", { name: "it", config: entry }), ["it"])
      assert.strictEqual((yield* ask("POST", "/mcp/it/connect")).status, "needs_auth")
      const { authorizationUrl, state } = yield* ask("POST", "/mcp/it/auth")
      const back = yield* Effect.promise(() => fetch(authorizationUrl, { redirect: "manual" }))
      const code = new URL(back.headers.get("location") ?? "").searchParams.get("code")
      assert.strictEqual((yield* ask("POST", "/mcp/it/auth/callback", { code, state })).status, "connected")
      assert.strictEqual((yield* ask("POST", "/mcp/it/disconnect")).status, "disabled")
      assert.strictEqual((yield* ask("POST", "/mcp/it/connect")).status, "connected")
      assert.notStrictEqual((yield* ask("DELETE", "/mcp/it/auth")).status, "connected")
      assert.strictEqual((yield* ask("POST", "/mcp/it/connect")).status, "needs_auth")
      yield* Effect.promise(() => here.run(["stop"]))
    })
  )
})
