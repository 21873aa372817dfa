/**
 * The types of scripts, which describe a server and the rules that replace its default behaviour. All of it is JSON.
 */

/**
 * The steps of all servers.
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
 * The steps of a stdio server.
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
 * The steps of an HTTP server.
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
 * Status, headers and format of one HTTP response.
 *
 * @since 0.1.0
 * @category steps
 */
export interface Head {
  /** Defaults to 200. */
  readonly status?: number | undefined
  /** Headers in addition to those that the body requires. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Whether the body is an event stream, which begins immediately. Defaults to the script's `sse`. */
  readonly sse?: boolean | undefined
  /** Defaults to false. */
  readonly gzip?: boolean | undefined
  /** Sends the body in chunks of this many bytes. Defaults to whole messages. */
  readonly chunk?: number | undefined
}

/**
 * The behaviour that replaces the default one. The first matching rule applies.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rule<Step> {
  /**
   * A method such as `tools/call`, of a request or a notification; `*` for every request; `response` for responses to requests
   * of the server. For a process also `start`, `eof` (of its input) and names of signals, such as `SIGTERM`. For an HTTP server
   * also `GET` and `DELETE`.
   */
  readonly on: string
  /** Matches only params with these values, such as `{ name: "echo" }`. */
  readonly where?: Readonly<Record<string, unknown>> | undefined
  /** Matches only the nth time, from 1, that `on` and `where` match. Defaults to every time. */
  readonly nth?: number | undefined
  /** The steps, run in order. An empty list is silence: no response, no exit. */
  readonly do: ReadonlyArray<Step>
}

/**
 * The description of a scripted server. Without rules it is a correct server.
 *
 * @since 0.1.0
 * @category models
 */
export interface Script<Step> {
  /**
   * Defaults to the revision that the client requests. A revision without a handshake, such as `2026-07-28`, makes a server of
   * that era.
   */
  readonly protocolVersion?: string | undefined
  /** Defaults to the capabilities that the lists need. */
  readonly capabilities?: Readonly<Record<string, unknown>> | undefined
  /** Defaults to `scripted`, version 1.0.0. */
  readonly serverInfo?: Readonly<Record<string, unknown>> | undefined
  readonly instructions?: string | undefined
  /**
   * A string is the name of a tool without arguments; any other value is listed as it is. A call returns the name of the tool.
   * If absent, the server has no tools.
   */
  readonly tools?: ReadonlyArray<unknown> | undefined
  /** A string is the URI and name of a resource. A read returns the URI as text. */
  readonly resources?: ReadonlyArray<unknown> | undefined
  readonly resourceTemplates?: ReadonlyArray<unknown> | undefined
  /** A string is the name of a prompt without arguments and messages. */
  readonly prompts?: ReadonlyArray<unknown> | undefined
  /** The number of entries on one page of a list. Defaults to all. */
  readonly pageSize?: number | undefined
  readonly rules?: ReadonlyArray<Rule<Step>> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface StdioScript extends Script<StdioStep> {
  /** Milliseconds after which the process and its children exit, whatever they ignore. Defaults to one minute. */
  readonly lifetime?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface HttpScript extends Script<HttpStep> {
  /** `sse` is the older transport with two endpoints. Defaults to `streamable-http`. */
  readonly transport?: "streamable-http" | "sse" | undefined
  /** Whether the server issues and requires a session id. Defaults to false. */
  readonly sessions?: boolean | undefined
  /** Whether responses are event streams, even if they hold only one message. Defaults to false. */
  readonly sse?: boolean | undefined
}
