/** What the SDK really throws, and what becomes of it: a new version of the SDK that words an error anew fails here. */
import { fileURLToPath } from "node:url"
import { inspect } from "node:util"
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import {
  type Client,
  InsufficientScopeError,
  type OAuthClientProvider,
  OAuthError,
  ProtocolError,
  RegistrationRejectedError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
  UnsupportedProtocolVersionError
} from "@modelcontextprotocol/client"
import { Effect, FastCheck as fc, Schema, type Scope } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { type Context, connectionError, requestError } from "../../../src/connection/sdk/sdkClassify.js"
import { WireFailure } from "../../../src/connection/wire/Wire.js"
import * as Errors from "../../../src/domain/Errors.js"
import * as Failure from "../../../src/domain/server/Failure.js"
import * as Secrets from "../../../src/domain/Secrets.js"
import * as Peers from "../support/contractServers/peers.js"
import { connect } from "../support/session.js"

const secret = "hunter2-hunter2"

const context: Context = {
  server: "it",
  scrub: Secrets.scrub(Secrets.make([secret])),
  scrubBeginning: Secrets.scrubBeginning(Secrets.make([secret])),
  login: true,
  phase: "handshake",
  timeout: 1234,
  command: "a-command"
}

type Fields = Readonly<Record<string, unknown>>

interface Row {
  readonly when: string
  readonly thrown: Effect.Effect<unknown, never, Scope.Scope>
  readonly is: Fields & { readonly _tag: Errors.ConnectionError["_tag"] }
  readonly kind: Failure.Kind
}

const check = (error: Errors.ConnectionError, { is, kind }: Pick<Row, "is" | "kind">) => {
  for (const [name, value] of Object.entries(is)) {
    assert.deepStrictEqual(Reflect.get(error, name), value, `${name} of "${error.message}"`)
  }
  assert.strictEqual(Failure.fromError(error).kind, kind)
}

const rows = (all: ReadonlyArray<Row>) => {
  for (const { is, kind, thrown, when } of all) {
    it.scopedLive(`${when}: ${is._tag}, ${kind}`, () =>
      Effect.map(thrown, (error) => check(connectionError(context, error), { is, kind }))
    )
  }
}

const overHttp = (
  peer: Effect.Effect<string, never, Scope.Scope>,
  mode: Parameters<typeof Peers.connectThrows>[1] = "legacy"
) => Effect.flatMap(peer, (url) => Peers.connectThrows(Peers.overHttp(url), mode))

const pin = { pin: "2026-07-28" } as const

describe("a status", () => {
  const statuses: ReadonlyArray<readonly [number, Failure.Kind]> = [
    [400, "permanent"],
    [403, "permanent"],
    [404, "permanent"],
    [405, "permanent"],
    [406, "permanent"],
    [408, "transient"],
    [415, "permanent"],
    [425, "transient"],
    [429, "transient"],
    [500, "transient"],
    [502, "transient"],
    [503, "transient"],
    [504, "transient"]
  ]
  rows(
    statuses.flatMap(([status, kind]) => {
      const peer = Peers.answering(status, {}, "not today")
      const is = { _tag: "HttpFailed", status } as const
      return [
        ...(["legacy", "auto"] as const).map((mode) => ({
          when: `${status} over HTTP (${mode})`,
          thrown: overHttp(peer, mode),
          is: { ...is, detail: "not today" },
          kind
        })),
        {
          when: `${status} over SSE`,
          thrown: Effect.flatMap(peer, (url) => Peers.connectThrows(Peers.overSse(url))),
          is,
          kind
        }
      ]
    })
  )

  const login = { is: { _tag: "AuthRequired", login: true }, kind: "auth" } as const
  const denied = Peers.answering(403, { "www-authenticate": 'Bearer error="insufficient_scope", scope="write"' })
  const moved = Peers.answering(307, { location: "http://127.0.0.1:9/elsewhere" })
  rows([
    ...(["legacy", "auto", pin] as const).map((mode) => ({
      when: `401 over HTTP (${JSON.stringify(mode)})`,
      thrown: overHttp(Peers.answering(401), mode),
      ...login
    })),
    {
      when: "401 over SSE",
      thrown: Effect.flatMap(Peers.answering(401), (url) => Peers.connectThrows(Peers.overSse(url))),
      ...login
    },
    ...(["legacy", "auto"] as const).flatMap(
      (mode): ReadonlyArray<Row> => [
        {
          when: `403 that asks for a scope (${mode})`,
          thrown: overHttp(denied, mode),
          is: { _tag: "AuthRequired", scope: "write" },
          kind: "auth"
        },
        {
          when: `a redirect elsewhere (${mode})`,
          thrown: overHttp(moved, mode),
          is: { _tag: "HttpFailed", status: 307 },
          kind: "permanent"
        },
        {
          when: `a page instead of an answer (${mode})`,
          thrown: overHttp(Peers.answering(200, { "content-type": "text/html" }, "<h1>Welcome</h1>"), mode),
          is: { _tag: "IncompatibleServer" },
          kind: "permanent"
        }
      ]
    ),
    {
      when: "a page instead of a stream over SSE",
      thrown: Effect.flatMap(Peers.answering(200, { "content-type": "text/html" }, "<h1>Welcome</h1>"), (url) =>
        Peers.connectThrows(Peers.overSse(url))
      ),
      is: { _tag: "IncompatibleServer" },
      kind: "permanent"
    }
  ])

  it.scopedLive("a redirect says where to, as far as is known", () =>
    Effect.map(overHttp(moved), (thrown) => assert.notInclude(connectionError(context, thrown).message, "undefined"))
  )
})

