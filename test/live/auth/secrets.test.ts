import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { AuthError } from "../../../src/domain/Errors.js"
import * as Secrets from "../../../src/domain/Secrets.js"
import { authServer } from "../support/authServer.js"
import { protectedServer } from "../support/protectedServer.js"
import { entryFor, superviseBoth } from "../support/loggedIn.js"
import { program } from "../support/program.js"
import * as Raw from "../support/rawHttp.js"
import { connect } from "../support/session.js"
import { awaitStatus, freePort, live, temporaryDirectory } from "../support/supervised.js"

describe("secrets of logins", () => {
  for (const when of ["prepare", "refused"] as const) {
    live(
      `are hidden in errors of logins: ${when}`,
      Effect.gen(function* () {
        const rs = yield* protectedServer(yield* authServer())
        const said = Effect.fail(new AuthError({ server: "it", reason: "refused", detail: "you said canary-key" }))
        const credentials = {
          prepare: when === "prepare" ? said : Effect.void,
          headers: () => ({}),
          secrets: () => Secrets.empty,
          refused: () => said
        }
        const error = yield* Effect.flip(connect({ url: `${rs.url}?key=canary-key` }, { credentials }))
        assert.strictEqual(error._tag, "AuthError")
        assert.include(error.message, "you said")
        assert.notInclude(error.message, "canary")
      }).pipe(Effect.provide(Connector.layer()))
    )
  }

  for (const [kind, redirectUri] of [
    ["in its query", "https://back.example/here?key=canary-key"],
    ["as a whole", Redacted.make("https://canary-key.example/here")]
  ] as const) {
    live(
      `a secret redirect URI ${kind} is not shown in the request to register it`,
      Effect.gen(function* () {
        const as = yield* authServer({ registration: "off" })
        const rs = yield* protectedServer(as)
        const entry = yield* entryFor(rs.url, { redirectUri })
        const { auth, supervisor } = yield* superviseBoth({ servers: { it: entry } })
        const status = yield* awaitStatus(supervisor, "it", "needs_client_registration")
        const refused = yield* Effect.flip(auth.startLogin("it"))
        assert.deepInclude(refused, { _tag: "AuthError", reason: "registration_required" })
        for (const text of [status.error, refused.message, JSON.stringify(refused), String(refused)]) {
          assert.include(text, "redirect URI")
          assert.notInclude(text, "canary")
        }
      })
    )
  }

  live(
    "appear in no log, event, status, error, trace or output, only in the file that stores them",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const clientSecret = "canary-of-the-client"
      const as = yield* authServer({ registration: "off", methods: ["client_secret_post"] })
      as.clients.set("configured", { clientId: "configured", secret: clientSecret, redirectUris: undefined })
      const rs = yield* protectedServer(as, {}, (received, response) => {
        const name = (received.message.params as { readonly name?: string } | undefined)?.name
        if (!Raw.isCall(received) || name !== "admin") return false
        // a server that tells everybody what it was told
        const said = JSON.stringify(received.headers)
        Raw.json(response, Raw.failure(received, -32000, `you said ${said}`), 200)
        return true
      })
      rs.control.set("echo", () => {
        as.switches.fault = () => "echo"
      })
      rs.control.set("well", () => {
        as.switches.fault = () => undefined
      })
      rs.control.set("expire", () => as.expire())
      const url = `${rs.url}?key=canary-of-the-address`
      const host = yield* program("./loudHost.ts", stateDir, url, String(yield* freePort), clientSecret)
      yield* host.line((line) => line === "done")
      yield* host.exit
      const output = `${host.lines.join("\n")}\n${host.errors()}`
      // it did what it was to do
      assert.isAtLeast(as.given("authorization_code"), 3)
      assert.isTrue(rs.received.every(({ url }) => url.endsWith("?key=canary-of-the-address")))
      for (const what of ["logged_out", "login_finished", "login_failed", "refreshed"]) assert.include(output, what)
      assert.isAtLeast(as.given("refresh_token"), 1)
      assert.include(output, "you said")
      assert.include(output, "mcp.server.needs_auth")
      const secrets = [...as.secrets(), "canary"]
      assert.isAbove(secrets.length, 15)
      for (const secret of secrets.filter((secret) => secret !== "configured")) {
        assert.notInclude(output, secret)
        assert.notInclude(output, encodeURIComponent(secret))
        assert.notInclude(output, Buffer.from(secret).toString("base64").replace(/=+$/, ""))
      }
      assert.notInclude(output, "/authorize?")
      // and the file has them
      const kept = readFileSync(join(stateDir, "mcp-auth.json"), "utf8")
      assert.isTrue(as.secrets().some((secret) => kept.includes(secret)))
      const others = readdirSync(stateDir, { recursive: true, withFileTypes: true })
        .filter((file) => file.isFile() && file.name !== "mcp-auth.json")
        .map((file) => readFileSync(join(file.parentPath, file.name), "utf8"))
      for (const secret of secrets) assert.isFalse(others.some((text) => text.includes(secret)))
    }),
    180_000
  )
})
