import { afterAll, beforeAll, describe, vi } from "@effect/vitest"
import { type OAuthClientProvider } from "@modelcontextprotocol/client"
import { Effect } from "effect"
import * as Peers from "../support/contractServers/peers.js"
import { rows, closedPort } from "../support/classification.js"

describe("a login", () => {
  // the SDK logs much about logins to the console
  beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => {}))
  afterAll(() => void vi.restoreAllMocks())

  const known = { client_id: "a-client" }
  const held = { access_token: "old", token_type: "Bearer", refresh_token: "refresh" }
  const wanting = (peer: Peers.OAuthPeer, provider: OAuthClientProvider = Peers.memoryProvider()) =>
    Effect.flatMap(Peers.oauthPeer(peer), (url) => Peers.connectThrows(Peers.overHttp(url, { authProvider: provider })))
  /** The redirect of the browser. */
  const returning = (peer: Peers.OAuthPeer, parameters: Readonly<Record<string, string>> = { code: "a-code" }) =>
    Effect.gen(function* () {
      const url = yield* Peers.oauthPeer(peer)
      const authProvider = Peers.memoryProvider({ client: known })
      const transport = Peers.overHttp(url, { authProvider })
      yield* Peers.connectThrows(transport)
      return yield* Peers.thrownBy(() => transport.finishAuth(new URLSearchParams(parameters)))
    })
  const refusing = (error: string) => ({ token: { status: 400, body: { error, error_description: "because" } } })
  const failedWith = (reason: string) => ({ is: { _tag: "AuthError", reason }, kind: "permanent" }) as const
  const unregistered = { is: { _tag: "RegistrationRequired" }, kind: "registration" } as const
  const required = { is: { _tag: "AuthRequired", login: true }, kind: "auth" } as const
  const unavailable = (status: number) => ({ is: { _tag: "HttpFailed", status }, kind: "transient" }) as const

  rows([
    { when: "nobody is logged in", thrown: wanting({}), ...required },
    {
      when: "there is a token and no way to a new one",
      thrown: Effect.flatMap(Peers.oauthPeer(), (url) =>
        Peers.connectThrows(Peers.overHttp(url, { authProvider: { token: () => Promise.resolve("stale") } }))
      ),
      ...required
    },
    {
      when: "the new token is refused as well",
      thrown: wanting({}, Peers.memoryProvider({ client: known, tokens: held })),
      ...required
    },
    {
      when: "the token cannot be renewed any more",
      thrown: wanting(refusing("invalid_grant"), Peers.memoryProvider({ client: known, tokens: held })),
      ...required
    },
    {
      when: "clients are not registered",
      thrown: wanting({ metadata: { registration_endpoint: undefined } }),
      ...unregistered
    },
    {
      when: "a client cannot be kept",
      thrown: wanting({}, Peers.memoryProvider({ registers: false })),
      ...unregistered
    },
    ...[400, 403].map((status) => ({
      when: `registration is answered with ${status}`,
      thrown: wanting({ register: { status, body: { error: "invalid_client_metadata" } } }),
      ...unregistered
    })),
    ...[429, 500, 503].map((status) => ({
      when: `registration is answered with ${status}`,
      thrown: wanting({ register: { status, body: {} } }),
      ...unavailable(status)
    })),
    {
      when: "the server wants credentials, but knows nothing of OAuth",
      thrown: wanting({ resource: false }),
      is: { _tag: "AuthRequired", login: false },
      kind: "auth"
    },
    ...["invalid_client", "unauthorized_client", "invalid_client_metadata", "invalid_redirect_uri"].map((error) => ({
      when: `the code is answered with ${error}`,
      thrown: returning(refusing(error)),
      ...unregistered
    })),
    ...["invalid_grant", "access_denied"].map((error) => ({
      when: `the code is answered with ${error}`,
      thrown: returning(refusing(error)),
      ...required
    })),
    {
      when: "the person says no",
      thrown: Effect.gen(function* () {
        const url = yield* Peers.oauthPeer()
        const transport = Peers.overHttp(url, { authProvider: Peers.memoryProvider({ client: known }) })
        yield* Peers.connectThrows(transport)
        const parameters = new URLSearchParams({ error: "access_denied", iss: new URL(url).origin })
        return yield* Peers.thrownBy(() => transport.finishAuth(parameters))
      }),
      ...required
    },
    ...["server_error", "temporarily_unavailable"].map((error) => ({
      when: `the code is answered with ${error}`,
      thrown: returning(refusing(error)),
      ...unavailable(503)
    })),
    {
      when: "the code is answered with a page",
      thrown: returning({ token: { status: 502, body: "<h1>Bad gateway</h1>" } }),
      ...unavailable(503)
    },
    {
      when: "the code is answered with too_many_requests",
      thrown: returning(refusing("too_many_requests")),
      ...unavailable(429)
    },
    {
      when: "the code is answered with invalid_scope",
      thrown: returning(refusing("invalid_scope")),
      ...failedWith("invalid_scope")
    },
    { when: "the metadata is not available", thrown: wanting({ metadata: { status: 500 } }), ...unavailable(500) },
    {
      when: "the metadata is of somebody else",
      thrown: wanting({ metadata: { issuer: "https://elsewhere.example" } }),
      ...failedWith("issuer_mismatch")
    },
    {
      when: "somebody else answers",
      thrown: returning({}, { code: "a-code", iss: "https://elsewhere.example" }),
      ...failedWith("issuer_mismatch")
    },
    {
      when: "the token would not be safe on its way",
      thrown: returning({ metadata: { token_endpoint: "http://tokens.invalid/token" } }),
      ...failedWith("insecure_token_endpoint")
    },
    {
      when: "it is for another server",
      thrown: wanting({ resource: { resource: "https://elsewhere.example/mcp" } }),
      ...failedWith("resource_mismatch")
    },
    {
      when: "the authorization server is too old",
      thrown: wanting({ metadata: { code_challenge_methods_supported: ["plain"] } }),
      ...failedWith("incompatible_server")
    },
    {
      when: "the client was registered elsewhere",
      thrown: wanting(
        {},
        Peers.memoryProvider({ client: { ...known, issuer: "https://elsewhere.example" } as never, registers: false })
      ),
      ...failedWith("authorization_server_mismatch")
    },
    {
      when: "the authorization server cannot be reached",
      thrown: Effect.flatMap(closedPort, (url) => wanting({ resource: { authorization_servers: [url] } })),
      is: { _tag: "NetworkFailed", code: "ECONNREFUSED" },
      kind: "transient"
    }
  ])
})
