/**
 * Real MCP servers whose responses a test scripts, for behaviour that no SDK produces. Examples are garbage, silence, half a
 * message and a crash.
 *
 * A script describes the server; its rules replace the default behaviour, step by step.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { makeEngine } from "./ScriptedServer/engine.js"
import { type Received, startHttp } from "./ScriptedServer/httpServer.js"
import type { CommonStep, Head, HttpScript, HttpStep, Rule, StdioScript, StdioStep } from "./ScriptedServer/model.js"
import { stdioProgram } from "./ScriptedServer/stdioProgram.js"

export type { Received } from "./ScriptedServer/httpServer.js"
export type * from "./ScriptedServer/model.js"

/**
 * Answers the request with this result, or with the default result. In a result, {@link params}, {@link answerOfClient}, {@link
 * received} and {@link filler} stand for values that are known only at run time. On a `GET` it answers the oldest pending
 * request, to test resumed streams.
 *
 * @since 0.1.0
 * @category steps
 */
export const answer = (result?: unknown): CommonStep => ({ step: "answer", result })

/**
 * Answers the request with a JSON-RPC error.
 *
 * @since 0.1.0
 * @category steps
 */
export const error = (code: number, message: string, data?: unknown): CommonStep => ({
  step: "error",
  code,
  message,
  data
})

/**
 * Waits this many milliseconds. Other messages are handled meanwhile.
 *
 * @since 0.1.0
 * @category steps
 */
export const sleep = (ms: number): CommonStep => ({ step: "sleep", ms })

/**
 * Sends a notification, such as `notifications/tools/list_changed`.
 *
 * @since 0.1.0
 * @category steps
 */
export const notify = (method: string, params?: unknown): CommonStep => ({ step: "notify", method, params })

/**
 * Reports progress with the token of the request. Does nothing if the request has none.
 *
 * @since 0.1.0
 * @category steps
 */
export const progress = (
  progress: number,
  rest?: { readonly total?: number | undefined; readonly message?: string | undefined }
): CommonStep => ({ step: "progress", progress, ...rest })

/**
 * Sends a request of the server, such as `elicitation/create`, and waits for the response.
 *
 * @since 0.1.0
 * @category steps
 */
export const ask = (method: string, params?: unknown): CommonStep => ({ step: "ask", method, params })

/**
 * Writes raw bytes to stdout or to the body of the response: garbage, half a message, an endless stream.
 *
 * @since 0.1.0
 * @category steps
 */
export const write = (
  bytes: string | Uint8Array,
  options?: {
    /** The number of repetitions. Defaults to 1. */
    readonly times?: number | undefined
  }
): CommonStep => ({
  step: "write",
  times: options?.times ?? 1,
  ...(typeof bytes === "string"
    ? { text: bytes, encoding: "utf8" }
    : { text: Buffer.from(bytes).toString("base64"), encoding: "base64" })
})

/**
 * Ends stdout or the HTTP response.
 *
 * @since 0.1.0
 * @category steps
 */
export const close: CommonStep = { step: "close" }

/**
 * Writes to stderr.
 *
 * @since 0.1.0
 * @category steps
 */
export const stderr = (
  text: string,
  options?: {
    /** The number of repetitions. Defaults to 1. */
    readonly times?: number | undefined
  }
): StdioStep => ({ step: "stderr", text, times: options?.times ?? 1 })

/**
 * Ends the process.
 *
 * @since 0.1.0
 * @category steps
 */
export const exit = (code: number): StdioStep => ({ step: "exit", code })

/**
 * Makes the process send itself a signal.
 *
 * @since 0.1.0
 * @category steps
 */
export const kill = (signal: string): StdioStep => ({ step: "kill", signal })

/**
 * Starts a process that outlives the server, and writes `grandchild <pid>` to stderr when it runs.
 *
 * @since 0.1.0
 * @category steps
 */
export const spawn = (options?: {
  /** Whether the process keeps the server's stdout open. Defaults to false. */
  readonly holdStdout?: boolean | undefined
  /** Defaults to false. */
  readonly ignoreSigterm?: boolean | undefined
  /** Whether the process has its own process group. Defaults to false. */
  readonly ownGroup?: boolean | undefined
}): StdioStep => ({
  step: "spawn",
  holdStdout: options?.holdStdout ?? false,
  ignoreSigterm: options?.ignoreSigterm ?? false,
  ownGroup: options?.ownGroup ?? false
})

