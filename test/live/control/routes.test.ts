import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Duration, Effect, Fiber, Layer, Logger, Redacted, Stream } from "effect"
import { ConfigAccess } from "../../../src/control/server/ConfigAccess.js"
import { routes } from "../../../src/control/server/routes.js"
import * as Errors from "../../../src/domain/Errors.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { type Asked, controlled, local, remote } from "../support/control.js"

const open = FakeConnector.open({
  tools: [{ name: "greet", inputSchema: { type: "object", properties: { who: { type: "string" } } } }],
  resources: ["a:b"],
  resourceTemplates: ["a:{c}"],
  prompts: [{ name: "hi", arguments: [{ name: "who", required: true }] }]
})

const quiet = Logger.remove(Logger.defaultLogger)

const setup = (control = {}) =>
  Effect.gen(function* () {
    const harness = yield* controlled({
      supervisor: { servers: { one: local, far: remote, off: { ...local, enabled: false } } },
      scripts: { one: open, two: open, far: FakeConnector.open({}) },
      control
    })
    yield* harness.supervisor.awaitSettled()
    return harness
  }).pipe(Effect.provide(quiet))

/** A valid request for each route. */
const examples: Readonly<
  Record<string, { readonly path?: string; readonly body?: unknown; readonly status?: number }>
> = {
  "GET /mcp": {},
  "POST /mcp": { body: { name: "two", config: local } },
  "POST /mcp/:name/connect": {},
  "POST /mcp/:name/disconnect": {},
  "POST /mcp/:name/restart": {},
  "POST /mcp/:name/enable": {},
  "POST /mcp/:name/disable": {},
  "DELETE /mcp/:name": {},
  // the host does not exist, so no authorization server responds
  "POST /mcp/:name/auth": { path: "/mcp/one/auth", status: 409 },
  "POST /mcp/:name/auth/callback": { path: "/mcp/far/auth/callback", body: { code: "c", state: "s" }, status: 409 },
  "DELETE /mcp/:name/auth": { path: "/mcp/far/auth" },
  "GET /auth": {},
  "GET /servers": {},
  "GET /servers/:name": {},
  "GET /servers/:name/logs": {},
  "GET /tools": {},
  "POST /tools/:name/call": { path: "/tools/one_greet/call", body: { arguments: { who: "you" } } },
  "GET /resources": {},
  "GET /resources/templates": {},
  "POST /resources/read": { body: { server: "one", uri: "a:b" } },
  "GET /prompts": {},
  "POST /prompts/get": { body: { server: "one", name: "hi", arguments: { who: "you" } } },
  "POST /reload": { status: 409 },
  "GET /config": { status: 409 },
  "POST /trust": { body: {}, status: 409 },
  "GET /health": {},
  "GET /metrics": {},
  "GET /openapi.json": {}
}

const requests = Object.entries(examples).map(([route, { body, path, status = 200 }]) => {
  const [method = "", pattern = ""] = route.split(" ")
  return { route, status, path: path ?? pattern.replace(":name", "one"), asked: { method, body } as Asked }
})

