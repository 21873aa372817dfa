import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Option } from "effect"
import type { DiscoveryStep } from "../../src/auth/oauth/DiscoveryStep.js"
import { discover, requestChallenge } from "../../src/auth/oauth/sdkOAuth.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const serverUrl = "https://host.example/mcp"
const issuer = "https://as.example/tenant"
const resource = { resource: serverUrl, authorization_servers: [issuer] }
const metadata = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  response_types_supported: ["code"],
  jwks_uri: `${issuer}/jwks`,
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["RS256"]
}

const settingsOf = (oauth: Record<string, unknown>) => {
  const { config } = Either.getOrThrow(ServerConfig.decode("it", { url: serverUrl, oauth } as never))
  return (Option.getOrThrow(config) as ServerConfig.Remote).oauth as ServerConfig.OAuthSettings
}

/** Runs a discovery against these documents, and returns its result and its steps as text. */
const discoverIn = (
  documents: Readonly<Record<string, unknown>>,
  options: { readonly resourceMetadataUrl?: string; readonly oauth?: Record<string, unknown> } = {}
) =>
  Effect.gen(function* () {
    const steps: Array<DiscoveryStep> = []
    const fetch = (url: string | URL) => {
      const document = documents[String(url)]
      return Promise.resolve(document === undefined ? new Response(null, { status: 404 }) : Response.json(document))
    }
    const { oauth = {}, resourceMetadataUrl } = options
    const onStep = (step: DiscoveryStep) => void steps.push(step)
    const settings = settingsOf(oauth)
    const found = yield* Effect.either(discover(fetch, { serverUrl, settings, resourceMetadataUrl, onStep }))
    return {
      found,
      steps: steps.map(
        ({ detail, ok, request, subject }) => `${ok ? "+" : "-"} ${subject} ${request?.url ?? ""} ${detail}`
      )
    }
  })

describe("a discovery", () => {
  it.effect("reports each address that it requests, and the one that it uses", () =>
    Effect.gen(function* () {
      const { found, steps } = yield* discoverIn(
        {
          "https://host.example/.well-known/oauth-protected-resource": resource,
          "https://as.example/tenant/.well-known/openid-configuration": metadata
        },
        { resourceMetadataUrl: "https://host.example/named" }
      )
      assert.strictEqual(Either.getOrThrow(found).issuer, issuer)
      assert.deepStrictEqual(steps, [
        "- resource https://host.example/named HTTP 404",
        "- resource https://host.example/.well-known/oauth-protected-resource/mcp HTTP 404",
        `+ resource https://host.example/.well-known/oauth-protected-resource HTTP 200, logs in at ${issuer}`,
        "- authorization https://as.example/.well-known/oauth-authorization-server/tenant HTTP 404",
        "- authorization https://as.example/.well-known/openid-configuration/tenant HTTP 404",
        `+ authorization https://as.example/tenant/.well-known/openid-configuration HTTP 200, issuer ${issuer}`
      ])
    })
  )

  it.effect("reports why it rejects metadata", () =>
    Effect.gen(function* () {
      const { found, steps } = yield* discoverIn({
        "https://host.example/.well-known/oauth-protected-resource/mcp": resource,
        "https://as.example/.well-known/oauth-authorization-server/tenant": {
          ...metadata,
          issuer: "https://other.example"
        }
      })
      const failure = Option.getOrThrow(Either.getLeft(found))
      assert.strictEqual(failure.reason, "issuer_mismatch")
      assert.include(steps.at(-1), `HTTP 200, rejected: issuer_mismatch: ${failure.detail}`)
    })
  )

  it.effect("reports metadata that is not valid", () =>
    Effect.gen(function* () {
      const { steps } = yield* discoverIn({
        "https://host.example/.well-known/oauth-protected-resource/mcp": { resource: 1 }
      })
      assert.include(steps[0], "HTTP 200, rejected: not valid metadata")
    })
  )

  it.effect("reports that it uses the endpoints of the config", () =>
    Effect.gen(function* () {
      const { steps } = yield* discoverIn(
        {},
        { oauth: { authorizationUrl: "https://as.example/a", tokenUrl: "https://as.example/t" } }
      )
      assert.strictEqual(steps.at(-1), "+ authorization  there is no metadata; the endpoints of the config are used")
    })
  )

  it.effect("requests no metadata if the config fixes the endpoints for its secret", () =>
    Effect.gen(function* () {
      const { steps } = yield* discoverIn(
        { "https://host.example/.well-known/oauth-protected-resource/mcp": resource },
        {
          oauth: {
            clientId: "c",
            clientSecret: "s",
            authorizationUrl: "https://login.example/a",
            tokenUrl: "https://login.example/t"
          }
        }
      )
      assert.lengthOf(steps, 2)
      assert.include(steps[1], "not requested: the config names the endpoints")
    })
  )

  it.effect("uses a configured token endpoint for client credentials, whatever is published", () =>
    Effect.gen(function* () {
      const { found } = yield* discoverIn(
        {
          "https://host.example/.well-known/oauth-protected-resource/mcp": resource,
          "https://as.example/.well-known/oauth-authorization-server/tenant": metadata
        },
        { oauth: { grant: "client_credentials", clientId: "c", tokenUrl: "https://own.example/token" } }
      )
      assert.strictEqual(Either.getOrThrow(found).metadata?.token_endpoint, "https://own.example/token")
    })
  )
})

describe("the challenge of a server", () => {
  it.effect("is reported without the query of the URL", () =>
    Effect.gen(function* () {
      const steps: Array<DiscoveryStep> = []
      const headers = { "www-authenticate": 'Bearer scope="read"' }
      const fetch = () => Promise.resolve(new Response(null, { status: 401, headers }))
      const challenge = yield* requestChallenge(fetch, `${serverUrl}?key=secret`, (step) => void steps.push(step))
      assert.strictEqual(challenge.scope, "read")
      assert.deepStrictEqual(steps, [
        {
          subject: "server",
          request: { method: "POST", url: serverUrl },
          status: 401,
          detail: 'HTTP 401, WWW-Authenticate: Bearer scope="read"',
          ok: true
        }
      ])
    })
  )

  it.effect("is empty if the server cannot be reached", () =>
    Effect.gen(function* () {
      const steps: Array<DiscoveryStep> = []
      const fetch = () => Promise.reject(new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }))
      assert.deepStrictEqual(yield* requestChallenge(fetch, serverUrl, (step) => void steps.push(step)), {})
      assert.strictEqual(steps[0]?.ok, false)
      assert.strictEqual(steps[0]?.detail, "no response (ECONNREFUSED)")
    })
  )
})
