import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import {
  type Client,
  InsufficientScopeError,
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
import { connectionError, requestError } from "../../../src/connection/sdk/sdkClassify.js"
import { WireFailure } from "../../../src/connection/wire/Wire.js"
import * as Errors from "../../../src/domain/Errors.js"
import * as Peers from "../support/contractServers/peers.js"
import { connect } from "../support/session.js"
import { secret, context, type Fields, check, overHttp, answer, refuse } from "../support/classification.js"

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
    it.scopedLive(`with status ${status}: ${tag}`, () =>
      Effect.map(overHttp(Peers.answering(status)), (thrown) =>
        assert.strictEqual(requestError(context, thrown)._tag, tag)
      )
    )
  }

  it("keeps the stage that the wire reported", () => {
    const reason = new Errors.ConnectionClosed({ server: "it" })
    assert.strictEqual(requestError(context, new WireFailure(reason, "unsent"))._tag, "NotSent")
    const lost = requestError(context, new WireFailure(reason, "sent"))
    assert(lost._tag === "OutcomeUnknown")
    assert.strictEqual(lost.cause, reason)
  })
})

describe("the wire keeps information that the SDK drops", () => {
  const failure = (url: string, more: Fields = {}) =>
    Effect.flip(connect({ type: "http", url, ...more })).pipe(Effect.scoped, Effect.provide(Connector.layer()))

  for (const protocol of ["auto", "legacy", "2026-07-28"] as const) {
    it.scopedLive(`Retry-After (${protocol})`, () =>
      Effect.gen(function* () {
        const url = yield* Peers.answering(429, { "retry-after": "7" })
        const error = yield* failure(url, { protocol })
        check(error, { is: { _tag: "HttpFailed", status: 429, retryAfter: 7000 }, kind: "transient" })
      })
    )

    it.scopedLive(`the scope of a login (${protocol})`, () =>
      Effect.gen(function* () {
        const url = yield* Peers.answering(403, {
          "www-authenticate": 'Bearer error="insufficient_scope", scope="read write"'
        })
        check(yield* failure(url, { protocol }), { is: { _tag: "AuthRequired", scope: "read write" }, kind: "auth" })
      })
    )

    it.scopedLive(`why the process exited (${protocol})`, () =>
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

  it.scopedLive("a redirect without a target", () =>
    Effect.gen(function* () {
      const error = yield* failure(yield* Peers.answering(300))
      check(error, { is: { _tag: "HttpFailed", status: 300 }, kind: "permanent" })
      assert.notInclude(error.message, "undefined")
    })
  )
})

/** Any value, and the SDK's own errors with any content. */
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

describe("any thrown value", () => {
  const runs = { fastCheck: { numRuns: 1000 } }

  it.prop(
    "becomes an error of the domain",
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

  it("can throw when it is inspected", () => {
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

  it("can be its own cause", () => {
    const error = new Error("round and round")
    error.cause = error
    assert.strictEqual(connectionError(context, error)._tag, "UnexpectedFailure")
  })
})
