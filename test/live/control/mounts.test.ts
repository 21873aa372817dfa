import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Logger } from "effect"
import type { Mount } from "../../../src/control/ControlServer.js"
import { type Asked, controlled } from "../support/control.js"

/** Responds with the method, the URL and the body of the request. */
const echo = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  return HttpServerResponse.unsafeJson({ method: request.method, url: request.url, body: yield* request.text })
})

const mounts: ReadonlyArray<Mount> = [
  { path: "/gateway", app: echo },
  { path: "/", isPublic: true, app: echo },
  { path: "/page/*", isPublic: true, app: echo },
  {
    path: "/json",
    app: Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ json }) =>
      Effect.flatMap(json, HttpServerResponse.json)
    )
  },
  { path: "/broken", app: Effect.die(new Error("s3cret inside")) }
]

const noToken = { authorization: undefined }

const setup = (control = {}) =>
  Effect.map(
    controlled({ control: { mounts, ...control } }),
    ({ ask }) =>
      (path: string, asked?: Asked) =>
        Effect.map(ask(path, asked), (response) => ({
          ...response,
          outcome: response.status === 200 ? "200" : `${response.status} ${response.json.error.tag}`
        }))
  )

describe("an app that is mounted beside the control API", () => {
  it.scopedLive("receives requests of every method, with their URL and body", () =>
    Effect.gen(function* () {
      const ask = yield* setup()
      const response = yield* ask("/gateway?a=1;b", { method: "POST", body: { jsonrpc: "2.0" } })
      assert.deepStrictEqual(response.json, { method: "POST", url: "/gateway?a=1;b", body: '{"jsonrpc":"2.0"}' })
      assert.strictEqual((yield* ask("/gateway", { method: "DELETE" })).json.method, "DELETE")
      assert.strictEqual(response.headers["cache-control"], "no-store")
    })
  )

  it.scopedLive("receives only requests with an allowed host and origin and a valid token", () =>
    Effect.gen(function* () {
      const ask = yield* setup({ allowedOrigins: ["https://page.test"] })
      const outcomeOf = (headers: Asked["headers"]) =>
        Effect.map(ask("/gateway", { headers: headers ?? {} }), ({ outcome }) => outcome)
      assert.strictEqual(yield* outcomeOf({}), "200")
      assert.strictEqual(yield* outcomeOf({ origin: "https://page.test" }), "200")
      assert.strictEqual(yield* outcomeOf({ host: "evil.test" }), "403 Forbidden")
      assert.strictEqual(yield* outcomeOf({ origin: "https://evil.test" }), "403 Forbidden")
      assert.strictEqual(yield* outcomeOf(noToken), "401 Unauthorized")
      assert.strictEqual(
        yield* outcomeOf({ authorization: "Bearer 0123456789abcdef-the-wrong-one" }),
        "401 Unauthorized"
      )
    })
  )

  it.scopedLive("needs no token at a public path, where host and origin are still checked", () =>
    Effect.gen(function* () {
      const ask = yield* setup()
      for (const path of ["/", "/?x=1", "/page/app.js", "/page/deep/er"]) {
        assert.strictEqual((yield* ask(path, { headers: noToken })).outcome, "200", path)
        const foreignHost = { ...noToken, host: "evil.test" }
        assert.strictEqual((yield* ask(path, { headers: foreignHost })).outcome, "403 Forbidden", path)
        const foreignOrigin = { ...noToken, origin: "https://evil.test" }
        assert.strictEqual((yield* ask(path, { headers: foreignOrigin })).outcome, "403 Forbidden", path)
      }
    })
  )

  it.scopedLive("makes no other path public, however the path is written", () =>
    Effect.gen(function* () {
      const ask = yield* setup()
      for (const path of ["/mcp", "/page", "/pages", "//", "/%2e/", "/gateway", "/Page/x", "/nowhere"]) {
        assert.strictEqual((yield* ask(path, { headers: noToken })).outcome, "401 Unauthorized", path)
      }
      // a path that only looks like a route of the API is served by the public app
      const dotted = yield* ask("/page/../mcp", { headers: noToken })
      assert.strictEqual(dotted.json.url, "/page/../mcp")
    })
  )

  it.scopedLive("leaves the API as it is: unknown paths are 404, wrong methods 405", () =>
    Effect.gen(function* () {
      const ask = yield* setup()
      assert.deepStrictEqual((yield* ask("/mcp")).json, {})
      for (const path of ["/page", "/gateway/below", "/gateway/", "/nowhere"]) {
        const response = yield* ask(path)
        assert.strictEqual(response.outcome, "404 RouteNotFound", path)
        assert.strictEqual(response.json.error.path, path)
        assert.isNotEmpty(response.json.error.message)
      }
      assert.strictEqual((yield* ask("/mcp", { method: "PUT" })).outcome, "405 MethodNotAllowed")
    })
  )

  it.scopedLive("receives the body of a client that waits for permission to send it", () =>
    Effect.gen(function* () {
      const ask = yield* setup()
      const response = yield* ask("/gateway", { method: "POST", raw: "late", headers: { expect: "100-continue" } })
      assert.strictEqual(response.json.body, "late")
      assert.isTrue(response.isContinued)
    })
  )

  it.scopedLive("receives bodies of any size without a limit", () =>
    Effect.gen(function* () {
      const ask = yield* setup({ maxBody: Infinity })
      const raw = "x".repeat(200_000)
      assert.strictEqual((yield* ask("/gateway", { method: "POST", raw })).json.body, raw)
      assert.strictEqual((yield* ask("/mcp", { method: "POST", raw: "{}" })).outcome, "400 BadRequest")
    })
  )

  it.scopedLive("gets no more of a body than the limit, and its faults become the API's errors", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ annotations, cause, message }) => {
        logged.push(`${String(message)} ${JSON.stringify([...annotations])} ${Cause.pretty(cause)}`)
      })
      const ask = yield* setup({ maxBody: 100 }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.strictEqual((yield* ask("/gateway", { method: "POST", raw: "x".repeat(100) })).outcome, "200")
      for (const raw of ["x".repeat(101), "x".repeat(200_000)]) {
        assert.strictEqual((yield* ask("/gateway", { method: "POST", raw })).outcome, "413 PayloadTooLarge")
      }
      const unannounced = { "content-length": undefined, "transfer-encoding": "chunked" }
      const endless = ask("/gateway", { method: "POST", raw: "x".repeat(200_000), headers: unannounced })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(endless)))
      assert.strictEqual((yield* ask("/json", { method: "POST", raw: "{" })).outcome, "400 BadRequest")
      const broken = yield* ask("/broken")
      assert.strictEqual(broken.outcome, "500 InternalError")
      assert.isTrue(logged.some((line) => line.includes("mcp.control.fault") && line.includes("/broken")))
      assert.notInclude(broken.text + logged.join(), "s3cret")
    })
  )
})
