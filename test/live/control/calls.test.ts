/** Calls through the control API: results, errors, progress, and clients that disconnect. */
import * as Http from "node:http"
import type { AddressInfo } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Logger, Option, Redacted, Scope, Stream } from "effect"
import { isResponseLost } from "../../../src/cli/supervisor/RemoteSupervisor.js"
import * as ControlClient from "../../../src/control/ControlClient.js"
import type { Progress } from "../../../src/domain/catalog/Protocol.js"
import * as Errors from "../../../src/domain/Errors.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { type Asked, controlled, local, token } from "../support/control.js"
import { heldBytes, megabyte } from "../support/memory.js"

const open = FakeConnector.open({
  tools: [
    { name: "greet", inputSchema: { type: "object", properties: { who: { type: "string" } }, required: ["who"] } },
    "slow"
  ],
  calls: { slow: Effect.never },
  resources: ["a:b"],
  prompts: ["hi"]
})

const setup = Effect.gen(function* () {
  const harness = yield* controlled({
    supervisor: {
      servers: { one: local, flaky: { ...local, restart: { maxRestarts: 0, cooldown: "1 hour" } } }
    },
    scripts: {
      one: open,
      flaky: [open, FakeConnector.fail(new Errors.SessionLost({ server: "flaky" }))]
    }
  })
  yield* harness.supervisor.awaitSettled()
  return harness
}).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

const post = (body: unknown): Asked => ({ method: "POST", body })
const asEvents = (body: unknown): Asked => ({ ...post(body), headers: { accept: "text/event-stream" } })

/** The events of a text, without comments. */
const eventsIn = (text: string) =>
  text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => {
      const [, name, data = ""] = /^event: (\w+)\ndata: (.*)$/.exec(block) ?? []
      return [name, JSON.parse(data)]
    })

/** The head of a response whose body continues. The test destroys the request. */
const begin = (address: string, path: string, headers: Readonly<Record<string, string>>) =>
  Effect.sync(() => {
    const request = Http.request(`${address}${path}`, {
      method: "POST",
      agent: false,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers }
    })
    request.on("error", () => {})
    request.on("response", (response) => response.on("error", () => {}).resume())
    request.end("{}")
    return request
  })

describe("a request to a server", () => {
  it.scopedLive("gets 404 for an unknown server in the body, with the most similar name", () =>
    Effect.gen(function* () {
      const { ask } = yield* setup
      const asked = {
        "/resources/read": { server: "onee", uri: "a:b" },
        "/prompts/get": { server: "onee", name: "hi" }
      }
      for (const [path, body] of Object.entries(asked)) {
        const { json, status } = yield* ask(path, post(body))
        assert.strictEqual(status, 404, path)
        assert.deepInclude(json.error, { tag: "ServerNotFound", server: "onee", nearest: "one" })
        assert.isNotEmpty(json.error.message)
      }
      const tool = yield* ask("/tools/one_gret/call", post({}))
      assert.strictEqual(tool.status, 404)
      assert.deepInclude(tool.json.error, { tag: "ToolNotFound", tool: "one_gret", nearest: "one_greet" })
    })
  )

  it.scopedLive("gets 400 for invalid arguments, with their paths and without their values", () =>
    Effect.gen(function* () {
      const { ask, fake } = yield* setup
      const wrong = yield* ask("/tools/one_greet/call", post({ arguments: { who: ["s3cret"] } }))
      assert.strictEqual(wrong.status, 400)
      assert.deepInclude(wrong.json.error, { tag: "InvalidArguments", server: "one", subject: "greet" })
      assert.deepStrictEqual(wrong.json.error.issues[0].path, ["who"])
      assert.notInclude(wrong.text, "s3cret")
      const missing = yield* ask("/tools/one_greet/call", post({}))
      assert.strictEqual(`${missing.status} ${missing.json.error.tag}`, "400 InvalidArguments")
      assert.isNotEmpty(missing.json.error.issues)
      const sent = (yield* fake.controls.journal).filter(({ type }) => type === "called")
      assert.deepStrictEqual(sent, [])
    })
  )

  it.scopedLive("gets 503 and the status if the server failed", () =>
    Effect.gen(function* () {
      const { ask, fake, supervisor } = yield* setup
      yield* (yield* fake.controls.awaitAttempt("flaky")).crash()
      yield* Effect.repeat(supervisor.server("flaky"), { until: ({ status }) => status.status === "failed" })
      const asked = {
        "/tools/flaky_greet/call": { arguments: { who: "you" } },
        "/resources/read": { server: "flaky", uri: "a:b" },
        "/prompts/get": { server: "flaky", name: "hi" }
      }
      for (const [path, body] of Object.entries(asked)) {
        const { json, status } = yield* ask(path, post(body))
        assert.strictEqual(`${status} ${json.error.tag}`, "503 ServerUnavailable", path)
        assert.strictEqual(json.error.server, "flaky")
        assert.deepStrictEqual(json.error.status, (yield* supervisor.server("flaky")).status)
      }
    })
  )
})

