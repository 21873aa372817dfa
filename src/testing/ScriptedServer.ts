/**
 * Real MCP servers whose every answer a test decides, for what no SDK would do: garbage, silence, half a message, a crash in
 * the middle. A script says what the server is like; its rules say what it does instead of the usual, step by step.
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
 * Answers the request: with this result, or as a good server would. In it, {@link params}, {@link answerOfClient},
 * {@link received} and {@link filler} stand for what is known only then. On a `GET` it answers the oldest request that still
 * waits, which is what resuming a stream is about.
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
 * Waits so many milliseconds. Other messages are handled meanwhile.
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
 * Reports progress with the token of the request; does nothing if it has none.
 *
 * @since 0.1.0
 * @category steps
 */
export const progress = (
  progress: number,
  rest?: { readonly total?: number | undefined; readonly message?: string | undefined }
): CommonStep => ({ step: "progress", progress, ...rest })

/**
 * Sends a request of the server's own, such as `elicitation/create`, and waits for the answer.
 *
 * @since 0.1.0
 * @category steps
 */
export const ask = (method: string, params?: unknown): CommonStep => ({ step: "ask", method, params })

/**
 * Writes these bytes as they are, to stdout or to the body of the answer: garbage, half a message, something endless.
 *
 * @since 0.1.0
 * @category steps
 */
export const write = (
  bytes: string | Uint8Array,
  options?: {
    /** How often. Defaults to once. */
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
 * Ends stdout, or the answer to the HTTP request.
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
    /** How often. Defaults to once. */
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
 * Lets the process send itself a signal.
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
  /** Whether it keeps the server's stdout open. Defaults to false. */
  readonly holdStdout?: boolean | undefined
  /** Defaults to false. */
  readonly ignoreSigterm?: boolean | undefined
  /** Whether it has a process group of its own. Defaults to false. */
  readonly ownGroup?: boolean | undefined
}): StdioStep => ({
  step: "spawn",
  holdStdout: options?.holdStdout ?? false,
  ignoreSigterm: options?.ignoreSigterm ?? false,
  ownGroup: options?.ownGroup ?? false
})

/**
 * Says how the answer to this HTTP request is sent. Comes before anything is written.
 *
 * @since 0.1.0
 * @category steps
 */
export const head = (head: Head): HttpStep => ({ step: "head", ...head })

/**
 * Writes one event of an event stream: an id to resume from, the time to wait before that, or anything else.
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
 * Forgets all sessions: later requests with one of their ids get 404.
 *
 * @since 0.1.0
 * @category steps
 */
export const forget: HttpStep = { step: "forget" }

/**
 * The steps of an HTTP answer that is no MCP: an error, a redirect, a login page.
 *
 * @since 0.1.0
 * @category steps
 */
export const respond = (
  status: number,
  options?: {
    readonly headers?: Readonly<Record<string, string>> | undefined
    /** Defaults to nothing. */
    readonly body?: string | undefined
  }
): ReadonlyArray<HttpStep> => [head({ status, headers: options?.headers }), write(options?.body ?? ""), close]

/**
 * Stands for the params of the request in what a server says.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const params = { $: "params" } as const

/**
 * Stands for the message with which the client answered the last {@link ask}.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const answerOfClient = { $: "answer" } as const

/**
 * Stands for all messages the server has received, oldest first. A tool that answers with it lets a test see them.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const received = { $: "received" } as const

/**
 * Stands for a text of this length.
 *
 * @since 0.1.0
 * @category placeholders
 */
export const filler = (length: number) => ({ $: length }) as const

/**
 * How to start a scripted server that speaks over stdin and stdout. It needs nothing but Node.
 *
 * @since 0.1.0
 * @category constructors
 */
export const stdio = (
  script: StdioScript = {}
): { readonly command: string; readonly args: ReadonlyArray<string> } => ({
  command: process.execPath,
  // base64: config files replace `${…}` in arguments, and shells have their own ideas about quotes
  args: ["-e", "eval(atob(process.argv[1]))", encode(program), encode(JSON.stringify(script))]
})

/** ASCII, as `atob` gives bytes. */
const encode = (text: string): string =>
  Buffer.from(text.replace(/[^\0-\x7f]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`)).toString(
    "base64"
  )

// `__name` is what some bundlers wrap functions in
const program = `const __name = (f) => f; (${stdioProgram})(JSON.parse(atob(process.argv[2])), ${makeEngine}, require)`

/**
 * A scripted server on loopback.
 *
 * @since 0.1.0
 * @category models
 */
export interface Http {
  readonly url: string
  /** Everything that arrived, oldest first. */
  readonly requests: Effect.Effect<ReadonlyArray<Received>>
  /** The first request that matches, of those there are and those to come. */
  readonly awaitRequest: (matches: (request: Received) => boolean) => Effect.Effect<Received>
  /** Sends a message on all open `GET` streams and says how many there are. */
  readonly push: (message: { readonly method: string; readonly params?: unknown }) => Effect.Effect<number>
  /** Forgets all sessions, as a restarted server does. */
  readonly forgetSessions: Effect.Effect<void>
  /** Resets all connections, as a server that crashes does. */
  readonly resetConnections: Effect.Effect<void>
  /** Replaces all rules. */
  readonly setRules: (rules: ReadonlyArray<Rule<HttpStep>>) => Effect.Effect<void>
}

/**
 * Starts a scripted HTTP server on a free port of loopback. The end of the scope closes it and every connection.
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
