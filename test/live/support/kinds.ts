/** Runs a test on servers of every kind: both eras, over stdio and over HTTP. */
import type { ServerResponse } from "node:http"
import { fileURLToPath } from "node:url"
import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import type * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { type Answer, event, json, legacy, type Received, result, serve, stream, text } from "./rawHttp.js"

export const kinds = ["legacy over stdio", "legacy over HTTP", "modern over stdio", "modern over HTTP"] as const

export type Kind = (typeof kinds)[number]

export const isModern = (kind: Kind): boolean => kind.startsWith("modern")
export const isHttp = (kind: Kind): boolean => kind.endsWith("HTTP")

/** Steps of both kinds of scripted servers. */
export type Script = ScriptedServer.Script<ScriptedServer.CommonStep>

const revision = "2026-07-28"

/** The config of a scripted server of a kind. */
export const scripted = (kind: Kind, script: Script): Effect.Effect<ServerConfig.Input, never, Scope.Scope> => {
  const whole = isModern(kind) ? { protocolVersion: revision, ...script } : script
  return isHttp(kind)
    ? Effect.map(ScriptedServer.http(whole), ({ url }) => ({ url }))
    : Effect.sync(() => ScriptedServer.stdio(whole))
}

/** A result in the form of that era. */
export const asResult = (kind: Kind, value: object): object =>
  isModern(kind) ? { resultType: "complete", ...value } : value

/**
 * A correct server of the modern era over HTTP. A test can handle requests itself by returning true; all others get the default
 * response.
 */
export const modern =
  (own: (received: Received, response: ServerResponse) => boolean = () => false): Answer =>
  (received, response) => {
    if (own(received, response)) return
    const { message } = received
    switch (message.method) {
      case "server/discover":
        return void json(
          response,
          result(received, {
            resultType: "complete",
            supportedVersions: [revision],
            capabilities: { tools: { listChanged: true } },
            ttlMs: 0,
            cacheScope: "private",
            _meta: { "io.modelcontextprotocol/serverInfo": { name: "raw", version: "1.0.0" } }
          })
        )
      case "subscriptions/listen":
        return void acknowledge(received, response)
      case "tools/call":
        return void json(response, result(received, { resultType: "complete", ...text("called") }))
      default:
        return void json(
          response,
          { jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "unknown method" } },
          404
        )
    }
  }

/** Accepts a stream of changes. The returned function sends a message on it. */
export const acknowledge = (received: Received, response: ServerResponse) => {
  const _meta = { "io.modelcontextprotocol/subscriptionId": received.message.id }
  const say = (method: string, params: object = {}) =>
    response.write(event({ jsonrpc: "2.0", method, params: { ...params, _meta } }))
  stream(response)
  say("notifications/subscriptions/acknowledged", { notifications: { toolsListChanged: true } })
  return say
}

/** A server over HTTP that sends deeply nested values, as {@link deepStdio} does over stdio. */
export const deepHttp = (kind: Kind) => {
  const deep = "[".repeat(50_000) + "]".repeat(50_000)
  const own = (received: Received, response: ServerResponse) => {
    const { id, method, params } = received.message
    if (method !== "tools/call") return false
    const write = (message: object) =>
      `data: ${JSON.stringify({ jsonrpc: "2.0", ...message }).replace('"deep"', deep)}\n\n`
    const done = write({ id, result: asResult(kind, text("done")) })
    const answers: Readonly<Record<string, string>> = {
      error: write({ id, error: { code: -32000, message: "too deep", data: "deep" } }),
      log: write({ method: "notifications/message", params: { level: "info", data: "deep" } }) + done,
      structured: write({ id, result: asResult(kind, { ...text("here"), structuredContent: "deep" }) }),
      whole: write({ id, result: "deep" })
    }
    stream(response).end(answers[String(params?.name)] ?? done)
    return true
  }
  return Effect.map(serve(isModern(kind) ? modern(own) : legacy(own)), ({ url }) => ({ url }))
}

const deepServer = fileURLToPath(new URL("./deepServer.mjs", import.meta.url))

export const deepStdio = (kind: Kind): ServerConfig.Input => ({
  command: process.execPath,
  args: [deepServer, isModern(kind) ? "modern" : "legacy"]
})

/** A test with a real connector, in real time. */
export const live = (
  name: string,
  test: Effect.Effect<unknown, unknown, Connector.Connector | Scope.Scope>,
  timeout?: number
) => it.live(name, () => test.pipe(Effect.scoped, Effect.provide(Connector.layer())), timeout)

/** Runs a test for servers of several kinds. */
export const liveFor = (
  given: ReadonlyArray<Kind>,
  name: string,
  test: (kind: Kind) => Effect.Effect<unknown, unknown, Connector.Connector | Scope.Scope>
) => {
  for (const kind of given) live(`${name} (${kind})`, test(kind))
}
