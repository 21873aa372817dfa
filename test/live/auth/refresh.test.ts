import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import type { Credential } from "../../../src/auth/tokens/Credential.js"
import { type AuthServer, authServer, type Fault } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { type Both, entryFor, fileIn, storedLogins, superviseBoth } from "../support/loggedIn.js"
import { program } from "../support/program.js"
import { awaitStatus, eventsUntil, live, temporaryDirectory } from "../support/supervised.js"

/** An authorization server, a server that it protects, and a supervisor with a login. */
const loggedIn = (switches: Parameters<typeof authServer>[0] = {}) =>
  Effect.gen(function* () {
    const as = yield* authServer(switches)
    const rs = yield* protectedServer(as)
    const stateDir = yield* temporaryDirectory
    const browser = person()
    const entry = yield* entryFor(rs.url)
    const both = yield* superviseBoth({ servers: { it: entry }, openUrl: browser.openUrl, stateDir })
    yield* awaitStatus(both.supervisor, "it", "needs_auth")
    const { status } = yield* both.auth.login("it")
    assert.strictEqual(status, "connected")
    return { ...both, as, rs, browser, stateDir, entry }
  })

const call = ({ supervisor }: Pick<Both, "supervisor">) =>
  Effect.match(supervisor.callTool("it_echo", {}, { waitForReady: "1 second" }), {
    onSuccess: () => "ok",
    onFailure: ({ _tag }) => _tag
  })

const calls = (both: Pick<Both, "supervisor">, count: number) =>
  Effect.all(
    Array.from({ length: count }, () => call(both)),
    { concurrency: "unbounded" }
  )

/** Changes the stored credential, as time or another process would. */
const rewrite = (stateDir: string, change: (login: Credential) => Credential) =>
  writeFileSync(
    join(stateDir, "mcp-auth.json"),
    JSON.stringify({ version: 1, logins: storedLogins(stateDir).map(change) }),
    {
      mode: 0o600
    }
  )

const fiveProcesses = (stateDir: string, url: string) =>
  Effect.all(
    Array.from({ length: 5 }, () => program("./authHost.ts", stateDir, url)),
    { concurrency: 5 }
  )

const isRefresh = (params: URLSearchParams) => params.get("grant_type") === "refresh_token"
const isStatus = (name: string) => (line: string) => line === JSON.stringify(name)
const isResult = (line: string) => line.startsWith("[")

describe("an expired token", () => {
  live(
    "is refreshed once for 5 processes that start with it, and once for their 50 calls, which all succeed",
    Effect.gen(function* () {
      const { as, rs, stateDir, supervisor } = yield* loggedIn()
      yield* supervisor.disable("it")
      as.expire()
      rewrite(stateDir, (login) => ({ ...login, tokens: { ...login.tokens!, expiresAt: 1 } }))
      const processes = yield* fiveProcesses(stateDir, rs.url)
      yield* Effect.forEach(processes, ({ line }) => line(isStatus("connected")), { concurrency: 5 })
      assert.strictEqual(as.asked("/token").filter(isRefresh).length, 1)
      const before = storedLogins(stateDir)[0]?.tokens
      as.expire()
      for (const { child } of processes) child.kill("SIGUSR2")
      const results = yield* Effect.forEach(processes, ({ line }) => line(isResult), { concurrency: 5 })
      assert.deepStrictEqual(
        results.flatMap((line) => JSON.parse(line)),
        Array.from({ length: 50 }, () => "ok")
      )
      assert.strictEqual(as.asked("/token").filter(isRefresh).length, 2)
      assert.strictEqual(as.misuse(), 0)
      const after = storedLogins(stateDir)[0]?.tokens
      assert.notStrictEqual(after?.refreshToken, before?.refreshToken)
      assert.isDefined(as.check(after?.accessToken))
    }),
    180_000
  )
})

