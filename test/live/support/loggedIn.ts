/** Supervisors with logins on random ports, and what a browser does in tests of logins. */
import { readFileSync } from "node:fs"
import { connect, createServer } from "node:net"
import { join } from "node:path"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import * as McpAuth from "../../../src/auth/McpAuth.js"
import type { Credential } from "../../../src/auth/tokens/Credential.js"
import type { InvalidConfig } from "../../../src/domain/Errors.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"
import { authServer } from "./authServer.js"
import { person, protectedServer } from "./protectedServer.js"
import { awaitStatus, freePort, temporaryDirectory } from "./supervised.js"

export interface Both {
  readonly supervisor: McpSupervisor.Shape
  readonly auth: McpAuth.AuthShape
  readonly stateDir: string
}

/** A supervisor with the layer for Node, with a state directory of its own by default. */
export const superviseBoth = (
  options: McpSupervisor.Options = {},
  logger: Layer.Layer<never> = Logger.remove(Logger.defaultLogger)
): Effect.Effect<Both, InvalidConfig, Scope.Scope> =>
  Effect.gen(function* () {
    const stateDir = options.stateDir ?? (yield* temporaryDirectory)
    const context = yield* Layer.build(McpSupervisor.layerNode({ ...options, stateDir })).pipe(Effect.provide(logger))
    return {
      supervisor: Context.get(context, McpSupervisor.McpSupervisor),
      auth: Context.get(context, McpAuth.McpAuth),
      stateDir
    }
  })

/** An entry for a server with a login, whose callback port is free. */
export const entryFor = (url: string, oauth: Record<string, unknown> = {}) =>
  Effect.map(freePort, (callbackPort) => ({
    url,
    oauth: { callbackPort, ...oauth },
    restart: { base: 20, cap: 50 }
  }))

/** The stored logins, as in the file. */
export const storedLogins = (stateDir: string): ReadonlyArray<Credential> => JSON.parse(fileIn(stateDir)).logins

export const fileIn = (stateDir: string): string => readFileSync(join(stateDir, "mcp-auth.json"), "utf8")

/** An authorization server, a server that it protects, and a supervisor of that server, which requires a login. */
export const waiting = (
  options: {
    readonly as?: Parameters<typeof authServer>[0]
    readonly rs?: Parameters<typeof protectedServer>[1]
    readonly oauth?: Record<string, unknown>
    readonly stateDir?: string
    readonly status?: "needs_auth" | "needs_client_registration"
  } = {}
) =>
  Effect.gen(function* () {
    const as = yield* authServer(options.as)
    const rs = yield* protectedServer(as, options.rs)
    const browser = person()
    const entry = yield* entryFor(rs.url, options.oauth)
    const both = yield* superviseBoth({
      servers: { it: entry },
      openUrl: browser.openUrl,
      ...(options.stateDir === undefined ? {} : { stateDir: options.stateDir })
    })
    yield* awaitStatus(both.supervisor, "it", options.status ?? "needs_auth")
    return { ...both, as, rs, browser, entry }
  })

export const portOf = (uri: string) => Number(new URL(uri).port)

/** Listens on a port, as another program does. */
export const occupy = (port: number) =>
  Effect.acquireRelease(
    Effect.async<ReturnType<typeof createServer>>((resume) => {
      const server = createServer((socket) => socket.destroy())
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.sync(() => server.close())
  )

/** Requests a URL and returns where it redirects to. */
export const redirectOf = (url: string) =>
  Effect.promise(() => fetch(url, { redirect: "manual" }).then((response) => response.headers.get("location") ?? ""))

/** Requests a URL and follows its redirects. */
export const visit = (url: string) =>
  Effect.promise(() => fetch(url).then(async (response) => ({ status: response.status, text: await response.text() })))

/** The status of the response to a path as it is. `fetch` would correct the path. */
export const statusAt = (port: number, path: string) =>
  Effect.async<number>((resume) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`))
    socket.once("data", (chunk) => {
      socket.destroy()
      resume(Effect.succeed(Number(chunk.toString().split(" ")[1])))
    })
    socket.once("close", () => resume(Effect.succeed(0)))
    socket.on("error", () => {})
  })

/** Returns when nothing listens on a port. */
export const portClosed = (port: number) =>
  Effect.promise(() =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => false,
      () => true
    )
  ).pipe(Effect.delay(10), Effect.repeat({ until: (isClosed) => isClosed }))