/** A port of loopback on which nobody listens any more. */
const closedPort = Effect.scoped(Peers.peer(() => {}))

const certificate = Peers.selfSigned()

describe("the network", () => {
  const reset = Peers.peer(({ socket }) => socket.destroy())
  rows(
    (["legacy", "auto", pin] as const).flatMap((mode): ReadonlyArray<Row> => {
      const how = JSON.stringify(mode)
      return [
        {
          when: `nobody listens (${how})`,
          thrown: overHttp(closedPort, mode),
          is: { _tag: "NetworkFailed", code: "ECONNREFUSED", permanent: false },
          kind: "transient"
        },
        {
          when: `the peer hangs up (${how})`,
          thrown: overHttp(reset, mode),
          is: { _tag: "NetworkFailed", permanent: false },
          kind: "transient"
        },
        {
          when: `the name is not known (${how})`,
          thrown: overHttp(Effect.succeed("http://nobody.invalid/mcp"), mode),
          is: { _tag: "NetworkFailed", permanent: false },
          kind: "transient"
        },
        {
          when: `the port is not allowed (${how})`,
          thrown: overHttp(Effect.succeed("http://127.0.0.1:1/mcp"), mode),
          is: { _tag: "NetworkFailed", permanent: true },
          kind: "permanent"
        },
        ...(certificate === undefined
          ? []
          : [
              {
                when: `nobody trusts the certificate (${how})`,
                thrown: overHttp(Peers.tlsPeer(certificate), mode),
                is: { _tag: "NetworkFailed", code: "DEPTH_ZERO_SELF_SIGNED_CERT", permanent: true } as const,
                kind: "permanent" as const
              }
            ])
      ]
    })
  )

  it.scopedLive("nobody listens over SSE: transient", () =>
    Effect.gen(function* () {
      const url = yield* closedPort
      const error = connectionError(context, yield* Peers.connectThrows(Peers.overSse(url)))
      assert.strictEqual(error._tag, "NetworkFailed", error.message)
      assert.strictEqual(Failure.fromError(error).kind, "transient")
    })
  )
})

describe("a process", () => {
  const { execPath } = process
  const thisFile = fileURLToPath(import.meta.url)
  const spawning = (command: string, ...args: ReadonlyArray<string>) =>
    Peers.connectThrows(Peers.overStdio(command, args))
  rows([
    {
      when: "its command is missing",
      thrown: spawning("/no/such/command"),
      is: { _tag: "SpawnFailed", reason: "not_found", command: "a-command" },
      kind: "permanent"
    },
    {
      when: "its command may not be executed",
      thrown: spawning(thisFile),
      is: { _tag: "SpawnFailed", reason: "not_permitted" },
      kind: "permanent"
    },
    {
      when: "its arguments are too long",
      thrown: spawning(execPath, "-e", "0", "x".repeat(4_000_000)),
      is: { _tag: "SpawnFailed", reason: "bad_arguments" },
      kind: "permanent"
    },
    ...(["legacy", "auto"] as const).map(
      (mode): Row => ({
        when: `it ends instead of answering (${mode})`,
        thrown: Peers.connectThrows(Peers.overStdio(execPath, ["-e", "0"]), mode),
        is: { _tag: "ConnectionClosed" },
        kind: "transient"
      })
    )
  ])

  it.scopedLive("the reason for its end is told where it is known", () =>
    Effect.gen(function* () {
      const closed = new Errors.ProcessExited({ server: "it", exitCode: 3 })
      for (const mode of ["legacy", "auto", pin] as const) {
        const thrown = yield* Peers.connectThrows(Peers.overStdio(execPath, ["-e", "0"]), mode)
        assert.strictEqual(connectionError({ ...context, closed }, thrown), closed, JSON.stringify(mode))
      }
    })
  )
})

