import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import type { ServerStatus } from "../../../src/domain/server/ServerStatus.js"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, superviseBoth } from "../support/loggedIn.js"
import { awaitStatus, eventsUntil, live } from "../support/supervised.js"

const all: ReadonlyArray<ServerStatus["status"]> = [
  "connected",
  "connecting",
  "disabled",
  "failed",
  "idle",
  "needs_auth",
  "needs_client_registration"
]

describe("a server that requires a login", () => {
  live(
    "reaches and leaves every status",
    Effect.gen(function* () {
      const as = yield* authServer({ registration: "off" })
      const rs = yield* protectedServer(as)
      const entry = yield* entryFor(rs.url)
      const { auth, supervisor } = yield* superviseBoth({ servers: { it: entry }, openUrl: person().openUrl })
      const change = (more: Record<string, unknown>) => supervisor.reconcile({ servers: { it: { ...entry, ...more } } })

      yield* awaitStatus(supervisor, "it", "needs_client_registration")
      as.clients.set("mine", { clientId: "mine", secret: undefined, redirectUris: undefined })
      const oauth = { ...entry.oauth, clientId: "mine" }
      yield* change({ oauth })
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")

      yield* supervisor.disable("it")
      yield* awaitStatus(supervisor, "it", "disabled")
      yield* supervisor.enable("it")
      yield* awaitStatus(supervisor, "it", "connected")

      as.switches.fault = () => "500"
      as.expire()
      yield* Effect.ignore(supervisor.callTool("it_echo"))
      yield* awaitStatus(supervisor, "it", "failed")
      as.switches.fault = () => undefined
      yield* awaitStatus(supervisor, "it", "connected")

      as.revoke()
      yield* Effect.ignore(supervisor.callTool("it_echo"))
      yield* awaitStatus(supervisor, "it", "needs_auth")
      assert.strictEqual((yield* auth.login("it")).status, "connected")

      yield* change({ oauth, lazy: true, idleStop: 50 })
      yield* awaitStatus(supervisor, "it", "idle")
      yield* supervisor.callTool("it_echo")
      yield* supervisor.remove("it")

      const events = yield* eventsUntil(supervisor, ({ type }) => type === "ServerRemoved")
      const changes = events.flatMap((event) => (event.type === "StatusChanged" ? [event] : []))
      const names = (statuses: ReadonlyArray<ServerStatus>) => [...new Set(statuses.map(({ status }) => status))].sort()
      assert.deepStrictEqual(names(changes.map(({ from }) => from)), all)
      assert.deepStrictEqual(names(changes.map(({ to }) => to)), all)
    })
  )
})