describe("every route", () => {
  it("has an example request in this file", () => {
    const known = routes.map(({ method, path }) => `${method} ${path}`)
    assert.sameMembers([...Object.keys(examples), "GET /events"], known)
  })

  it.scopedLive("responds to requests with the token, and rejects all others before anything is executed", () =>
    Effect.gen(function* () {
      const { ask, fake, server, supervisor } = yield* setup()
      const before = (yield* fake.controls.journal).length
      const refusals: ReadonlyArray<readonly [number, string, Asked["headers"]]> = [
        [401, "Unauthorized", { authorization: undefined }],
        [401, "Unauthorized", { authorization: "Bearer 0123456789abcdef-the-wrong-one" }],
        [403, "Forbidden", { host: "evil.test" }],
        [403, "Forbidden", { origin: "https://evil.test" }]
      ]
      const all = [...requests, { route: "", path: "/events", asked: {} }, { route: "", path: "/nowhere", asked: {} }]
      for (const { asked, path } of all) {
        for (const [status, tag, headers = {}] of refusals) {
          const answer = yield* ask(path, { ...asked, headers })
          assert.strictEqual(answer.status, status, path)
          assert.strictEqual(answer.json.error.tag, tag, path)
          assert.isNotEmpty(answer.json.error.message)
          if (status === 401) assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
        }
      }
      assert.strictEqual((yield* fake.controls.journal).length, before)
      // requests that remove something come last
      const order = (route: string) =>
        route.startsWith("DELETE /mcp/:name") ? 2 : /able|connect|restart/.test(route) ? 1 : 0
      for (const { asked, path, route, status } of [...requests].sort((a, b) => order(a.route) - order(b.route))) {
        const answer = yield* ask(path, { ...asked, headers: { origin: server.address } })
        assert.strictEqual(answer.status, status, `${route}: ${answer.text}`)
        assert.strictEqual(answer.headers["cache-control"], "no-store")
        if (status !== 200) assert.isString(answer.json.error.tag)
        if (/^POST \/mcp\/:name\/(connect|restart|enable|disable|disconnect)/.test(route)) {
          const { status } = yield* supervisor.server("one")
          assert.deepStrictEqual(answer.json, status, route)
        }
      }
    })
  )

  it.scopedLive("rejects a body that is too large, not JSON, or does not match the route", () =>
    Effect.gen(function* () {
      const { ask } = yield* setup({ maxBody: 1000 })
      const taking = requests.filter(({ asked }) => asked.body !== undefined)
      assert.isAbove(taking.length, 5)
      for (const { asked, path, route } of taking) {
        const { method = "" } = asked
        const outcome = (asked: Asked) =>
          Effect.map(ask(path, { method, ...asked }), ({ json, status }) => `${status} ${json.error.tag}`)
        const large = JSON.stringify({ text: "x".repeat(5000) })
        assert.strictEqual(yield* outcome({ raw: large }), "413 PayloadTooLarge", route)
        const chunked = { "content-length": undefined, "transfer-encoding": "chunked" }
        assert.strictEqual(yield* outcome({ raw: large, headers: chunked }), "413 PayloadTooLarge", route)
        for (const raw of ["{", "[1,", "nope", Buffer.from([0x22, 0xff, 0x22]), "[]", "5", "null", '"text"']) {
          assert.strictEqual(yield* outcome({ raw }), "400 BadRequest", `${route} ${raw}`)
        }
        for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
          const headers = { "content-type": type }
          assert.strictEqual(yield* outcome({ raw: "{}", headers }), "415 UnsupportedMediaType", route)
        }
      }
    })
  )

  it.scopedLive("names the invalid paths of a body, and never their values", () =>
    Effect.gen(function* () {
      const { ask } = yield* setup()
      const answer = yield* ask("/mcp", {
        method: "POST",
        body: { name: 5, config: { headers: "s3cret" }, persist: "s3cret" }
      })
      assert.strictEqual(answer.status, 400)
      assert.notInclude(answer.text, "s3cret")
      assert.deepStrictEqual(
        answer.json.error.issues.map((issue: { readonly path: ReadonlyArray<string> }) => issue.path.join(".")),
        ["name", "persist"]
      )
      const config = yield* ask("/mcp", { method: "POST", body: { name: "n", config: { command: { a: "s3cret" } } } })
      assert.strictEqual(config.json.error.tag, "InvalidConfig")
      assert.notInclude(config.text, "s3cret")
    })
  )

  it.scopedLive("returns 404 for an unknown server, tool or path, and 405 with Allow for another method", () =>
    Effect.gen(function* () {
      const { ask } = yield* setup()
      for (const { asked, route } of requests.filter(({ route }) => route.includes(":name"))) {
        const answer = yield* ask(route.split(" ")[1]!.replace(":name", "onf"), asked)
        assert.strictEqual(answer.status, 404, route)
        assert.strictEqual(answer.json.error.tag, route.includes("tools") ? "ToolNotFound" : "ServerNotFound")
        if (!route.includes("tools")) assert.strictEqual(answer.json.error.nearest, "one")
      }
      for (const { path } of requests) {
        const answer = yield* ask(path, { method: "PATCH" })
        assert.strictEqual(answer.status, 405, path)
        assert.deepStrictEqual(answer.headers.allow?.split(", "), answer.json.error.allow)
        const elsewhere = yield* ask(`${path}/nothing/there`)
        assert.strictEqual(`${elsewhere.status} ${elsewhere.json.error.tag}`, "404 RouteNotFound")
      }
    })
  )
})