const answer = (result: Fields) => () => ({ result })
const refuse = (code: number, message: string, data?: unknown) => () => ({ error: { code, message, data } })

describe("a greeting", () => {
  const unsupported = refuse(-32_022, "Unsupported protocol version", { supported: ["2026-07-28"], requested: "x" })
  const greeted = (initialize: () => Peers.Answer, mode?: Parameters<typeof overHttp>[1]) =>
    overHttp(Peers.rpc({ initialize }), mode)
  rows([
    {
      when: "it names a revision that we do not know",
      thrown: greeted(answer({ ...Peers.greeting.result, protocolVersion: "2099-01-01" })),
      is: { _tag: "IncompatibleServer", detail: "it speaks 2099-01-01" },
      kind: "permanent"
    },
    {
      when: "the server speaks newer revisions only",
      thrown: greeted(unsupported),
      is: { _tag: "IncompatibleServer", detail: "it speaks 2026-07-28" },
      kind: "permanent"
    },
    {
      when: "the server does not say properly what it speaks",
      thrown: greeted(refuse(-32_022, "Unsupported protocol version", { supported: "all of them" })),
      is: { _tag: "HandshakeRefused", code: -32_022 },
      kind: "transient"
    },
    {
      when: "the server does not speak the revision that is wanted",
      thrown: overHttp(Peers.rpc({}), pin),
      is: { _tag: "IncompatibleServer" },
      kind: "permanent"
    },
    {
      when: "it is refused",
      thrown: greeted(refuse(-32_000, `${secret} is wrong`)),
      is: { _tag: "HandshakeRefused", code: -32_000 },
      kind: "transient"
    },
    {
      when: "it is malformed",
      thrown: greeted(answer({ hello: "there" })),
      is: { _tag: "IncompatibleServer", detail: "its greeting is malformed" },
      kind: "permanent"
    },
    ...(["legacy", "auto", pin] as const).map(
      (mode): Row => ({
        when: `nobody answers it (${JSON.stringify(mode)})`,
        thrown: Effect.flatMap(Peers.rpc({ initialize: () => undefined, "server/discover": () => undefined }), (url) =>
          Peers.connectThrows(Peers.overHttp(url), mode, { timeout: 100 })
        ),
        is: { _tag: "ConnectTimeout", phase: "handshake", after: 1234 },
        kind: "transient"
      })
    )
  ])
})

