import { connect, createServer } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect, Either, Fiber, Option } from "effect"
import { makeMemory } from "../../../src/auth/tokens/credentialStorePort.js"
import * as AuthContext from "../../../src/auth/AuthContext.js"
import * as Logins from "../../../src/auth/login/Logins.js"
import { loginTargetOf } from "../../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { authServer, person, protectedServer } from "../support/authServer.js"
import { hasty } from "../support/hasty.js"
import { entryFor, fileIn, kept, superviseBoth } from "../support/loggedIn.js"
import * as Raw from "../support/rawHttp.js"
import { eventually, textOf } from "../support/session.js"
import { awaitStatus, eventsUntil, freePort, live, temporaryDirectory } from "../support/supervised.js"

/** An authorization server, a server behind it, and a supervisor with that one, waiting for a login. */
const waiting = (
  options: {
    readonly as?: Parameters<typeof authServer>[0]
    readonly rs?: Parameters<typeof protectedServer>[1]
    readonly oauth?: Record<string, unknown>
    readonly stateDir?: string
    readonly status?: "needs_auth" | "needs_client_registration"
  } = {}
) =>
  Effect.gen(function* () {
    const as = yield* authServer(options.as)
    const rs = yield* protectedServer(as, options.rs)
    const somebody = person()
    const entry = yield* entryFor(rs.url, options.oauth)
    const both = yield* superviseBoth({
      servers: { it: entry },
      openUrl: somebody.openUrl,
      ...(options.stateDir === undefined ? {} : { stateDir: options.stateDir })
    })
    yield* awaitStatus(both.supervisor, "it", options.status ?? "needs_auth")
    return { ...both, as, rs, somebody, entry }
  })

const portOf = (uri: string) => Number(new URL(uri).port)

/** Somebody else who listens on a port. */
const occupy = (port: number) =>
  Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => socket.destroy())
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

/** Goes to an address and says where it leads, without going there. */
const leadsTo = (url: string) =>
  Effect.promise(() => fetch(url, { redirect: "manual" }).then((answer) => answer.headers.get("location") ?? ""))

const visit = (url: string) =>
  Effect.promise(() => fetch(url).then(async (answer) => ({ status: answer.status, text: await answer.text() })))