describe("the control API", () => {
  it.scopedLive("adds a server, rejects an existing name, and refers MCP clients to the MCP endpoint", () =>
    Effect.gen(function* () {
      const { ask, client, supervisor } = yield* setup()
      const added = yield* client.mcp.add({ payload: { name: "a/b c%", config: local } })
      assert.deepStrictEqual(Object.keys(added), ["one", "far", "off", "a/b c%"])
      assert.strictEqual((yield* supervisor.server("a/b c%")).origin, "dynamic")
      assert.strictEqual((yield* client.servers.get({ path: { name: "a/b c%" } })).name, "a/b c%")
      const again = yield* Effect.flip(client.mcp.add({ payload: { name: "one", config: local } }))
      assert.deepStrictEqual(again, new Errors.ServerExists({ server: "one" }))
      assert.strictEqual((yield* client.mcp.remove({ path: { name: "a/b c%" } })).status, "disabled")
      for (const body of [{ jsonrpc: "2.0", id: 1, method: "initialize" }, [{ jsonrpc: "2.0", method: "ping" }]]) {
        const answer = yield* ask("/mcp", { method: "POST", body })
        assert.strictEqual(answer.status, 400)
        assert.strictEqual(answer.json.error.message, "the MCP endpoint is /gateway")
      }
    })
  )

  it.scopedLive("calls tools, reads resources and gets prompts, with the errors of the library", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* setup()
      const { controls } = fake
      const tools = yield* client.catalog.tools({ urlParams: {} })
      assert.deepStrictEqual(
        tools.map(({ name }) => name),
        ["one_greet"]
      )
      assert.strictEqual((yield* client.catalog.resources({ urlParams: {} }))[0]?.uri, "a:b")
      assert.strictEqual((yield* client.catalog.resourceTemplates({ urlParams: {} }))[0]?.uriTemplate, "a:{c}")
      assert.strictEqual((yield* client.catalog.prompts({ urlParams: { agent: "x" } }))[0]?.name, "hi")
      const call = (args: Record<string, unknown>, options = {}) =>
        client.catalog.call({ path: { name: "one_greet" }, payload: { arguments: args, options } })
      assert.deepStrictEqual((yield* call({ who: "you" })).content, [{ type: "text", text: "greet" }])
      assert.strictEqual((yield* Effect.flip(call({ who: 5 })))._tag, "InvalidArguments")
      const attempt = yield* controls.awaitAttempt("one")
      yield* attempt.set({ calls: { greet: Effect.never } })
      const late = yield* Effect.flip(call({}, { idleTimeout: "20 millis", totalTimeout: 1000, replay: "never" }))
      assert.strictEqual(late._tag, "CallTimeout")
      const crashed = yield* Effect.fork(Effect.flip(call({}, { replay: "never" })))
      yield* controls.awaitCall("one")
      yield* attempt.crash()
      assert.strictEqual((yield* crashed)._tag, "OutcomeUnknown")
      assert.strictEqual(
        (yield* client.catalog.read({ payload: { server: "one", uri: "a:b" } })).contents[0]?.uri,
        "a:b"
      )
      const missing = yield* Effect.flip(client.catalog.prompt({ payload: { server: "one", name: "hi" } }))
      assert.strictEqual(missing._tag, "InvalidArguments")
    })
  )

  it.scopedLive("returns the stored log lines, and streams new ones after them", () =>
    Effect.gen(function* () {
      const { client, fake } = yield* setup()
      const attempt = yield* fake.controls.awaitAttempt("one")
      for (let line = 1; line <= 700; line++) yield* attempt.log(`line ${line}`)
      const lines = yield* client.servers.logs({ path: { name: "one" } })
      assert.deepStrictEqual([lines.length, lines.at(0)?.text, lines.at(-1)?.text], [700, "line 1", "line 700"])
      const seen: Array<string> = []
      const following = yield* Effect.fork(
        client.logs("one").pipe(
          Stream.tap(({ text }) => Effect.sync(() => seen.push(text))),
          Stream.tap(({ text }) => (text === "line 700" ? attempt.log("the last") : Effect.void)),
          Stream.takeUntil(({ text }) => text === "the last"),
          Stream.runDrain
        )
      )
      yield* following
      assert.strictEqual(seen.length, 701)
      const nobody = yield* Effect.flip(Stream.runDrain(client.logs("nobody")))
      assert.strictEqual(nobody._tag, "ServerNotFound")
    })
  )

  it.scopedLive("returns the log of a server that writes continuously without waiting for it", () =>
    Effect.gen(function* () {
      const { ask, fake } = yield* setup()
      const attempt = yield* fake.controls.awaitAttempt("one")
      yield* attempt.log("before")
      yield* Effect.sleep("5 millis")
      const writing = yield* Effect.fork(Effect.forever(Effect.zipRight(attempt.log("more"), Effect.sleep("1 millis"))))
      const [took, answer] = yield* Effect.timed(ask("/servers/one/logs"))
      yield* Fiber.interrupt(writing)
      assert.strictEqual(answer.json[0].text, "before")
      assert.isBelow(Duration.toMillis(took), 8000)
      assert.isAtMost(answer.json.length, 1000)
    })
  )

  it.scopedLive("accepts pages of allowed origins, and answers their preflights", () =>
    Effect.gen(function* () {
      const origin = "https://page.test"
      const { ask } = yield* setup({ allowedOrigins: [origin] })
      const preflight = (headers: Record<string, string>) =>
        ask("/servers/one", {
          method: "OPTIONS",
          headers: { authorization: undefined, "access-control-request-method": "DELETE", ...headers }
        })
      const allowed = yield* preflight({ origin })
      assert.strictEqual(allowed.status, 204)
      assert.strictEqual(allowed.headers["access-control-allow-origin"], origin)
      assert.include(allowed.headers["access-control-allow-methods"], "DELETE")
      assert.include(allowed.headers["access-control-allow-headers"], "authorization")
      const answer = yield* ask("/health", { headers: { origin } })
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers["access-control-allow-origin"], origin)
      assert.strictEqual(answer.headers.vary, "Origin")
      const refused = yield* ask("/health", { headers: { origin, authorization: undefined } })
      assert.strictEqual(refused.status, 401)
      assert.strictEqual(refused.headers["access-control-allow-origin"], origin)
      for (const headers of [{ origin: "https://evil.test" }, { origin, host: "evil.test" }]) {
        assert.strictEqual((yield* preflight(headers)).status, 403)
      }
      const same = yield* ask("/health")
      assert.isUndefined(same.headers["access-control-allow-origin"])
      assert.strictEqual((yield* ask("/health", { method: "OPTIONS", headers: { origin } })).status, 405)
    })
  )

  it.scopedLive("reaches servers with long names, and rejects names that a URL cannot contain", () =>
    Effect.gen(function* () {
      const { client } = yield* setup()
      const name = "n".repeat(128)
      yield* client.mcp.add({ payload: { name, config: local } })
      assert.strictEqual((yield* client.servers.get({ path: { name } })).name, name)
      const strange = "ü/".repeat(64)
      yield* client.mcp.add({ payload: { name: strange, config: local } })
      assert.strictEqual((yield* client.servers.get({ path: { name: strange } })).name, strange)
      for (const name of [".", ".."]) {
        const error = yield* Effect.flip(client.mcp.add({ payload: { name, config: local } }))
        assert.strictEqual(error._tag, "InvalidConfig")
      }
    })
  )

  it.scopedLive("rejects bodies that are nested too deeply, and unknown keys", () =>
    Effect.gen(function* () {
      const { ask } = yield* setup()
      for (const deep of ["[".repeat(100_000) + "]".repeat(100_000), `{"a":${"[".repeat(300)}${"]".repeat(300)}}`]) {
        for (const path of ["/mcp", "/tools/one_greet/call"]) {
          const answer = yield* ask(path, { method: "POST", raw: deep })
          assert.strictEqual(`${answer.status} ${answer.json.error.tag}`, "400 BadRequest")
        }
      }
      const body = { name: "two", config: { ...local, unknown: 1 }, persits: true, ghp_0123456789abcdef0123: 1 }
      const answer = yield* ask("/mcp", { method: "POST", body })
      assert.strictEqual(answer.status, 400)
      assert.deepStrictEqual(
        answer.json.error.issues.map((issue: { readonly path: ReadonlyArray<string> }) => issue.path),
        [["persits"], []]
      )
      assert.notInclude(answer.text, "ghp_")
    })
  )

  it.scopedLive("uses the config files of the supervisor", () =>
    Effect.gen(function* () {
      const plan = { start: ["x"], stop: [], restart: [], update: [], keep: [], tools: { appear: [], vanish: [] } }
      const asked: Array<string> = []
      const service = {
        reload: Effect.sync(() => {
          asked.push("reload")
          return plan
        }),
        explain: Effect.fail(new Errors.InvalidConfig({ issues: [] })),
        trust: (file: string | undefined) =>
          file === "other"
            ? Effect.fail(new Errors.EditRefused({ file, reason: "it is none", issues: [] }))
            : Effect.succeed({ files: [{ file: "f", servers: ["x"] }] }),
        add: (name: string) => Effect.sync(() => void asked.push(`add ${name}`))
      }
      const { client } = yield* controlled({ layer: Layer.succeed(ConfigAccess, service) as Layer.Layer<never> })
      assert.deepStrictEqual(yield* client.config.reload({}), plan)
      assert.deepStrictEqual(yield* client.config.trust({ payload: {} }), {
        files: [{ file: "f", servers: ["x"] }],
        plan
      })
      yield* client.mcp.add({ payload: { name: "x", config: local, persist: true } })
      assert.deepStrictEqual(asked, ["reload", "reload", "add x", "reload"])
      assert.strictEqual((yield* Effect.flip(client.config.explain({})))._tag, "InvalidConfig")
      const refused = yield* Effect.flip(client.config.trust({ payload: { file: "other" } }))
      assert.strictEqual(refused._tag, "EditRefused")
    })
  )

  it.scopedLive("reports a persisted server as added if it runs, even if another config file is invalid", () =>
    Effect.gen(function* () {
      const service = {
        reload: Effect.fail(new Errors.InvalidConfig({ issues: [] })),
        explain: Effect.never,
        trust: () => Effect.never,
        add: () => Effect.void
      }
      const { client } = yield* controlled({
        supervisor: { servers: { there: { ...local, enabled: false } } },
        layer: Layer.succeed(ConfigAccess, service) as Layer.Layer<never>
      })
      const add = (name: string) => client.mcp.add({ payload: { name, config: local, persist: true } })
      assert.deepStrictEqual(Object.keys(yield* add("there")), ["there"])
      assert.strictEqual((yield* Effect.flip(add("elsewhere")))._tag, "InvalidConfig")
    })
  )

  it.scopedLive("responds to a fault with 500 and without its details", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ annotations, cause, message }) => {
        logged.push(`${String(message)} ${JSON.stringify([...annotations])} ${Cause.pretty(cause)}`)
      })
      const { ask } = yield* controlled({
        around: (supervisor) => ({ ...supervisor, servers: Effect.die(new Error("s3cret inside")) })
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      const answer = yield* ask("/mcp")
      assert.strictEqual(answer.status, 500)
      assert.deepStrictEqual(Object.keys(answer.json.error), ["tag", "message"])
      assert.strictEqual(answer.json.error.tag, "InternalError")
      assert.isTrue(logged.some((line) => line.includes("mcp.control.fault")))
      assert.notInclude(answer.text + logged.join(), "s3cret")
    })
  )

  it.scopedLive("responds to malformed HTTP with 400, and still serves other clients", () =>
    Effect.gen(function* () {
      const { ask, server } = yield* setup()
      const text = yield* Effect.async<string>((resume) => {
        const socket = connect(Number(new URL(server.address).port), "127.0.0.1")
        let answer = ""
        socket.on("data", (part) => (answer += String(part)))
        socket.on("close", () => resume(Effect.succeed(answer)))
        socket.on("error", () => {})
        socket.write("what is this\r\n\r\n")
      })
      assert.include(text, "400 Bad Request")
      assert.strictEqual(JSON.parse(text.split("\r\n\r\n")[1]!).error.tag, "BadRequest")
      assert.strictEqual((yield* ask("/health")).status, 200)
    })
  )

  it.scopedLive("listens beyond loopback only with a token of the user's own, and reports a used port", () =>
    Effect.gen(function* () {
      const refusal = (control: object) =>
        Effect.map(Effect.flip(setup(control)), (error) => (error as { readonly _tag: string })._tag)
      assert.strictEqual(yield* refusal({ host: "0.0.0.0" }), "UnsafeBind")
      for (const weak of ["short", "with spaces in between", ""]) {
        assert.strictEqual(yield* refusal({ host: "0.0.0.0", ownToken: Redacted.make(weak) }), "WeakToken")
        assert.strictEqual(yield* refusal({ ownToken: Redacted.make(weak) }), "WeakToken")
      }
      const ownToken = Redacted.make("a-token-of-my-own-choice")
      const { ask, server } = yield* setup({ host: "0.0.0.0", ownToken })
      assert.match(server.address, /^http:\/\/0\.0\.0\.0:\d+$/)
      for (const token of ["a-token-of-my-own-choice", "0123456789abcdef-the-right-one"]) {
        const answer = yield* ask("/health", { headers: { authorization: `Bearer ${token}`, host: "192.0.2.7" } })
        assert.strictEqual(answer.status, 200)
      }
      const taken = Number(new URL(server.address).port)
      const error = yield* Effect.flip(setup({ port: taken }))
      assert.include(String(error), "another program listens there")
    })
  )
})