describe("a login", () => {
  // the SDK has much to say about logins, and says it to the console
  beforeAll(() => void vi.spyOn(console, "warn").mockImplementation(() => {}))
  afterAll(() => void vi.restoreAllMocks())

  const known = { client_id: "a-client" }
  const held = { access_token: "old", token_type: "Bearer", refresh_token: "refresh" }
  const wanting = (peer: Peers.OAuthPeer, provider: OAuthClientProvider = Peers.memoryProvider()) =>
    Effect.flatMap(Peers.oauthPeer(peer), (url) => Peers.connectThrows(Peers.overHttp(url, { authProvider: provider })))
  /** The way back from the browser. */
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

describe("a request", () => {
  const tool = { name: "tool", inputSchema: { type: "object" } }
  const failing = (
    answers: Parameters<typeof Peers.rpc>[0],
    run: (client: Client) => Promise<unknown> = (client) => client.callTool({ name: "tool", arguments: {} })
  ) => Effect.flatMap(Peers.rpc(answers), (url) => Peers.requestThrows(Peers.overHttp(url), run))

  const cases: ReadonlyArray<{
    readonly when: string
    readonly thrown: Effect.Effect<unknown, never, Scope.Scope>
    readonly is: Fields
  }> = [
    {
      when: "is answered with an error",
      thrown: failing({ "tools/call": refuse(-32_050, `no, ${secret}`, { hint: secret, tried: [1] }) }),
      is: { _tag: "ProtocolError", code: -32_050, message: "no, [redacted]", data: { hint: "[redacted]", tried: [1] } }
    },
    {
      when: "names a method that is not there",
      thrown: failing({}),
      is: { _tag: "ProtocolError", code: -32_601, codeName: "MethodNotFound" }
    },
    {
      when: "names a resource that is not there",
      thrown: failing({ "resources/read": refuse(-32_002, "Resource not found", { uri: "x://y" }) }, (client) =>
        client.readResource({ uri: "x://y" })
      ),
      is: { _tag: "ProtocolError", code: -32_002, codeName: "ResourceNotFound" }
    },
    {
      when: "needs a person at a page",
      thrown: failing({
        "tools/call": refuse(-32_042, "open this", {
          elicitations: [{ mode: "url", message: "here", url: "https://page.example", elicitationId: "1" }]
        })
      }),
      is: { _tag: "ProtocolError", code: -32_042, codeName: "UrlElicitationRequired" }
    },
    {
      when: "is answered with no valid result",
      thrown: failing({ "tools/call": answer({ content: "none" }) }),
      is: { _tag: "InvalidResult" }
    },
    {
      when: "has more pages than the SDK turns",
      thrown: failing(
        { "tools/list": ({ params }) => ({ result: { tools: [tool], nextCursor: `${String(params?.cursor)}.` } }) },
        (client) => client.listTools()
      ),
      is: { _tag: "InvalidResult" }
    },
    {
      when: "is not possible in this era",
      thrown: failing({}, (client) => client.discover()),
      is: { _tag: "ProtocolError", code: -32601 }
    },
    {
      when: "is not answered in time",
      thrown: failing({ ping: () => undefined }, (client) => client.ping({ timeout: 50 })),
      is: { _tag: "OutcomeUnknown" }
    },
    {
      when: "is taken back",
      thrown: failing({ ping: () => undefined }, (client) => client.ping({ signal: AbortSignal.timeout(50) })),
      is: { _tag: "OutcomeUnknown" }
    },
    {
      when: "is pending when the connection is closed",
      thrown: failing({ ping: () => undefined }, (client) => {
        const answered = client.ping()
        return client.close().then(() => answered)
      }),
      is: { _tag: "OutcomeUnknown" }
    },
    {
      when: "comes after the connection was closed",
      thrown: failing({}, (client) => client.close().then(() => client.ping())),
      is: { _tag: "OutcomeUnknown" }
    }
  ]
  for (const { is, thrown, when } of cases) {
    it.scopedLive(`${when}: ${String(is._tag)}`, () =>
      Effect.map(thrown, (raw) => {
        const error = requestError(context, raw)
        for (const [name, value] of Object.entries(is)) {
          assert.deepStrictEqual(Reflect.get(error, name), value, `${name} of "${error.message}"`)
        }
      })
    )
  }

  for (const [status, tag] of [
    [401, "AuthRequired"],
    [429, "RateLimited"],
    [400, "NotSent"],
    [503, "OutcomeUnknown"]
  ] as const) {
    it.scopedLive(`is answered with ${status}: ${tag}`, () =>
      Effect.map(overHttp(Peers.answering(status)), (thrown) =>
        assert.strictEqual(requestError(context, thrown)._tag, tag)
      )
    )
  }

  it("says what our own wire knows about it", () => {
    const reason = new Errors.ConnectionClosed({ server: "it" })
    assert.strictEqual(requestError(context, new WireFailure(reason, "unsent"))._tag, "NotSent")
    const lost = requestError(context, new WireFailure(reason, "sent"))
    assert(lost._tag === "OutcomeUnknown")
    assert.strictEqual(lost.cause, reason)
  })
})

describe("our own way there keeps what the SDK forgets", () => {
  const failure = (url: string, more: Fields = {}) =>
    Effect.flip(connect({ type: "http", url, ...more })).pipe(Effect.scoped, Effect.provide(Connector.layer()))

  for (const protocol of ["auto", "legacy", "2026-07-28"] as const) {
    it.scopedLive(`for how long to wait (${protocol})`, () =>
      Effect.gen(function* () {
        const url = yield* Peers.answering(429, { "retry-after": "7" })
        const error = yield* failure(url, { protocol })
        check(error, { is: { _tag: "HttpFailed", status: 429, retryAfter: 7000 }, kind: "transient" })
      })
    )

    it.scopedLive(`what the login has to allow (${protocol})`, () =>
      Effect.gen(function* () {
        const url = yield* Peers.answering(403, {
          "www-authenticate": 'Bearer error="insufficient_scope", scope="read write"'
        })
        check(yield* failure(url, { protocol }), { is: { _tag: "AuthRequired", scope: "read write" }, kind: "auth" })
      })
    )

    it.scopedLive(`why the process ended (${protocol})`, () =>
      Effect.gen(function* () {
        const command = [process.execPath, "-e", "process.stdin.once('data', () => process.exit(3))"]
        const error = yield* Effect.flip(connect({ type: "local", command, protocol })).pipe(
          Effect.scoped,
          Effect.provide(Connector.layer())
        )
        check(error, { is: { _tag: "ProcessExited", exitCode: 3, phase: "handshake" }, kind: "transient" })
      })
    )
  }

  it.scopedLive("where a redirect without a target leads: nowhere", () =>
    Effect.gen(function* () {
      const error = yield* failure(yield* Peers.answering(300))
      check(error, { is: { _tag: "HttpFailed", status: 300 }, kind: "permanent" })
      assert.notInclude(error.message, "undefined")
    })
  )
})

/** Anything at all, and the SDK's own errors with anything in them. */
const thrownValue = (() => {
  const text = fc.oneof(fc.string(), fc.constant(secret), fc.constant(`x ${secret} y`))
  const anything = fc.anything({ withNullPrototype: true, withBigInt: true, withDate: true, withSparseArray: true })
  const number = fc.oneof(fc.integer(), fc.double(), fc.constantFrom(401, 403, 404, 429, 500, 503))
  const sdkCode = fc.constantFrom(...Object.values(SdkErrorCode))
  const systemCode = fc.oneof(fc.string(), fc.constantFrom("ENOENT", "ECONNREFUSED", "EAI_AGAIN", "CERT_HAS_EXPIRED"))
  const error = fc
    .record({ message: text, code: fc.oneof(systemCode, anything), syscall: fc.oneof(text, anything), cause: anything })
    .map(({ cause, message, ...rest }) => Object.assign(new Error(message, { cause }), rest))
  const fetchFailed = error.map((cause) => new TypeError("fetch failed", { cause }))
  return fc.oneof(
    anything,
    error,
    fetchFailed,
    fc
      .record({ code: sdkCode, message: text, data: anything, cause: fc.oneof(error, anything) })
      .map(({ cause, code, data, message }) => new SdkError(code, message, data, { cause })),
    fc
      .record({ code: sdkCode, message: text, status: number, body: text })
      .map(({ body, code, message, status }) => new SdkHttpError(code, message, { status, text: body })),
    fc
      .record({ code: number, message: text, data: fc.oneof(anything, fc.record({ hint: text, all: fc.array(text) })) })
      .map(({ code, data, message }) => new ProtocolError(code, message, data)),
    fc.record({ code: text, message: text }).map(({ code, message }) => new OAuthError(code, message)),
    fc
      .record({ status: number, body: text })
      .map((fields) => new RegistrationRejectedError({ ...fields, submittedMetadata: { redirect_uris: [] } })),
    fc
      .record({ code: fc.option(number, { nil: undefined }), message: text })
      .map(({ code, message }) => new SseError(code, message, {} as never)),
    text.map((requiredScope) => new InsufficientScopeError({ requiredScope })),
    text.map((message) => new UnauthorizedError(message)),
    fc.array(text).map((supported) => new UnsupportedProtocolVersionError({ supported, requested: "x" })),
    fc
      .constantFrom("protocol version is not supported: ", "HTTP 503 trying to load ", "Protected resource ")
      .chain((start) => text.map((rest) => new Error(`${start}${rest} does not match`)))
  )
})()

const isConnectionError = Schema.is(Errors.ConnectionError)
const isCallError = Schema.is(Errors.CallError)

describe("whatever is thrown", () => {
  const runs = { fastCheck: { numRuns: 1000 } }

  it.prop(
    "becomes an error of the domain, and nothing is thrown on the way",
    [thrownValue],
    ([thrown]) => {
      assert.isTrue(isConnectionError(connectionError(context, thrown)))
      assert.isTrue(isCallError(requestError(context, thrown)))
    },
    runs
  )

  it.prop(
    "shows no secret",
    [thrownValue],
    ([thrown]) => {
      const errors = [connectionError(context, thrown), requestError(context, thrown)]
      for (const error of errors) {
        assert.notInclude(`${error.message} ${inspect(error, { depth: 20 })}`, secret)
      }
    },
    runs
  )

  it("may refuse to be looked at", () => {
    const hostile = [
      Object.create(null),
      new Proxy(
        {},
        {
          get: () => {
            throw new Error("no")
          }
        }
      ),
      {
        get cause() {
          throw new Error("no")
        }
      },
      {
        toString: () => {
          throw new Error("no")
        }
      },
      Object.assign(new Error("no"), { message: undefined }),
      Object.assign(new Error("no"), { message: 5, code: Symbol("code"), syscall: 5 })
    ]
    for (const thrown of hostile) {
      assert.isTrue(isConnectionError(connectionError(context, thrown)))
      assert.isTrue(isCallError(requestError(context, thrown)))
    }
  })

  it("may be its own cause", () => {
    const error = new Error("round and round")
    error.cause = error
    assert.strictEqual(connectionError(context, error)._tag, "UnexpectedFailure")
  })
})