describe.concurrent("a login", () => {
  live(
    "brings a server from needs_auth to connected, and its tokens into the store",
    Effect.gen(function* () {
      const { as, auth, rs, somebody, stateDir, supervisor } = yield* waiting()
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(somebody.opened.length, 1)
      assert.strictEqual(yield* auth.status("it"), "authenticated")
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      const [login] = kept(stateDir)
      assert.strictEqual(login?.serverUrl, rs.url)
      assert.strictEqual(login?.issuer, as.url)
      assert.isDefined(login?.tokens?.refreshToken)
      assert.isUndefined(login?.login)
      yield* eventually(() => somebody.seen.length === 1)
      assert.include(somebody.seen[0]?.text, "Logged in")
      const events = yield* eventsUntil(supervisor, (event) => event.type === "Auth" && event.what === "login_finished")
      assert.deepStrictEqual(
        events.flatMap((event) => (event.type === "Auth" ? [event.what] : [])),
        ["login_started", "login_finished"]
      )
      // what was asked for: a proof, a state of 32 bytes, and a token for this server only
      const [asked] = as.asked("/authorize")
      assert.strictEqual(asked?.get("code_challenge_method"), "S256")
      assert.match(asked?.get("state") ?? "", /^[0-9a-f]{64}$/)
      assert.strictEqual(asked?.get("resource"), rs.url)
      assert.strictEqual(as.asked("/token")[0]?.get("resource"), rs.url)
    })
  )

  live(
    "that is forgotten ends the connection, and everything that was kept is gone",
    Effect.gen(function* () {
      const { auth, stateDir, supervisor } = yield* waiting()
      yield* auth.login("it")
      yield* auth.logout("it")
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.deepStrictEqual(kept(stateDir), [])
      assert.strictEqual(yield* auth.status("it"), "not_authenticated")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "pain 35: connects, retries, probes and statuses open no page; a login opens one, however often it is asked for",
    Effect.gen(function* () {
      const { as, auth, somebody, supervisor } = yield* waiting()
      yield* supervisor.connect("it")
      yield* supervisor.restart("it")
      yield* Effect.flip(supervisor.callTool("it_echo"))
      yield* auth.status("it")
      yield* supervisor.servers
      assert.deepStrictEqual(as.asked("/authorize"), [])
      assert.deepStrictEqual(as.asked("/register"), [])
      assert.deepStrictEqual(somebody.opened, [])
      const statuses = yield* Effect.all([auth.login("it"), auth.login("it"), auth.login("it")], { concurrency: 3 })
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ["connected", "connected", "connected"]
      )
      assert.strictEqual(somebody.opened.length, 1)
      assert.strictEqual(as.asked("/authorize").length, 1)
    })
  )

  live(
    "pain 34: that fails leaves the login there is as it was",
    Effect.gen(function* () {
      const { as, auth, stateDir, supervisor } = yield* waiting()
      yield* auth.login("it")
      const before = kept(stateDir)[0]?.tokens
      as.switches.person = "denies"
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "access_denied" })
      assert.deepStrictEqual(kept(stateDir)[0]?.tokens, before)
      as.switches.person = "agrees"
      as.switches.fault = () => "500"
      assert.deepInclude(yield* Effect.flip(auth.login("it")), { _tag: "AuthError", reason: "unavailable" })
      assert.deepStrictEqual(kept(stateDir)[0]?.tokens, before)
      assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
    })
  )

  live(
    "is refused for servers that have none, with what to do",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const { auth, supervisor } = yield* superviseBoth({
        servers: {
          off: { url: rs.url, oauth: false },
          header: { url: rs.url, headers: { Authorization: "Bearer wrong" } },
          local: { command: "node", enabled: false }
        }
      })
      yield* supervisor.awaitSettled()
      const reasons = yield* Effect.forEach(["off", "header", "local"], (name) => Effect.flip(auth.login(name)))
      assert.deepStrictEqual(
        reasons.map((error) => (error._tag === "AuthError" ? error.reason : error._tag)),
        ["oauth_off", "header_set", "not_remote"]
      )
      assert.strictEqual((yield* Effect.flip(auth.login("nobody")))._tag, "ServerNotFound")
      // oauth: false never starts any of it
      for (const name of ["off", "header"]) {
        const status = yield* awaitStatus(supervisor, name, "needs_auth")
        assert.include(status.hint, `"headers"`)
      }
      assert.deepStrictEqual(as.journal, [])
    })
  )
})

