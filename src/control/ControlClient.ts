/**
 * A client of the control API: what is derived from its description, and the streams, which are not.
 *
 * @since 0.1.0
 */
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as Errors from "../domain/Errors.js"
import { CallToolResult, LogLine, Progress } from "../domain/catalog/Protocol.js"
import { ServerEvent } from "../domain/server/ServerEvent.js"
import { ControlApi } from "./ControlApi.js"
import * as ControlError from "./ControlError.js"
import * as NodeHttp from "./server/nodeHttp.js"
import type { Call } from "./Payload.js"
import { type Message, parse } from "./server/sse.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The Unix socket. It is preferred where both are given. */
  readonly socket?: string | undefined
  /** Such as `http://127.0.0.1:7444`. One of both has to be there. */
  readonly address?: string | undefined
  readonly token: Redacted.Redacted<string>
}

/**
 * What comes out of the event stream. `Reset`: the id that was asked for is of another supervisor, or of one that was started
 * again, and everything has to be read anew. `Skipped`: some events are no longer kept.
 *
 * @since 0.1.0
 * @category models
 */
export type EventMessage =
  | { readonly _tag: "Event"; readonly id: string; readonly event: ServerEvent }
  | { readonly _tag: "Reset"; readonly id: string }
  | {
      readonly _tag: "Skipped"
      readonly id: string
      /** When the supervisor found out. */
      readonly at: number
      readonly from: number
      readonly to: number
    }

/**
 * The answer is none of ours: something else listens there, or the connection broke.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnknownAnswer extends Schema.TaggedError<UnknownAnswer>("mcp-supervisor/UnknownAnswer")("UnknownAnswer", {
  detail: Schema.String
}) {
  override get message(): string {
    return `no answer of a supervisor: ${this.detail}`
  }
}

/**
 * The stream of a call ended before its result: the call may have been executed.
 *
 * @since 0.1.0
 * @category errors
 */
export class CutOff extends Schema.TaggedError<CutOff>("mcp-supervisor/CutOff")("CutOff", {}) {
  override get message(): string {
    return "the supervisor was gone before the result, the call may have been executed; check before you repeat it"
  }
}

/**
 * A call ended in an error that only a later version knows, in the words of the supervisor.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnknownError extends Schema.TaggedError<UnknownError>("mcp-supervisor/UnknownError")("UnknownError", {
  tag: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.detail} (${this.tag})`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export type CallError = StreamError | Errors.CallError | CutOff | UnknownError

/**
 * @since 0.1.0
 * @category errors
 */
export type StreamError = ControlError.Refusal | Errors.ServerNotFound | HttpClientError.HttpClientError | UnknownAnswer

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options) =>
  Effect.gen(function* () {
    const { address, socket, token } = options
    const http = (yield* NodeHttp.make(socket)).pipe(
      HttpClient.mapRequest((request) =>
        request.pipe(
          HttpClientRequest.prependUrl(socket === undefined && address !== undefined ? address : "http://localhost"),
          HttpClientRequest.bearerToken(token)
        )
      ),
      HttpClient.mapRequestEffect(straight)
    )
    const derived = yield* HttpApiClient.makeWith(ControlApi, { httpClient: http })
    return {
      ...derived,
      /** Events from now on; after an id, those that follow it. Ends when the supervisor does. */
      events: (after?: string): Stream.Stream<EventMessage, StreamError> =>
        follow(
          http,
          HttpClientRequest.get("/events", after === undefined ? {} : { headers: { "last-event-id": after } })
        ).pipe(Stream.mapEffect(toMessage)),
      /** Calls a tool, and says on the way how far it is. Whoever is interrupted cancels the call. */
      call: (
        tool: string,
        payload: typeof Call.Type,
        onProgress: (progress: Progress) => Effect.Effect<void>
      ): Effect.Effect<CallToolResult, CallError> =>
        HttpClientRequest.post(`/tools/${encodeURIComponent(tool)}/call`).pipe(
          HttpClientRequest.bodyJson(payload),
          // what the other side would say of it, if it could be sent
          Effect.mapError(() => new ControlError.BadRequest({ detail: "the arguments are no JSON", issues: [] })),
          Effect.map((request) => follow(http, request)),
          Stream.unwrap,
          Stream.mapEffect((message) => toResult(message, onProgress)),
          Stream.filterMap((result) => result),
          Stream.runHead,
          Effect.flatMap(Option.match({ onNone: () => new CutOff(), onSome: Effect.succeed }))
        ),
      /** What a server has written and writes. Ends when the server is removed or the supervisor ends. */
      logs: (server: string): Stream.Stream<LogLine, StreamError> =>
        follow(http, HttpClientRequest.get(`/servers/${encodeURIComponent(server)}/logs`)).pipe(
          Stream.mapEffect(({ data }) => Effect.mapError(decodeLine(data), unknown))
        )
    }
  })

