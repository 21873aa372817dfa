import { generateKeyPairSync, type KeyObject } from "node:crypto"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { authServer } from "../support/authServer.js"
import { person, protectedServer } from "../support/protectedServer.js"
import { entryFor, storedLogins, superviseBoth } from "../support/loggedIn.js"
import { textOf } from "../support/session.js"
import { awaitStatus, live } from "../support/supervised.js"

const machine = { grant: "client_credentials", clientId: "machine" }

describe.concurrent("client credentials", () => {
  live(
    "connect without a person, are renewed when they expire, and store no secret",
    Effect.gen(function* () {
      const as = yield* authServer({ registration: "off", lifetime: 3600 })
      as.clients.set("machine", { clientId: "machine", secret: "machine-secret", redirectUris: undefined })
      const rs = yield* protectedServer(as, { scope: "all" })
      const browser = person()
      const { auth, stateDir, supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url, { ...machine, clientSecret: "machine-secret", scope: "all" }) },
        openUrl: browser.openUrl
      })
      yield* awaitStatus(supervisor, "it", "connected")
      as.expire()
      const calls = Array.from({ length: 10 }, () => Effect.map(supervisor.callTool("it_echo"), textOf))
      assert.deepStrictEqual(new Set(yield* Effect.all(calls, { concurrency: 10 })), new Set(["called"]))
      assert.strictEqual(as.given("client_credentials"), 2)
      assert.strictEqual(as.asked("/token")[0]?.get("scope"), "all")
      assert.deepStrictEqual(browser.opened, [])
      assert.notInclude(JSON.stringify(storedLogins(stateDir)), "machine-secret")
      assert.strictEqual(yield* auth.status("it"), "authenticated")
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.deepStrictEqual(browser.opened, [])
    })
  )

  for (const [name, make] of [
    ["RSA", () => generateKeyPairSync("rsa", { modulusLength: 2048 })],
    ["EC", () => generateKeyPairSync("ec", { namedCurve: "P-256" })]
  ] as const) {
    live(
      `authenticate with a private key (private_key_jwt, ${name})`,
      Effect.gen(function* () {
        const { privateKey, publicKey } = make()
        const as = yield* authServer({ registration: "off", methods: ["private_key_jwt"] })
        as.clients.set("machine", {
          clientId: "machine",
          secret: undefined,
          redirectUris: undefined,
          publicKey: publicKey.export({ type: "spki", format: "pem" }).toString()
        })
        const rs = yield* protectedServer(as)
        const privateKeyPem = privateKey.export({ type: "pkcs8", format: "pem" }).toString()
        const { auth, supervisor } = yield* superviseBoth({
          servers: {
            it: yield* entryFor(rs.url, { ...machine, privateKeyPem }),
            person: yield* entryFor(rs.url, { clientId: "machine", privateKeyPem })
          },
          openUrl: person().openUrl
        })
        yield* awaitStatus(supervisor, "it", "connected")
        assert.isNotNull(as.asked("/token")[0]?.get("client_assertion"))
        // people may use such a client, too
        yield* awaitStatus(supervisor, "person", "needs_auth")
        assert.strictEqual((yield* auth.login("person")).status, "connected")
      })
    )
  }

  live(
    "with a key that cannot sign fail, and nothing is sent",
    Effect.gen(function* () {
      const as = yield* authServer({ registration: "off" })
      const rs = yield* protectedServer(as)
      const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString()
      const rsa = pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey)
      const edwards = pem(generateKeyPairSync("ed25519").privateKey)
      const { supervisor } = yield* superviseBoth({
        servers: {
          other: yield* entryFor(rs.url, { ...machine, privateKeyPem: rsa, alg: "ES256" }),
          // the SDK does not know how
          edwards: yield* entryFor(rs.url, { ...machine, privateKeyPem: edwards })
        }
      })
      const other = yield* awaitStatus(supervisor, "other", "failed")
      assert.include(other.error, "cannot be used to sign with ES256")
      const { error } = yield* awaitStatus(supervisor, "edwards", "failed")
      assert.include(error, "cannot be used to sign with EdDSA")
      assert.deepStrictEqual(as.asked("/token"), [])
    })
  )

  live(
    "are sent to another authorization server only after a login confirms it",
    Effect.gen(function* () {
      const known = { clientId: "machine", secret: "machine-secret", redirectUris: undefined }
      const [first, second] = [yield* authServer(), yield* authServer()]
      first.clients.set("machine", known)
      second.clients.set("machine", known)
      const rs = yield* protectedServer(first)
      const oauth = { ...machine, clientSecret: "machine-secret" }
      const { auth, supervisor } = yield* superviseBoth({
        servers: {
          it: yield* entryFor(rs.url, oauth),
          pinned: yield* entryFor(rs.url, { ...oauth, tokenUrl: `${first.url}/token` })
        }
      })
      yield* awaitStatus(supervisor, "it", "connected")
      yield* awaitStatus(supervisor, "pinned", "connected")
      rs.switches.by = second
      yield* Effect.flip(supervisor.callTool("it_echo"))
      yield* Effect.flip(supervisor.callTool("pinned_echo"))
      const { error } = yield* awaitStatus(supervisor, "it", "failed")
      assert.include(error, "another authorization server")
      assert.deepStrictEqual(second.asked("/token"), [])
      assert.strictEqual((yield* auth.login("it")).status, "connected")
      assert.strictEqual(second.asked("/token").length, 1)
    })
  )

  live(
    "that are rejected lead to needs_client_registration; an outage does not",
    Effect.gen(function* () {
      const as = yield* authServer({ registration: "off" })
      const rs = yield* protectedServer(as)
      const { supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url, { ...machine, clientSecret: "wrong" }) }
      })
      yield* awaitStatus(supervisor, "it", "needs_client_registration")
      as.clients.set("machine", { clientId: "machine", secret: "wrong", redirectUris: undefined })
      let faults = 0
      as.switches.fault = () => (++faults > 2 ? undefined : "500")
      const status = yield* supervisor.connect("it")
      assert.include(["failed", "connected"], status.status)
      yield* awaitStatus(supervisor, "it", "connected")
      assert.strictEqual(faults, 3)
    })
  )

  live(
    "require a client id",
    Effect.gen(function* () {
      const rs = yield* protectedServer(yield* authServer())
      const { supervisor } = yield* superviseBoth({
        servers: { it: yield* entryFor(rs.url, { grant: "client_credentials" }) }
      })
      const { error } = yield* awaitStatus(supervisor, "it", "needs_client_registration")
      assert.include(error, "client_credentials")
    })
  )
})