/**
 * Sets status, headers and format of the HTTP response. Must come before anything is written.
 *
 * @since 0.1.0
 * @category steps
 */
export const head = (head: Head): HttpStep => ({ step: "head", ...head })

/**
 * Writes one event of an event stream, for example with an id to resume from or the time to wait before.
 *
 * @since 0.1.0
 * @category steps
 */
export const event = (fields: Omit<Extract<HttpStep, { readonly step: "event" }>, "step">): HttpStep => ({
  step: "event",
  ...fields
})

/**
 * Resets the connection.
 *
 * @since 0.1.0
 * @category steps
 */
export const reset: HttpStep = { step: "reset" }

/**
 * Deletes all sessions: later requests with their ids get 404.
 *
 * @since 0.1.0
 * @category steps
 */
export const forget: HttpStep = { step: "forget" }

/**
 * The steps of an HTTP response without MCP: an error, a redirect, a login page.
 *
 * @since 0.1.0
 * @category steps
 */
export const respond = (
  status: number,
  options?: {
    readonly headers?: Readonly<Record<string, string>> | undefined
    /** Defaults to an empty body. */
    readonly body?: string | undefined
  }
): ReadonlyArray<HttpStep> => [head({ status, headers: options?.headers }), write(options?.body ?? ""), close]

/**
 * A placeholder for the params of the request.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const params = { $: "params" } as const

/**
 * A placeholder for the response of the client to the last {@link ask}.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const answerOfClient = { $: "answer" } as const

/**
 * A placeholder for all messages that the server has received, oldest first. A tool can return it to a test.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const received = { $: "received" } as const

/**
 * A placeholder for a text of this length.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const filler = (length: number) => ({ $: length }) as const

/**
 * The command that starts a scripted server over stdin and stdout. It needs only Node.js.
 *
 * @since 0.1.0
 * @category constructors
 */
export const stdio = (
  script: StdioScript = {}
): { readonly command: string; readonly args: ReadonlyArray<string> } => ({
  command: process.execPath,
  // base64, because config files replace `${…}` in arguments and shells interpret quotes.
  args: ["-e", "eval(atob(process.argv[1]))", encode(program), encode(JSON.stringify(script))]
})

/** Encodes a program as base64. Other characters than ASCII are escaped, because `atob` returns bytes. */
const encode = (text: string): string =>
  Buffer.from(text.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)).toString(
    "base64"
  )

// Some bundlers wrap functions in `__name`.
const program = `const __name = (f) => f; (${stdioProgram})(JSON.parse(atob(process.argv[2])), ${makeEngine}, require)`

/**
 * A scripted HTTP server on loopback.
 *
 * @since 0.1.0
 * @category models
 */
export interface Http {
  readonly url: string
  /** All requests received so far, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Received>>
  /** The first request that matches, received or yet to come. */
  readonly awaitRequest: (matches: (request: Received) => boolean) => Effect.Effect<Received>
  /** Sends a message on all open `GET` streams. Returns the number of streams. */
  readonly push: (message: { readonly method: string; readonly params?: unknown }) => Effect.Effect<number>
  /** Deletes all sessions, as a restart of the server does. */
  readonly forgetSessions: Effect.Effect<void>
  /** Resets all connections, as a crash of the server does. */
  readonly resetConnections: Effect.Effect<void>
  /** Replaces all rules. */
  readonly setRules: (rules: ReadonlyArray<Rule<HttpStep>>) => Effect.Effect<void>
}

/**
 * Starts a scripted HTTP server on a free port of loopback. It is closed with all its connections when the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const http = (script: HttpScript = {}): Effect.Effect<Http, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => startHttp(script)),
      ({ close }) => Effect.promise(close)
    ),
    (running) => ({
      url: running.url,
      requests: Effect.sync(() => running.received.slice()),
      awaitRequest: (matches) =>
        Effect.async((resume) => {
          let seen = 0
          const look = () => {
            const found = running.received.slice(seen).find(matches)
            seen = running.received.length
            if (found === undefined) return
            running.onReceived.delete(look)
            resume(Effect.succeed(found))
          }
          running.onReceived.add(look)
          look()
          return Effect.sync(() => running.onReceived.delete(look))
        }),
      push: (message) => Effect.promise(() => running.push(message)),
      forgetSessions: Effect.sync(running.forget),
      resetConnections: Effect.sync(running.reset),
      setRules: (rules) => Effect.sync(() => running.setRules(rules))
    })
  )
