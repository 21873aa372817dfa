/**
 * The vocabulary of scripts: what a server is like, and rules that make it do something else. All of it is JSON.
 */

/**
 * What every kind of server can do.
 *
 * @since 0.1.0
 * @category steps
 */
export type CommonStep =
  | { readonly step: "answer"; readonly result?: unknown }
  | { readonly step: "error"; readonly code: number; readonly message: string; readonly data?: unknown }
  | { readonly step: "sleep"; readonly ms: number }
  | { readonly step: "notify"; readonly method: string; readonly params?: unknown }
  | {
      readonly step: "progress"
      readonly progress: number
      readonly total?: number | undefined
      readonly message?: string | undefined
    }
  | { readonly step: "ask"; readonly method: string; readonly params?: unknown }
  | { readonly step: "write"; readonly text: string; readonly encoding: "utf8" | "base64"; readonly times: number }
  | { readonly step: "close" }

/**
 * What a process can do.
 *
 * @since 0.1.0
 * @category steps
 */
export type StdioStep =
  | CommonStep
  | { readonly step: "stderr"; readonly text: string; readonly times: number }
  | { readonly step: "exit"; readonly code: number }
  | { readonly step: "kill"; readonly signal: string }
  | {
      readonly step: "spawn"
      readonly holdStdout: boolean
      readonly ignoreSigterm: boolean
      readonly ownGroup: boolean
    }

/**
 * What an HTTP server can do.
 *
 * @since 0.1.0
 * @category steps
 */
export type HttpStep =
  | CommonStep
  | ({ readonly step: "head" } & Head)
  | {
      readonly step: "event"
      readonly event?: string | undefined
      readonly id?: string | undefined
      readonly retry?: number | undefined
      readonly data?: string | undefined
    }
  | { readonly step: "reset" }
  | { readonly step: "forget" }

/**
 * How the answer to one HTTP request is sent.
 *
 * @since 0.1.0
 * @category steps
 */
export interface Head {
  /** Defaults to 200. */
  readonly status?: number | undefined
  /** Besides those that the body needs. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether the body is a stream of events, which begins at once. Defaults to the script's `sse`. */
  readonly sse?: boolean | undefined
  /** Defaults to false. */
  readonly gzip?: boolean | undefined
  /** Sends the body in pieces of so many bytes, each on its own. Defaults to whole messages. */
  readonly chunk?: number | undefined
}

/**
 * What to do instead of the usual. The first rule that fits is taken.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rule<Step> {
  /**
   * A method such as `tools/call`, of a request or a notification; `*` for every request; `response` for answers to what the
   * server asked. Of a process also `start`, `eof` (of its input) and the names of signals, such as `SIGTERM`. Of an HTTP
   * server also `GET` and `DELETE`.
   */
  readonly on: string
  /** Only if the params have these values, such as `{ name: "echo" }`. */
  readonly where?: Readonly<Record<string, unknown>> | undefined
  /** Only the nth time, from 1, that `on` and `where` fit. Defaults to every time. */
  readonly nth?: number | undefined
  /** One after the other. Nothing at all is silence: no answer, no exit. */
  readonly do: ReadonlyArray<Step>
}

/**
 * What a scripted server is like. Without rules it is a good one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Script<Step> {
  /** Defaults to what the client asks for. One without a handshake, such as `2026-07-28`, makes a server of that era. */
  readonly protocolVersion?: string | undefined
  /** Defaults to what the lists need. */
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined
  /** Defaults to `scripted`, version 1.0.0. */
  readonly serverInfo?: Readonly<Record<string, unknown>> | undefined
  readonly instructions?: string | undefined
  /**
   * A mere name is a tool without arguments; anything else is listed as it is. Called, a tool answers with its name. Absent is
   * a server without tools.
   */
  readonly tools?: ReadonlyArray<unknown> | undefined
  /** A mere URI is a resource of that name. Read, a resource has its URI as text. */
  readonly resources?: ReadonlyArray<unknown> | undefined
  readonly resourceTemplates?: ReadonlyArray<unknown> | undefined
  /** A mere name is a prompt without arguments, and without messages. */
  readonly prompts?: ReadonlyArray<unknown> | undefined
  /** How much of a list goes on one page. Defaults to all of it. */
  readonly pageSize?: number | undefined
  readonly rules?: ReadonlyArray<Rule<Step>> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface StdioScript extends Script<StdioStep> {
  /** Milliseconds after which the process and its children end by themselves, whatever they ignore. Defaults to a minute. */
  readonly lifetime?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface HttpScript extends Script<HttpStep> {
  /** `sse` is the old transport of two endpoints. Defaults to `streamable-http`. */
  readonly transport?: "streamable-http" | "sse" | undefined
  /** Whether a session id is given out and asked for. Defaults to false. */
  readonly sessions?: boolean | undefined
  /** Whether answers are event streams, also where one JSON would do. Defaults to false. */
  readonly sse?: boolean | undefined
}