describe.concurrent("a refresh", () => {
  live(
    "is made once for 100 calls that are rejected at once, and no call is executed twice",
    Effect.gen(function* () {
      const both = yield* loggedIn()
      for (let round = 1; round <= 3; round += 1) {
        both.as.expire()
        const before = both.rs.calls()
        const results = yield* calls(both, 100)
        assert.deepStrictEqual(new Set(results), new Set(["ok"]))
        assert.strictEqual(both.as.given("refresh_token"), round)
        // each was sent at most twice: refused, and taken
        assert.isAtMost(both.rs.calls() - before, 200)
      }
      assert.strictEqual(both.as.misuse(), 0)
    })
  )

  const faults: ReadonlyArray<Fault> = [
    "500",
    "html",
    "html400",
    "junk",
    "reset",
    "429",
    { status: 503, body: { error: "Service Unavailable" } },
    { status: 502, body: { error: "invalid_grant" } },
    { status: 429, body: { error: "rate_limit_exceeded" } },
    { status: 403, body: { error: "forbidden_by_gateway" } }
  ]
  for (const fault of faults) {
    live(
      `that meets ${JSON.stringify(fault)} leaves the stored login unchanged, and the status is not needs_auth`,
      Effect.gen(function* () {
        const both = yield* loggedIn()
        const { as, stateDir, supervisor } = both
        const before = fileIn(stateDir)
        as.switches.fault = () => fault
        as.expire()
        assert.notInclude(["ok", "AuthRequired"], yield* call(both))
        const status = yield* awaitStatus(supervisor, "it", "failed", ({ failures }) => failures >= 2)
        assert.strictEqual(status.errorTag, "AuthError")
        assert.include(status.error, "credentials are not available right now")
        assert.isDefined(status.retryAt)
        assert.strictEqual(fileIn(stateDir), before)
        as.switches.fault = () => undefined
        yield* awaitStatus(supervisor, "it", "connected")
        assert.strictEqual(yield* call(both), "ok")
        assert.deepStrictEqual(both.browser.opened.length, 1)
      })
    )
  }

  for (const odd of [
    { refresh_token: "" },
    { refresh_token: null, scope: null },
    { expires_in: null },
    { expires_in: 0 },
    { expires_in: -1 },
    { expires_in: "soon" },
    { expires_in: 1e300 }
  ]) {
    live(
      `with the response ${JSON.stringify(odd)} succeeds and can be repeated`,
      Effect.gen(function* () {
        const both = yield* loggedIn({ refresh: "keep" })
        const { as, stateDir } = both
        as.switches.odd = odd
        for (let round = 1; round <= 2; round += 1) {
          as.expire()
          assert.strictEqual(yield* call(both), "ok")
          assert.strictEqual(as.given("refresh_token"), round)
        }
        const tokens = storedLogins(stateDir)[0]?.tokens
        assert.match(tokens?.refreshToken ?? "", /^refresh-/)
        assert.isAbove(tokens?.expiresAt ?? Infinity, Date.now() + 60_000)
        assert.isBelow(tokens?.expiresAt ?? 0, 8.64e15)
      })
    )
  }

  live(
    "is retried until the authorization server is available again",
    Effect.gen(function* () {
      const both = yield* loggedIn()
      const { as, stateDir, supervisor } = both
      const before = fileIn(stateDir)
      let asked = 0
      as.switches.fault = () => (++asked > 3 ? undefined : "reset")
      as.expire()
      yield* call(both)
      yield* awaitStatus(supervisor, "it", "connected", () => asked > 3)
      assert.notStrictEqual(fileIn(stateDir), before)
    })
  )

  live(
    "that is rejected for the stored token requires a login and is not retried",
    Effect.gen(function* () {
      const both = yield* loggedIn()
      const { as, auth, browser, supervisor } = both
      as.revoke()
      assert.strictEqual(yield* call(both), "AuthRequired")
      const status = yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.include(status.hint, "mcp-supervisor auth it")
      const asked = as.asked("/token").length
      assert.strictEqual((yield* supervisor.connect("it")).status, "needs_auth")
      assert.strictEqual((yield* supervisor.restart("it")).status, "needs_auth")
      assert.strictEqual(as.asked("/token").length, asked)
      assert.strictEqual(yield* auth.status("it"), "expired")
      assert.strictEqual(browser.opened.length, 1)
      assert.strictEqual((yield* auth.login("it")).status, "connected")
    })
  )

  live(
    "that is rejected for a token which has been replaced continues with the new one",
    Effect.gen(function* () {
      const both = yield* loggedIn()
      const { as, stateDir } = both
      const [good] = storedLogins(stateDir)
      as.expire()
      // another program without a lock: it refreshes while our own request is on its way
      const arrived = yield* Deferred.make<void>()
      let isFirst = true
      as.switches.fault = () => {
        if (!isFirst) return undefined
        isFirst = false
        Deferred.unsafeDone(arrived, Effect.void)
        const tokens = stolen(as, good!)
        rewrite(stateDir, (login) => ({ ...login, tokens }))
        return undefined
      }
      assert.strictEqual(yield* call(both), "ok")
      yield* Deferred.await(arrived)
      assert.strictEqual(storedLogins(stateDir)[0]?.tokens?.accessToken, "stolen")
    })
  )

  live(
    "continues if its caller is interrupted, and saves the issued tokens",
    Effect.gen(function* () {
      const both = yield* loggedIn()
      const { as, stateDir } = both
      const before = storedLogins(stateDir)[0]?.tokens?.refreshToken
      as.expire()
      const asked = yield* Deferred.make<void>()
      as.switches.fault = () => {
        Deferred.unsafeDone(asked, Effect.void)
        return undefined
      }
      const fiber = yield* Effect.fork(call(both))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(fiber)
      yield* eventsUntil(both.supervisor, (event) => event.type === "Auth" && event.what === "refreshed")
      assert.notStrictEqual(storedLogins(stateDir)[0]?.tokens?.refreshToken, before)
      assert.strictEqual(yield* call(both), "ok")
      assert.strictEqual(as.given("refresh_token"), 1)
    })
  )

  live(
    "happens before the token expires: no request is rejected",
    Effect.gen(function* () {
      const both = yield* loggedIn({ lifetime: 3 })
      const { as, rs, supervisor } = both
      yield* eventsUntil(supervisor, (event) => event.type === "Auth" && event.what === "refreshed")
      const first = as.given("refresh_token")
      assert.strictEqual(first, 1)
      const before = rs.received.length
      assert.strictEqual(yield* call(both), "ok")
      assert.strictEqual(rs.received.length, before + 1)
    })
  )
})

/** A token that nobody else knows of, as if it had been refreshed elsewhere; the old refresh token is of no more use. */
const stolen = (as: AuthServer, { tokens }: Credential) => {
  const { check } = as
  Object.assign(as, {
    check: (token: string | undefined) => (token === "stolen" ? { scope: undefined } : check(token))
  })
  as.revoke()
  return { ...tokens, accessToken: "stolen", refreshToken: "the next one" }
}
