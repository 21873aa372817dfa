/** A supervisor with a fake connector, and its control API on a real socket. */
import { mkdtempSync, rmSync } from "node:fs"
import * as Http from "node:http"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Redacted, Scope } from "effect"
import { McpAuth } from "../../../src/auth/McpAuth.js"
import * as ControlClient from "../../../src/control/ControlClient.js"
import * as ControlServer from "../../../src/control/ControlServer.js"
import { McpSupervisor, type Options, type Shape } from "../../../src/supervision/model.js"
import * as Supervisor from "../../../src/supervision/Supervisor.js"
import { FakeConnector } from "../../../src/testing/Testing.js"

export const token = "0123456789abcdef-the-right-one"

export interface Answer {
  readonly status: number
  readonly headers: Http.IncomingHttpHeaders
  readonly text: string
  /** The decoded body. `any`, because each test expects another shape. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any
  /** Whether the server asked for the body of a request with `Expect: 100-continue`. */
  readonly isContinued: boolean
}

export interface Asked {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  /** Sent unchanged, instead of `body`. */
  readonly raw?: string | Buffer
}

/** Sends one request on its own connection, with the valid token unless the headers replace it. */
export const ask = (
  where: { readonly address: string; readonly socket?: string | undefined },
  path: string,
  { body, headers = {}, method = "GET", raw }: Asked = {}
): Effect.Effect<Answer, Error> =>
  Effect.async((resume) => {
    const { hostname, port } = new URL(where.address)
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const all = {
      authorization: `Bearer ${token}`,
      ...(payload === undefined
        ? {}
        : { "content-type": "application/json", "content-length": String(Buffer.byteLength(payload)) }),
      ...headers
    }
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
    const target = where.socket === undefined ? { hostname, port } : { socketPath: where.socket }
    const request = Http.request({ ...target, path, method, headers: given as Record<string, string>, agent: false })
    request.on("error", (error) => resume(Effect.fail(error)))
    let isContinued = false
    request.on("continue", () => {
      isContinued = true
      request.end(payload)
    })
    request.on("response", (response) => {
      const parts: Array<Buffer> = []
      response.on("data", (part: Buffer) => parts.push(part))
      response.on("error", (error) => resume(Effect.fail(error)))
      response.on("end", () => {
        const text = Buffer.concat(parts).toString()
        const isJson = (response.headers["content-type"] ?? "").startsWith("application/json")
        const json = isJson && text !== "" ? JSON.parse(text) : undefined
        resume(Effect.succeed({ status: response.statusCode ?? 0, headers: response.headers, text, json, isContinued }))
      })
    })
    if (given.expect === undefined) request.end(payload)
    else request.flushHeaders()
    return Effect.sync(() => void request.destroy())
  })

/** A client that requests a stream, receives its beginning, and stops reading. */
export const idler = (address: string, path: string) =>
  Effect.acquireRelease(
    Effect.async<Socket>((resume) => {
      const socket = connect(Number(new URL(address).port), "127.0.0.1")
      socket.on("error", () => {})
      const head = ["Host: localhost", "Accept: text/event-stream", `Authorization: Bearer ${token}`]
      socket.write(`GET ${path} HTTP/1.1\r\n${head.join("\r\n")}\r\n\r\n`)
      socket.once("data", () => {
        socket.pause()
        resume(Effect.succeed(socket))
      })
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )

export interface Controlled {
  readonly supervisor: Shape
  readonly auth: Context.Tag.Service<McpAuth>
  readonly fake: FakeConnector.FakeConnector
  readonly server: Context.Tag.Service<ControlServer.ControlServer>
  readonly ask: (path: string, asked?: Asked) => Effect.Effect<Answer, Error>
  readonly client: ControlClient.ControlClient
}

export const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-control-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** Starts a control server only. */
export const serve = (
  options: Partial<ControlServer.Options>
): Effect.Effect<
  Context.Tag.Service<ControlServer.ControlServer>,
  ControlServer.UnsafeBind | ControlServer.WeakToken | ControlServer.ListenFailed,
  McpSupervisor | McpAuth | Scope.Scope
> =>
  Effect.map(Layer.build(ControlServer.layer({ port: 0, token: Redacted.make(token), ...options })), (context) =>
    Context.get(context, ControlServer.ControlServer)
  )

export const controlled = (
  setup: {
    readonly supervisor?: Options
    readonly scripts?: Readonly<Record<string, FakeConnector.Script>>
    readonly control?: Partial<ControlServer.Options>
    readonly around?: (supervisor: Shape) => Shape
    readonly layer?: Layer.Layer<never>
  } = {}
): Effect.Effect<Controlled, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const { around = (supervisor) => supervisor, control = {}, layer = Layer.empty, scripts } = setup
    const fake = yield* FakeConnector.make(scripts)
    const services = yield* Layer.build(Layer.provide(Supervisor.layer(setup.supervisor), fake.layer))
    const supervisor = around(Context.get(services, McpSupervisor))
    const further = yield* Layer.build(layer)
    const context = Context.merge(Context.add(services, McpSupervisor, supervisor), further)
    const server = yield* Effect.provide(serve(control), context)
    const client = yield* ControlClient.make({ ...server, token: Redacted.make(token) })
    return {
      supervisor,
      auth: Context.get(services, McpAuth),
      fake,
      server,
      ask: (path, asked) => ask(server, path, asked),
      client
    }
  })

export const local = { type: "local", command: ["some-server"] } as const
export const remote = { type: "remote", url: "https://example.test/mcp" } as const
