/** Where a server on the internet can lead us by what it publishes. Names are resolved by the test: nothing leaves loopback. */
import type { LookupFunction } from "node:net"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { NameLookup } from "../../../src/connection/http/OutboundGuard.js"
import { entryFor, superviseBoth } from "../support/loggedIn.js"
import * as Raw from "../support/rawHttp.js"
import { awaitStatus, live } from "../support/supervised.js"

const publicHost = "mcp.public.example"

/** The server and the authorization server seem to be on the internet; every other name leads to this address. */
const lookupTo =
  (address: string): LookupFunction =>
  (hostname, options, callback) => {
    const found = hostname === publicHost ? "127.0.0.1" : hostname === "as.example" ? "93.184.216.34" : address
    const family = found.includes(":") ? 6 : 4
    if (options.all === true) callback(null, [{ address: found, family }])
    else callback(null, found, family)
  }

const json = (body: unknown) => (response: Parameters<Raw.Answer>[1]) => void Raw.json(response, body)

const world = (setup: {
  /** What the server publishes, by path. */
  readonly pages?: ((origin: string, internal: string) => Readonly<Record<string, ReturnType<typeof json>>>) | undefined
  readonly resourceMetadata?: ((internal: string) => string) | undefined
  readonly address?: string | undefined
  readonly entry?: Readonly<Record<string, unknown>> | undefined
}) =>
  Effect.gen(function* () {
    const internal = yield* Raw.serve((_, response) => void Raw.status(response, 404))
    const { port: internalPort } = new URL(internal.url)
    let origin = ""
    const remote = yield* Raw.serve(({ url }, response) => {
      const page = setup.pages?.(origin, internalPort)[url]
      if (page !== undefined) return page(response)
      const named = setup.resourceMetadata?.(internalPort)
      const challenge = named === undefined ? "Bearer" : `Bearer resource_metadata="${named}"`
      Raw.status(response, url === "/mcp" ? 401 : 404, { "www-authenticate": challenge })
    })
    origin = `http://${publicHost}:${new URL(remote.url).port}`
    const entry = { ...(yield* entryFor(`${origin}/mcp`)), ...setup.entry }
    const { auth, supervisor } = yield* superviseBoth({ servers: { it: entry } }).pipe(
      Effect.provideService(NameLookup, lookupTo(setup.address ?? "127.0.0.1"))
    )
    yield* supervisor.awaitSettled()
    return { auth, internal, remote, supervisor }
  })

const resource = "/.well-known/oauth-protected-resource/mcp"
const metadata = "/.well-known/oauth-authorization-server"

const refusedAs = (reason: string, setup: Parameters<typeof world>[0]) =>
  Effect.gen(function* () {
    const { auth, internal, supervisor } = yield* world(setup)
    const { error, retryAt } = yield* awaitStatus(supervisor, "it", "failed")
    assert.include(error, reason)
    assert.isUndefined(retryAt)
    assert.deepInclude(yield* Effect.flip(auth.startLogin("it")), { _tag: "AuthError", reason })
    assert.strictEqual(internal.connections(), 0)
  })

describe.concurrent("a server on the internet that names", () => {
  for (const address of ["127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "169.254.169.254", "10.0.0.1", "fd00::1"]) {
    live(
      `metadata at a name that resolves to ${address} does not make us connect`,
      refusedAs("private_address", { address, resourceMetadata: (port) => `https://rebound.example:${port}/x` })
    )
  }

  for (const host of [
    "127.0.0.1",
    "localhost",
    "a.localhost",
    "2130706433",
    "0x7f.1",
    "[::ffff:127.0.0.1]",
    "0.0.0.0"
  ]) {
    live(
      `an authorization server at ${host} does not make us connect`,
      refusedAs("private_address", {
        pages: (origin, port) => ({
          [resource]: json({ resource: `${origin}/mcp`, authorization_servers: [`http://${host}:${port}`] })
        })
      })
    )
  }

  live(
    "an authorization server that is not encrypted does not make us connect",
    refusedAs("insecure_address", {
      pages: (origin) => ({
        [resource]: json({ resource: `${origin}/mcp`, authorization_servers: ["http://as.example"] })
      })
    })
  )

  for (const endpoint of ["authorization_endpoint", "token_endpoint", "registration_endpoint"]) {
    for (const host of ["http://127.0.0.1", "https://rebound.example"]) {
      live(
        `${host} as its ${endpoint} receives no registration, no request and no page`,
        refusedAs("private_address", {
          pages: (origin, port) => ({
            [metadata]: json({
              issuer: origin,
              authorization_endpoint: "https://as.example/authorize",
              token_endpoint: "https://as.example/token",
              registration_endpoint: "https://as.example/register",
              response_types_supported: ["code"],
              code_challenge_methods_supported: ["S256"],
              [endpoint]: `${host}:${port}/admin/delete-all?confirm=1`
            })
          })
        })
      )
    }
  }

  live(
    "no login and is not encrypted gets a hint to set a header, and nothing is registered",
    Effect.gen(function* () {
      const { auth, remote, supervisor } = yield* world({})
      assert.deepInclude(yield* Effect.flip(auth.startLogin("it")), { reason: "no_login" })
      yield* awaitStatus(supervisor, "it", "needs_auth", ({ hint }) => hint.includes(`"headers"`))
      assert.isFalse(remote.received.some(({ url }) => url === "/register"))
    })
  )

  live(
    "an internal address in a redirect does not make us connect",
    Effect.gen(function* () {
      const { internal, remote } = yield* world({
        pages: (_, port) => ({
          [resource]: (response) => void Raw.status(response, 302, { location: `http://127.0.0.1:${port}/x` })
        })
      })
      assert.isTrue(remote.received.some(({ url }) => url === resource))
      assert.strictEqual(internal.connections(), 0)
    })
  )

  live(
    "an internal address receives requests if the config allows it",
    Effect.gen(function* () {
      const { internal } = yield* world({
        entry: { privateNetwork: true },
        resourceMetadata: (port) => `http://rebound.example:${port}/described`
      })
      assert.strictEqual(internal.received[0]?.url, "/described")
    })
  )
})