describe.concurrent("who we are to an authorization server", () => {
  live(
    "pain 36: a configured client needs no registration, and is used with every method there is",
    Effect.gen(function* () {
      for (const [methods, secret] of [
        [["client_secret_basic"], "a-secret"],
        [["client_secret_post"], "a-secret"],
        [["none"], undefined]
      ] as const) {
        const as = yield* authServer({ registration: "off", methods })
        as.clients.set("configured", { clientId: "configured", secret, redirectUris: undefined })
        const rs = yield* protectedServer(as)
        const oauth = { clientId: "configured", ...(secret === undefined ? {} : { clientSecret: secret }) }
        const { auth, supervisor } = yield* superviseBoth({
          servers: { it: yield* entryFor(rs.url, oauth) },
          openUrl: person().openUrl
        })
        yield* awaitStatus(supervisor, "it", "needs_auth")
        assert.strictEqual((yield* auth.login("it")).status, "connected", methods[0])
        assert.deepStrictEqual(as.asked("/register"), [])
        const isBasic = as.journal.some(({ headers, path }) => path === "/token" && headers.authorization !== undefined)
        assert.strictEqual(isBasic, methods[0] === "client_secret_basic")
        as.expire()
        assert.strictEqual(textOf(yield* supervisor.callTool("it_echo")), "called")
      }
    })
  )

  live(
    "pain 36: a configured secret that is wrong for a while costs no login",
    Effect.gen(function* () {
      const as = yield* authServer({ registration: "off" })
      as.clients.set("configured", { clientId: "configured", secret: "right", redirectUris: undefined })
      const rs = yield* protectedServer(as)
      const stateDir = yield* temporaryDirectory
      const run = (clientSecret: string, status: "needs_auth" | "needs_client_registration" | "connected") =>
        Effect.gen(function* () {
          const servers = { it: yield* entryFor(rs.url, { clientId: "configured", clientSecret }) }
          const { auth, supervisor } = yield* superviseBoth({ servers, stateDir, openUrl: person().openUrl })
          yield* awaitStatus(supervisor, "it", status)
          if (status === "needs_auth") yield* auth.login("it")
        }).pipe(Effect.scoped)
      yield* run("right", "needs_auth")
      as.expire()
      const before = fileIn(stateDir)
      yield* run("wrong", "needs_client_registration")
      assert.strictEqual(fileIn(stateDir), before)
      yield* run("right", "connected")
    })
  )

  live(
    "pain 36: without registration and without a client it is needs_client_registration, with the exact next step",
    Effect.gen(function* () {
      const { as, auth, entry, supervisor } = yield* waiting({
        as: { registration: "off" },
        status: "needs_client_registration"
      })
      const { error, hint } = yield* awaitStatus(supervisor, "it", "needs_client_registration")
      assert.include(error, as.url)
      assert.include(error, `http://127.0.0.1:${entry.oauth.callbackPort}/mcp/oauth/callback`)
      assert.include(hint, `"clientId"`)
      const refused = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(refused, { _tag: "AuthError", reason: "registration_required" })
      // and is left when there is one
      as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
      yield* supervisor.reconcile({ servers: { it: { ...entry, oauth: { ...entry.oauth, clientId: "mine" } } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "pain 36: a registration that is rejected is needs_client_registration, until it is not",
    Effect.gen(function* () {
      const { as, auth, somebody, supervisor } = yield* waiting({ as: { registration: "reject" } })
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "registration_required" })
      yield* awaitStatus(supervisor, "it", "needs_client_registration")
      assert.deepStrictEqual(somebody.opened, [])
      as.switches.registration = "on"
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "pain 37: configured before published before registered",
    Effect.gen(function* () {
      const clientMetadataUrl = "https://client.example/metadata.json"
      const of = (as: Parameters<typeof authServer>[0], oauth: Record<string, unknown>) =>
        Effect.gen(function* () {
          const found = yield* waiting({ as, oauth })
          found.as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
          yield* found.auth.login("it")
          return {
            id: found.as.asked("/authorize")[0]?.get("client_id") ?? "",
            registered: found.as.asked("/register").length
          }
        })
      const both = { clientId: "mine", clientMetadataUrl }
      assert.deepStrictEqual(yield* of({ cimd: true }, both), { id: "mine", registered: 0 })
      assert.deepStrictEqual(yield* of({ cimd: true }, { clientMetadataUrl }), { id: clientMetadataUrl, registered: 0 })
      const registered = yield* of({ cimd: false }, { clientMetadataUrl })
      assert.strictEqual(registered.registered, 1)
      assert.match(registered.id, /^client-/)
    })
  )

  live(
    "pain 37: a published description has to be at a proper address",
    Effect.gen(function* () {
      const { auth } = yield* waiting({ as: { cimd: true }, oauth: { clientMetadataUrl: "http://client.example/" } })
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { reason: "invalid_client_metadata" })
    })
  )

  live(
    "pain 38: a second login comes back to the registered port, and registers anew if that is taken",
    Effect.gen(function* () {
      const { as, auth, entry, stateDir } = yield* waiting()
      yield* auth.login("it")
      yield* auth.login("it")
      assert.strictEqual(as.asked("/register").length, 1)
      const tokens = kept(stateDir)[0]?.tokens
      assert.isDefined(as.check(tokens?.accessToken))
      yield* occupy(entry.oauth.callbackPort)
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(as.asked("/register").length, 2)
      const uris = as.asked("/authorize").map((params) => portOf(params.get("redirect_uri") ?? ""))
      assert.deepStrictEqual(uris.slice(0, 2), [entry.oauth.callbackPort, entry.oauth.callbackPort])
      assert.notStrictEqual(uris[2], entry.oauth.callbackPort)
    })
  )

  live(
    "pain 38: who is forgotten by the authorization server loses the registration only, and registers once more",
    Effect.gen(function* () {
      const { as, auth, stateDir, supervisor } = yield* waiting()
      yield* auth.login("it")
      as.clients.clear()
      as.expire()
      const error = yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepInclude(error, { _tag: "AuthRequired", login: true })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.isUndefined(kept(stateDir)[0]?.clientInfo)
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(as.asked("/register").length, 2)
    })
  )

  live(
    "is bound to the authorization server: another one gets neither the client nor the tokens of the first",
    Effect.gen(function* () {
      const { as, auth, rs, supervisor } = yield* waiting()
      yield* auth.login("it")
      const next = yield* authServer()
      rs.switches.by = next
      const error = yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepInclude(error, { _tag: "AuthRequired", login: true })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      const clients = [...as.clients.keys()]
      assert.isFalse(next.journal.some(({ params }) => clients.includes(params.get("client_id") ?? "")))
      assert.strictEqual(as.given("refresh_token"), 0)
    })
  )
})

describe.concurrent("the way back from the browser", () => {
  live(
    "pain 39: a port that is taken is noticed before a page is opened, and named with its setting",
    Effect.gen(function* () {
      const { as, auth, entry, somebody } = yield* waiting({ as: { registration: "off" }, oauth: { clientId: "mine" } })
      as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
      yield* occupy(entry.oauth.callbackPort)
      const error = yield* Effect.flip(auth.login("it"))
      assert.deepInclude(error, { _tag: "AuthError", reason: "port_busy" })
      assert.include(error.message, String(entry.oauth.callbackPort))
      assert.include(error.message, "callbackPort")
      assert.deepStrictEqual(somebody.opened, [])
    })
  )

  live(
    "pain 39: logins that wait at once share one listener, and are told apart by their state",
    Effect.gen(function* () {
      const as = yield* authServer()
      const [first, second] = [yield* protectedServer(as), yield* protectedServer(as)]
      const callbackPort = yield* freePort
      const oauth = { callbackPort }
      const { auth, supervisor } = yield* superviseBoth({
        servers: { first: { url: first.url, oauth }, second: { url: second.url, oauth } }
      })
      yield* supervisor.awaitSettled()
      const one = yield* auth.startLogin("first")
      const two = yield* auth.startLogin("second")
      const ports = as.asked("/register").length
      assert.strictEqual(ports, 2)
      for (const { authorizationUrl } of [two, one]) {
        assert.strictEqual(portOf(new URL(authorizationUrl).searchParams.get("redirect_uri") ?? ""), callbackPort)
      }
      assert.strictEqual((yield* visit(two.authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "second", "connected")
      assert.strictEqual((yield* supervisor.server("first")).status.status, "needs_auth")
      assert.strictEqual((yield* visit(one.authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "first", "connected")
      // nobody waits any more: nobody listens
      yield* eventuallyClosed(callbackPort)
    })
  )

  live(
    "a wrong or missing state is refused with a page that says so, escaped, and the login goes on",
    Effect.gen(function* () {
      const { auth, entry, supervisor } = yield* waiting()
      const { authorizationUrl, state } = yield* auth.startLogin("it")
      const there = `http://127.0.0.1:${entry.oauth.callbackPort}/mcp/oauth/callback`
      for (const query of [
        "",
        "?code=x",
        "?code=x&state=",
        `?code=x&state=${"0".repeat(64)}`,
        `?state=<script>alert(1)</script>`
      ]) {
        const { status, text } = yield* visit(`${there}${query}`)
        assert.strictEqual(status, 400, query)
        assert.include(text, "not the login that is waited for")
        assert.notInclude(text, "<script>")
      }
      assert.strictEqual(
        (yield* visit(`http://127.0.0.1:${entry.oauth.callbackPort}/elsewhere?state=${state}`)).status,
        404
      )
      const posted = yield* Effect.promise(() => fetch(`${there}?state=${state}`, { method: "POST" }))
      assert.strictEqual(posted.status, 405)
      assert.strictEqual((yield* visit(authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "whatever anybody sends there is answered, and the login goes on waiting",
    Effect.gen(function* () {
      const { auth, entry, supervisor } = yield* waiting()
      const { authorizationUrl } = yield* auth.startLogin("it")
      for (const path of ["//", "//:", "/\\", "*", "http://[", "/%"]) {
        assert.isAtLeast(yield* statusAt(entry.oauth.callbackPort, path), 400, path)
      }
      assert.strictEqual((yield* visit(authorizationUrl)).status, 200)
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "the answer of another authorization server is refused, and no code is sent anywhere (RFC 9207)",
    Effect.gen(function* () {
      for (const iss of ["wrong", "missing"] as const) {
        const { as, auth } = yield* waiting({ as: { iss } })
        const error = yield* Effect.flip(auth.login("it"))
        assert.deepInclude(error, { _tag: "AuthError", reason: "issuer_mismatch" })
        assert.deepStrictEqual(as.asked("/token"), [])
      }
      const { auth } = yield* waiting({ as: { iss: "on" } })
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "an own redirect URI is used as it is, also where we cannot listen",
    Effect.gen(function* () {
      const port = yield* freePort
      const own = `http://localhost:${port}/my/own/path`
      const local = yield* waiting({ oauth: { redirectUri: own } })
      assert.strictEqual((yield* local.auth.login("it")).status, "connected")
      assert.strictEqual(local.as.asked("/authorize")[0]?.get("redirect_uri"), own)
      const far = yield* waiting({ oauth: { redirectUri: "https://app.example/callback" } })
      const { authorizationUrl } = yield* far.auth.startLogin("it")
      const ending = yield* leadsTo(authorizationUrl)
      assert.match(ending, /^https:\/\/app\.example\/callback\?/)
      assert.strictEqual((yield* far.auth.finishLogin("it", ending)).status, "connected")
    })
  )
})

/** What a path is answered with, as it is: `fetch` would put it right first. */
const statusAt = (port: number, path: string) =>
  Effect.async<number>((resume) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`))
    socket.once("data", (chunk) => {
      socket.destroy()
      resume(Effect.succeed(Number(chunk.toString().split(" ")[1])))
    })
    socket.once("close", () => resume(Effect.succeed(0)))
    socket.on("error", () => {})
  })

const eventuallyClosed = (port: number) =>
  Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => false,
      () => true
    )
  ).pipe(Effect.delay(10), Effect.repeat({ until: (isClosed) => isClosed }))

describe.concurrent("without a browser", () => {
  live(
    "pain 40: the address is data, and the pasted address that it ends at finishes the login",
    Effect.gen(function* () {
      const { as, auth, somebody, supervisor } = yield* waiting({ as: { iss: "on" } })
      const { authorizationUrl, state } = yield* auth.startLogin("it")
      const ending = yield* leadsTo(authorizationUrl)
      for (const nonsense of [
        "",
        "hello",
        "https://example.com/",
        `?code=abc`,
        new URL(ending).searchParams.get("code")!
      ]) {
        assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", nonsense)), { reason: "invalid_callback" })
      }
      for (const other of ["0".repeat(64), "é".repeat(64)]) {
        const foreign = ending.replace(state, encodeURIComponent(other))
        assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", foreign)), { reason: "state_mismatch" })
      }
      assert.strictEqual((yield* auth.finishLogin("it", `  ${ending}\n`)).status, "connected")
      assert.deepStrictEqual(somebody.opened, [])
      assert.strictEqual(as.given("authorization_code"), 1)
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "pain 40: a login that waits ends when the address is pasted instead: who is first wins",
    Effect.gen(function* () {
      const { as, auth, somebody } = yield* waiting({ as: { person: "waits" } })
      const waitingForIt = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => somebody.opened.length === 1)
      as.switches.person = "agrees"
      const ending = yield* leadsTo(somebody.opened[0]!)
      assert.strictEqual((yield* auth.finishLogin("it", new URL(ending).searchParams)).status, "connected")
      assert.strictEqual((yield* Fiber.join(waitingForIt)).status, "connected")
    })
  )

  live(
    "pain 40: also after a restart of the process",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const as = yield* authServer({ iss: "on" })
      const rs = yield* protectedServer(as)
      const servers = { it: yield* entryFor(rs.url) }
      const ending = yield* Effect.scoped(
        Effect.gen(function* () {
          const { auth } = yield* superviseBoth({ servers, stateDir })
          const { authorizationUrl } = yield* auth.startLogin("it")
          return yield* leadsTo(authorizationUrl)
        })
      )
      const { auth } = yield* superviseBoth({ servers, stateDir })
      const wrong = ending.replace(/iss=[^&]*/, "iss=https%3A%2F%2Fsomebody.else")
      assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", wrong)), { reason: "issuer_mismatch" })
      // which ended that login: nobody gets a second try with a forged answer
      assert.deepInclude(yield* Effect.flip(auth.finishLogin("it", ending)), { reason: "state_mismatch" })
      const again = yield* auth.startLogin("it")
      assert.strictEqual((yield* auth.finishLogin("it", yield* leadsTo(again.authorizationUrl))).status, "connected")
    })
  )

  live(
    "a login that is given up lets go of its port",
    Effect.gen(function* () {
      const { auth, entry, somebody } = yield* waiting({ as: { person: "waits" } })
      const fiber = yield* Effect.fork(auth.login("it"))
      yield* eventually(() => somebody.opened.length === 1)
      yield* Fiber.interrupt(fiber)
      yield* eventuallyClosed(entry.oauth.callbackPort)
    })
  )
})

describe.concurrent("a login that nobody comes back from", () => {
  live(
    "pain 38: ends after 5 minutes, lets go of its port, and the next one registers anew",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as)
      const entry = yield* entryFor(rs.url)
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const subject = loginTargetOf("it", config as ServerConfig.Remote)!
      const clientInfo = { name: "test", version: "1" }
      const store = makeMemory()
      const somebody = person()
      const make = Effect.gen(function* () {
        const engine = yield* AuthContext.make({ store, clientInfo, onEvent: () => {}, onChange: () => {} })
        return yield* Logins.make(engine, somebody.openUrl)
      })
      const logins = yield* make
      yield* logins.login(subject)
      as.switches.person = "waits"
      // a minute in a moment
      const hurried = yield* Effect.withClock(make, hasty(3000))
      const error = yield* Effect.flip(hurried.login(subject))
      assert.deepInclude(error, { _tag: "AuthError", reason: "timeout" })
      yield* eventuallyClosed(entry.oauth.callbackPort)
      assert.isDefined(Option.getOrThrow(yield* store.load(subject)).tokens)
      assert.strictEqual(as.asked("/register").length, 1)
      as.switches.person = "agrees"
      yield* logins.login(subject)
      assert.strictEqual(as.asked("/register").length, 2)
    })
  )
})

describe.concurrent("a login that allows too little", () => {
  live(
    "pain 41: the caller learns what is missing; the next login asks for both, and the call succeeds",
    Effect.gen(function* () {
      const { as, auth, supervisor } = yield* waiting({ rs: { scope: "read", toolScope: "write" } })
      yield* auth.login("it")
      assert.strictEqual(as.asked("/authorize")[0]?.get("scope"), "read")
      const error = yield* Effect.flip(supervisor.callTool("it_admin"))
      assert.deepInclude(error, { _tag: "AuthRequired", scope: "write", login: true })
      // the connection is as good as before, and refreshing does not help
      assert.strictEqual((yield* supervisor.server("it")).status.status, "connected")
      assert.strictEqual(as.given("refresh_token"), 0)
      yield* auth.login("it")
      assert.strictEqual(as.asked("/authorize")[1]?.get("scope"), "read write")
      assert.strictEqual(textOf(yield* supervisor.callTool("it_admin")), "called")
    })
  )

  live(
    "pain 41: endless refusals end after two more logins",
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

describe.concurrent("a server that asks for too much", () => {
  live(
    "pain 41: in another order each time has asked for the same",
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
    "shows nobody the token that it echoes",
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

describe.concurrent("logins and addresses", () => {
  live(
    "pain 43: a server at another address never sees the token of the old one, and the old one is still logged in",
    Effect.gen(function* () {
      const { as, auth, entry, rs, supervisor } = yield* waiting()
      yield* auth.login("it")
      const other = yield* protectedServer(as)
      yield* supervisor.reconcile({ servers: { it: { ...entry, url: other.url } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      yield* supervisor.reconcile({ servers: { it: { ...entry, url: `${rs.url}/other/path` } } })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.deepStrictEqual(other.tokens(), [])
      const paths = rs.received.filter(({ url }) => url.includes("other")).map(({ headers }) => headers.authorization)
      assert.deepStrictEqual(new Set(paths), new Set([undefined]))
      yield* supervisor.reconcile({ servers: { it: entry } })
      yield* awaitStatus(supervisor, "it", "connected")
    })
  )

  live(
    "pain 43: a redirect to another place does not carry the token there",
    Effect.gen(function* () {
      const as = yield* authServer()
      const elsewhere = yield* protectedServer(as)
      const rs = yield* protectedServer(as, {}, (received, response) => {
        if (received.message.method !== "tools/call") return false
        response.writeHead(307, { location: elsewhere.url }).end()
        return true
      })
      const { auth, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url) },
        openUrl: person().openUrl
      })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      yield* auth.login("it")
      yield* Effect.flip(supervisor.callTool("it_echo"))
      assert.deepStrictEqual(elsewhere.received, [])
    })
  )

  live(
    "a login in one process wakes the servers that wait in another; so does a logout",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const { auth, entry, supervisor } = yield* waiting({ stateDir })
      const other = yield* superviseBoth({ servers: { it: entry }, stateDir })
      yield* awaitStatus(other.supervisor, "it", "needs_auth")
      yield* auth.login("it")
      yield* awaitStatus(other.supervisor, "it", "connected")
      yield* other.auth.logout("it")
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.include(fileIn(stateDir), `"logins": []`)
    })
  )

  live(
    "a server that is switched off stays off after a login",
    Effect.gen(function* () {
      const { auth, supervisor } = yield* waiting()
      yield* supervisor.disable("it")
      assert.strictEqual((yield* auth.login("it")).status, "disabled")
      assert.strictEqual((yield* supervisor.connect("it")).status, "connected")
    })
  )

  live(
    "a login for a server that was never tried asks it what it wants",
    Effect.gen(function* () {
      const as = yield* authServer()
      const rs = yield* protectedServer(as, { description: "named", scope: "special" })
      const { auth } = yield* superviseBoth({
        servers: { it: { ...(yield* entryFor(rs.url)), lazy: true } },
        openUrl: person().openUrl
      })
      assert.strictEqual((yield* auth.login("it")).status, "idle")
      assert.strictEqual(as.asked("/authorize")[0]?.get("scope"), "special")
    })
  )
})
