/** Logging in from the command line: with a supervisor in the background and without, and finding out why it fails. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer, protectedServer } from "../support/authServer.js"
import { hasTerminal, type Place, place } from "../support/cli.js"
import { entryFor } from "../support/loggedIn.js"
import { proxyTo } from "../support/proxy.js"
import * as Raw from "../support/rawHttp.js"
import { live } from "../support/supervised.js"

const newPlace = Effect.acquireRelease(Effect.promise(place), (here) => Effect.sync(here.remove))

/** Somebody who follows the address that is shown, wherever it leads. */
const logIn = async (here: Place): Promise<{ readonly code: number | null; readonly stdout: string }> => {
  const login = await here.begin(["auth", "it"])
  const url = await login.said(/http:\/\/\S+state=\S+(?=\n)/)
  await fetch(url).then((answer) => answer.text())
  return login.ended
}

describe("auth", () => {
  live(
    "logs in and out, and debug says what is missing in between",
    Effect.gen(function* () {
      const as = yield* authServer({ scopes: ["read"] })
      const rs = yield* protectedServer(as)
      const here = yield* newPlace
      here.configure({ it: yield* entryFor(rs.url) })
      const run = (...words: ReadonlyArray<string>) => Effect.promise(() => here.run(words))

      const before = yield* run("test", "it")
      assert.strictEqual(before.code, 3)
      assert.include(before.stdout, "mcp-supervisor auth it")
      const why = yield* run("debug", "it")
      assert.strictEqual(why.code, 3)
      for (const text of [
        "HTTP 401",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-authorization-server"
      ]) {
        assert.include(why.stdout, text)
      }
      assert.match(why.stdout, /✓ login +page http\S+authorize, tokens from http\S+token, issuer http/)
      assert.match(why.stdout, /✓ registration +we register ourselves/)
      assert.match(why.stdout, /✗ token +none is kept/)
      assert.match(why.stdout, /it wants a login: mcp-supervisor auth it\n$/)

      as.switches.published = { code_challenge_methods_supported: undefined }
      assert.match((yield* run("debug", "it")).stdout, /✗ login +incompatible_server: .*"assumePkce": true/)
      as.switches.published = {}

      // for the time of the command
      const alone = yield* Effect.promise(() => logIn(here))
      assert.strictEqual(alone.code, 0, alone.stdout)
      assert.include(alone.stdout, "it: logged in, connected")
      assert.include((yield* run("auth", "list")).stdout, "authenticated")
      const good = yield* run("debug", "it")
      assert.strictEqual(good.code, 0, good.stdout)
      assert.match(good.stdout, /✓ token +/)
      const forgotten = yield* run("logout", "it", "--json")
      assert.deepStrictEqual(JSON.parse(forgotten.stdout), { server: "it", login: "not_authenticated" })

      // with a supervisor in the background
      const started = yield* run("start", "--port", "0")
      assert.strictEqual(started.code, 0, started.stderr)
      assert.strictEqual((yield* run("logout", "it")).code, 0)
      const [login] = JSON.parse((yield* run("auth", "list", "--json")).stdout)
      assert.deepInclude(login, { server: "it", login: "not_authenticated" })
      const again = yield* Effect.promise(() => logIn(here))
      assert.strictEqual(again.code, 0, again.stdout)
      assert.strictEqual(JSON.parse((yield* run("list", "--json")).stdout).it.status, "connected")
      assert.strictEqual((yield* run("stop")).code, 0)
    }),
    180_000
  )
})

describe("a server on the internet", () => {
  live(
    "leads to no address of this machine by what it publishes, and debug says so (security M6)",
    Effect.gen(function* () {
      const internal = yield* Raw.serve((_, response) => void Raw.status(response, 404))
      const internalUrl = new URL("/latest/meta-data/iam?x=1", internal.url)
      const remote = yield* Raw.serve(({ url }, response) => {
        const challenge = `Bearer resource_metadata="${internalUrl.href}"`
        return void Raw.status(response, url === "/mcp" ? 401 : 404, { "www-authenticate": challenge })
      })
      const proxy = yield* proxyTo(remote.url)
      const here = yield* newPlace
      here.configure({ pub: { type: "http", url: "http://mcp.public.example/mcp" } })
      const env = { HTTP_PROXY: proxy.url, http_proxy: proxy.url }
      const run = (...words: ReadonlyArray<string>) => Effect.promise(() => here.run(words, { env }))
      const listed = yield* run("list", "--json")
      assert.include(proxy.asked, "mcp.public.example:80")
      assert.deepStrictEqual(internal.received, [])
      const { pub } = JSON.parse(listed.stdout)
      assert.strictEqual(pub.status, "failed", listed.stdout)
      assert.include(pub.error, "private_address")
      assert.include(pub.error, '"privateNetwork": true')
      const why = yield* run("debug", "pub")
      assert.match(
        why.stdout,
        /✗ resource +GET http:\/\/127\.0\.0\.1:\d+\/latest\/meta-data\/iam\?x=1: .*privateNetwork/
      )
      assert.deepStrictEqual(internal.received, [])

      here.configure({ pub: { type: "http", url: "http://mcp.public.example/mcp", privateNetwork: true } })
      yield* run("list")
      assert.strictEqual(internal.received[0]?.url, "/latest/meta-data/iam?x=1")
    }),
    180_000
  )
})

describe.runIf(hasTerminal)("auth on a terminal", () => {
  live(
    "takes the address that the browser ended at, pasted on a terminal",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const here = yield* newPlace
      // nobody listens where the browser comes back to, as when it runs on another machine
      here.configure({ it: yield* entryFor(rs.url, { redirectUri: "http://127.0.0.1:1/mcp/oauth/callback" }) })
      const login = here.beginOnTerminal(["auth", "it", "--json"], [], { columns: 2000, rows: 24 })
      const url = yield* Effect.promise(() => login.said(/http:\/\/\S+state=\S+(?=\r\n)/))
      const answer = yield* Effect.promise(() => fetch(url, { redirect: "manual" }))
      yield* Effect.promise(() => login.said("paste the address"))
      login.child.stdin.write(`${answer.headers.get("location")}\r`)
      const { code, stdout } = yield* Effect.promise(() => login.ended)
      assert.strictEqual(code, 0, stdout)
      assert.strictEqual(stdout.split(url).length, 2, "the page is named once")
      assert.include(stdout, '"status": "connected"')
    }),
    180_000
  )
})