/**
 * @since 0.1.0
 * @category models
 */
export type ControlClient = Effect.Effect.Success<ReturnType<typeof make>>

/** A name of one or two dots in a path would make it another path, and do something else. No server can be called that. */
const straight = (
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<HttpClientRequest.HttpClientRequest, HttpClientError.RequestError> =>
  /\/\.{1,2}(?:\/|$)/.test(request.url)
    ? new HttpClientError.RequestError({ request, reason: "InvalidUrl", description: "no server is called . or .." })
    : Effect.succeed(request)

const follow = (
  http: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Stream.Stream<Message, StreamError> => {
  const opened = Effect.flatMap(http.execute(HttpClientRequest.accept(request, "text/event-stream")), (response) =>
    response.status === 200 ? Effect.succeed(response) : refused(response)
  )
  return parse(HttpClientResponse.stream(opened))
}

const Answer = Schema.Union(...ControlError.refusals, ControlError.ServerNotFound)

const refused = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<never, StreamError> =>
  Effect.flatMap(
    Effect.mapError(Effect.flatMap(response.json, Schema.decodeUnknown(Answer)), () =>
      unknown(`status ${response.status}`)
    ),
    Effect.fail
  )

const unknown = (cause: unknown): UnknownAnswer => new UnknownAnswer({ detail: String(cause) })

const decodeLine = Schema.decode(Schema.parseJson(LogLine))
const decodeEvent = Schema.decode(Schema.parseJson(ServerEvent))
const decodeProgress = Schema.decode(Schema.parseJson(Progress))
const decodeResult = Schema.decode(Schema.parseJson(CallToolResult))
const decodeFailure = Schema.decode(Schema.parseJson(Schema.Union(...ControlError.callErrors)))
const decodeOther = Schema.decode(
  Schema.parseJson(Schema.Struct({ error: Schema.Struct({ tag: Schema.String, message: Schema.String }) }))
)

/** The result, once it is there. */
const toResult = (
  { data, event }: Message,
  onProgress: (progress: Progress) => Effect.Effect<void>
): Effect.Effect<Option.Option<CallToolResult>, CallError> => {
  switch (event) {
    case "progress":
      return Effect.as(Effect.flatMap(Effect.mapError(decodeProgress(data), unknown), onProgress), Option.none())
    case "result":
      return Effect.asSome(Effect.mapError(decodeResult(data), unknown))
    case "error":
      return decodeFailure(data).pipe(
        Effect.orElse(() =>
          Effect.map(decodeOther(data), ({ error: { message, tag } }) => new UnknownError({ tag, detail: message }))
        ),
        Effect.mapError(unknown),
        Effect.flatMap((error: CallError) => Effect.fail(error))
      )
    default:
      return Effect.succeedNone
  }
}

const toMessage = ({ data, event, id = "" }: Message): Effect.Effect<EventMessage, UnknownAnswer> => {
  if (event === "reset") return Effect.succeed({ _tag: "Reset", id })
  return Effect.mapBoth(decodeEvent(data), {
    onFailure: unknown,
    onSuccess: (event) =>
      event.type === "Skipped"
        ? { _tag: "Skipped", id, at: event.at, from: event.from, to: event.to }
        : { _tag: "Event", id, event }
  })
}