describe("the progress of a call", () => {
  it.scopedLive("is streamed as it arrives, followed by the result", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* setup
      const seen: Array<Progress> = []
      const first = yield* Deferred.make<void>()
      const onProgress = (progress: Progress) =>
        Effect.zipRight(
          Effect.sync(() => seen.push(progress)),
          Effect.asVoid(Deferred.succeed(first, undefined))
        )
      const calling = yield* Effect.fork(client.call("one_slow", { arguments: { a: 1 } }, onProgress))
      const call = yield* fake.controls.awaitCall("one")
      assert.deepStrictEqual(call.args, { a: 1 })
      yield* call.progress({ progress: 1, total: 3, message: "a\nb" })
      // it is here while the call goes on
      yield* Deferred.await(first)
      yield* call.progress({ progress: 2 })
      yield* call.answer(FakeConnector.text("done"))
      assert.deepStrictEqual((yield* calling).content, [{ type: "text", text: "done" }])
      assert.deepStrictEqual(seen, [{ progress: 1, total: 3, message: "a\nb" }, { progress: 2 }])
    })
  )

  it.scopedLive("ends with the response that a call without a stream gets, also if that is an error", () =>
    Effect.gen(function* () {
      const { ask, client } = yield* setup
      const path = "/tools/one_greet/call"
      const body = { arguments: { who: "you" } }
      const plain = yield* ask(path, post(body))
      const told = yield* ask(path, asEvents(body))
      assert.strictEqual(told.headers["content-type"], "text/event-stream")
      assert.deepStrictEqual(eventsIn(told.text), [["result", plain.json]])
      for (const accept of ["text/event-stream;q=0", "text/event-streams", "application/json"]) {
        assert.deepStrictEqual((yield* ask(path, { ...post(body), headers: { accept } })).json, plain.json, accept)
      }
      const mixed = yield* ask(path, {
        ...post(body),
        headers: { accept: "application/json, Text/Event-Stream; q=0.5" }
      })
      assert.strictEqual(mixed.headers["content-type"], "text/event-stream")
      const wrong = yield* ask(path, asEvents({ arguments: { who: 5 } }))
      assert.strictEqual(wrong.status, 200)
      assert.deepStrictEqual(eventsIn(wrong.text), [
        ["error", (yield* ask(path, post({ arguments: { who: 5 } }))).json]
      ])
      const error = yield* Effect.flip(client.call("nothing", {}, () => Effect.void))
      assert.strictEqual(error._tag, "ToolNotFound")
      // what is wrong with the request itself is known before anything begins
      const refused = yield* ask(path, { ...asEvents({ arguments: 5 }) })
      assert.strictEqual(`${refused.status} ${refused.json.error.tag}`, "400 BadRequest")
    })
  )

  it.scopedLive("can end with an error of a later version, which keeps its message", () =>
    Effect.gen(function* () {
      const said = { error: { tag: "PermissionDenied", message: "nobody may call this" } }
      const later = yield* Effect.acquireRelease(
        Effect.async<Http.Server>((resume) => {
          const listening = Http.createServer((_, response) => {
            response.writeHead(200, { "content-type": "text/event-stream" })
            response.end(`event: error\ndata: ${JSON.stringify(said)}\n\n`)
          })
          listening.listen(0, "127.0.0.1", () => resume(Effect.succeed(listening)))
        }),
        (listening) => Effect.sync(() => listening.close())
      )
      const { port } = later.address() as AddressInfo
      const client = yield* ControlClient.make({ address: `http://127.0.0.1:${port}`, token: Redacted.make(token) })
      const error = yield* Effect.flip(client.call("any", {}, () => Effect.void))
      assert.deepInclude(error, { _tag: "UnknownError", tag: "PermissionDenied" })
      assert.include(error.message, "nobody may call this")
      assert.isFalse(isResponseLost(error))
    })
  )

  it.scopedLive("is not sent to another route if the name is . or .., like every other request", () =>
    Effect.gen(function* () {
      const { client, supervisor } = yield* controlled({
        supervisor: { servers: { auth: { ...local, enabled: false } } }
      })
      for (const name of [".", ".."]) {
        const error = yield* Effect.flip(client.auth.forget({ path: { name } }))
        assert.deepInclude(error, { _tag: "RequestError", reason: "InvalidUrl" })
      }
      assert.lengthOf(yield* supervisor.servers, 1)
    })
  )

  it.scopedLive("is not requested if the arguments cannot be encoded as JSON", () =>
    Effect.gen(function* () {
      const { client } = yield* setup
      const error = yield* Effect.flip(client.call("one_greet", { arguments: { who: 1n } }, () => Effect.void))
      assert.deepInclude(error, { _tag: "BadRequest", detail: "the arguments cannot be encoded as JSON" })
    })
  )

  it.scopedLive("is dropped for a client that does not read, and does not delay the call", () =>
    Effect.gen(function* () {
      const { fake, server, supervisor } = yield* setup
      const request = yield* begin(server.address, "/tools/one_slow/call", { accept: "text/event-stream" })
      request.removeAllListeners("response").on("response", (response) => response.on("error", () => {}).pause())
      const call = yield* fake.controls.awaitCall("one")
      const before = heldBytes()
      for (let step = 0; step < 1000; step++) {
        yield* call.progress({ progress: step, message: String(step).padEnd(100_000) })
      }
      // of 100 MB, what the latest reports take and the sockets between us
      assert.isBelow(heldBytes() - before, 32 * megabyte)
      assert.isTrue(yield* call.answer(FakeConnector.text("done")))
      // the call has ended although the client has read nothing
      const settled = yield* supervisor.eventsFrom(1).pipe(
        Stream.filter(({ type }) => type === "CallSettled"),
        Stream.runHead
      )
      assert.deepInclude(Option.getOrThrow(settled), { tool: "slow", outcome: "ok" })
      request.destroy()
    })
  )

  it.scopedLive("ends when the supervisor shuts down, with the error that the outcome is unknown", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { fake, server } = yield* Scope.extend(setup, scope)
      const client = yield* ControlClient.make({ ...server, token: Redacted.make(token) })
      const calling = yield* Effect.fork(Effect.flip(client.call("one_slow", {}, () => Effect.void)))
      yield* fake.controls.awaitCall("one")
      yield* Scope.close(scope, Exit.void)
      const error = yield* calling
      assert.isTrue(isResponseLost(error), error._tag)
    })
  )
})

describe("a client that disconnects during a call", () => {
  for (const [how, headers] of Object.entries({ plain: {}, events: { accept: "text/event-stream" } })) {
    it.scopedLive(`cancels it: ${how}`, () =>
      Effect.gen(function* () {
        const { fake, server } = yield* setup
        const request = yield* begin(server.address, "/tools/one_slow/call", headers)
        const { id } = yield* fake.controls.awaitCall("one")
        request.destroy()
        yield* fake.controls.awaitEntry((entry) => entry.type === "cancelled" && entry.call === id)
      })
    )
  }

  it.scopedLive("cancels it: the TypeScript client, with and without progress", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* setup
      const ways: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        client.call("one_slow", {}, () => Effect.void),
        client.catalog.call({ path: { name: "one_slow" }, payload: {} })
      ]
      for (const way of ways) {
        const calling = yield* Effect.fork(way)
        const { id } = yield* fake.controls.awaitCall("one")
        yield* Fiber.interrupt(calling)
        yield* fake.controls.awaitEntry((entry) => entry.type === "cancelled" && entry.call === id)
      }
    })
  )
})
