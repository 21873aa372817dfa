import { assert, describe } from "@effect/vitest"
import { Clock, Effect, Either, Option } from "effect"
import * as AuthContext from "../../../src/auth/AuthContext.js"
import * as FileCredentialStore from "../../../src/auth/tokens/FileCredentialStore.js"
import * as OAuthCredentials from "../../../src/auth/OAuthCredentials.js"
import { loginTargetOf } from "../../../src/auth/login/LoginTarget.js"
import * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { authServer, type Fault } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { hasty } from "../support/hasty.js"
import { entryFor, storedLogins, superviseBoth } from "../support/loggedIn.js"
import { awaitStatus, live, temporaryDirectory } from "../support/supervised.js"

const factor = 4320
const hour = 3_600_000

describe("a token endpoint that fails most of the time", () => {
  live(
    "does not end a login in one day",
    Effect.gen(function* () {
      const clock = hasty(factor)
      const as = yield* authServer({ refresh: "grace", lifetime: 3600 })
      const rs = yield* protectedServer(as)
      const stateDir = yield* temporaryDirectory
      const entry = yield* entryFor(rs.url)
      // The login happens in real time.
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { auth, supervisor } = yield* superviseBoth({
            servers: { it: entry },
            stateDir,
            openUrl: person().openUrl
          })
          yield* awaitStatus(supervisor, "it", "needs_auth")
          yield* auth.login("it")
        })
      )

      const faults: ReadonlyArray<Fault> = ["500", "html", "html400", "junk", "reset", "429", "lost", "late"]
      const met = new Set<Fault>()
      let seed = 7
      const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647
      as.switches.now = () => clock.unsafeCurrentTimeMillis()
      as.switches.fault = () => {
        if (random() > 0.6) return undefined
        const fault = faults[Math.floor(random() * faults.length)]!
        met.add(fault)
        return fault
      }
      const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry)).config)
      const target = loginTargetOf("it", config as ServerConfig.Remote)!
      let served = 0
      let outages = 0

      /** One request, as the connection makes it. */
      const request = (
        credentials: Effect.Effect.Success<ReturnType<typeof OAuthCredentials.make>>,
        retries = 0
      ): Effect.Effect<void> =>
        Effect.gen(function* () {
          const sent = credentials.headers()
          const answer = yield* Effect.promise(() =>
            fetch(rs.url, {
              method: "POST",
              headers: sent,
              body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" })
            })
          )
          yield* Effect.promise(() => answer.text())
          if (answer.status !== 401) return void (served += 1)
          const challenge = answer.headers.get("www-authenticate") ?? ""
          const outcome = yield* Effect.either(credentials.refused({ status: 401, challenge, sent, retries }))
          if (outcome._tag === "Right") return yield* request(credentials, retries + 1)
          outages += 1
          // A temporary fault must not require a login.
          assert.deepInclude(outcome.left, { _tag: "AuthError", reason: "unavailable" })
        })

      const day = Effect.gen(function* () {
        const store = yield* FileCredentialStore.make(stateDir)
        const clientInfo = { name: "test", version: "1" }
        const context = yield* AuthContext.make({ store, clientInfo, onEvent: () => {}, onChange: () => {} })
        const credentials = yield* OAuthCredentials.make(context, target)
        yield* Effect.ignore(credentials.prepare)
        const until = (yield* Clock.currentTimeMillis) + 24 * hour
        while ((yield* Clock.currentTimeMillis) < until) {
          yield* request(credentials)
          yield* Effect.sleep("5 minutes")
        }
        as.switches.fault = () => undefined
        const before = served
        yield* request(credentials)
        assert.strictEqual(served, before + 1)
      })
      yield* Effect.withClock(Effect.scoped(day), clock)

      assert.isAtLeast(as.given("refresh_token"), 20)
      assert.isAtLeast(met.size, 7)
      assert.isAbove(served, outages)
      assert.isDefined(as.check(storedLogins(stateDir)[0]?.tokens?.accessToken))
    }),
    180_000
  )
})
