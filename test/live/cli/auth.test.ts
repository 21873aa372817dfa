/** Logging in from the command line: with a supervisor in the background and without, and finding out why it fails. */
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer } from "../support/authServer.js"
import { protectedServer } from "../support/protectedServer.js"
import { hasTerminal, type Place, place } from "../support/cli.js"
import { entryFor } from "../support/loggedIn.js"
import { proxyTo } from "../support/proxy.js"
import * as Raw from "../support/rawHttp.js"
import { live } from "../support/supervised.js"

const newPlace = Effect.acquireRelease(Effect.promise(place), (here) => Effect.sync(here.remove))

/** Runs `auth` and follows the URL that it prints. Ends earlier if the login fails. */
const logIn = async (here: Place) => {
  const login = await here.begin(["auth", "it"])
  const page = login.said(/http:\/\/\S+state=\S+(?=\n)/).then((url) => fetch(url).then((response) => response.text()))
  await Promise.race([page.catch(() => undefined), login.ended])
  return login.ended
}

describe("auth", () => {
  live(
    "logs in and out, and debug reports what is missing in between",
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
      assert.match(why.stdout, /✓ registration +a client is registered at http\S+register/)
      assert.match(why.stdout, /✗ token +none is stored/)
      assert.match(why.stdout, /it requires a login: mcp-supervisor auth it\n$/)

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

describe("debug", () => {
  live(
    "makes the decisions of a login",
    Effect.gen(function* () {
      const here = yield* newPlace
      /** Returns what `debug` and `auth` print for a server. */
      const compare = (
        as: Parameters<typeof authServer>[0],
        rs: Parameters<typeof protectedServer>[1],
        test: (outcome: {
          readonly authUrl: string
          readonly serverUrl: string
          readonly debug: string
          readonly auth: string
        }) => void
      ) =>
        Effect.gen(function* () {
          const authorization = yield* authServer(as)
          const server = yield* protectedServer(authorization, rs)
          here.configure({ it: yield* entryFor(server.url) })
          const debug = yield* Effect.promise(() => here.run(["debug", "it"]))
          const auth = yield* Effect.promise(() => logIn(here))
          test({
            authUrl: authorization.url,
            serverUrl: server.url,
            debug: debug.stdout,
            auth: auth.stdout + auth.stderr
          })
        })
      // Metadata only at the last of the fallback addresses.
      yield* compare({ metadata: "oidc" }, { description: "root" }, ({ auth, authUrl, debug }) => {
        assert.match(debug, /✗ resource +GET \S+oauth-protected-resource\/mcp: HTTP 404/)
        assert.match(debug, /✓ resource +GET \S+oauth-protected-resource: HTTP 200, logs in at /)
        assert.match(debug, /✗ authorization +GET \S+oauth-authorization-server: HTTP 404/)
        assert.include(debug, `openid-configuration: HTTP 200, issuer ${authUrl}`)
        assert.include(debug, `page ${authUrl}/authorize`)
        assert.include(auth, "it: logged in, connected")
      })
      // The address that the challenge names does not exist.
      yield* compare({}, { description: "named", isMisled: true }, ({ auth, debug }) => {
        assert.match(debug, /✗ resource +GET \S+described\/here: HTTP 404/)
        assert.match(debug, /✓ login /)
        assert.include(auth, "it: logged in, connected")
      })
      // Metadata that is rejected.
      const issuer = "https://other.example"
      yield* compare({ issuer }, {}, ({ auth, debug }) => {
        assert.match(debug, /✗ authorization +GET \S+: HTTP 200, rejected: issuer_mismatch: /)
        const [, reason] = /✗ login +(issuer_mismatch: [^\n]+)/.exec(debug) ?? []
        assert.isDefined(reason)
        assert.include(auth, reason!.replace(/^issuer_mismatch: /, ""))
      })
      const resource = "https://other.example/mcp"
      yield* compare({}, { resource }, ({ auth, debug }) => {
        const [, reason] = /✗ login +(resource_mismatch: [^\n]+)/.exec(debug) ?? []
        assert.isDefined(reason)
        assert.include(auth, reason!.replace(/^resource_mismatch: /, ""))
      })
    }),
    180_000
  )
})

describe("a server on the internet", () => {
  live(
    "sends no request to this machine by its metadata, and debug says so",
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
    "completes a login with the URL that is pasted on a terminal",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const here = yield* newPlace
      // nobody listens where the browser comes back to, as when it runs on another machine
      here.configure({ it: yield* entryFor(rs.url, { redirectUri: "http://127.0.0.1:1/mcp/oauth/callback" }) })
      const login = here.beginOnTerminal(["auth", "it", "--json"], [], { columns: 2000, rows: 24 })
      const url = yield* Effect.promise(() => login.said(/http:\/\/\S+state=\S+(?=\r\n)/))
      const answer = yield* Effect.promise(() => fetch(url, { redirect: "manual" }))
      yield* Effect.promise(() => login.said("paste the URL"))
      login.child.stdin.write(`${answer.headers.get("location")}\r`)
      const { code, stdout } = yield* Effect.promise(() => login.ended)
      assert.strictEqual(code, 0, stdout)
      assert.strictEqual(stdout.split(url).length, 2, "the page is named once")
      assert.include(stdout, '"status": "connected"')
    }),
    180_000
  )
})
