/**
 * Sends requests to the control API: methods derived from the API's description, and the event streams beside them.
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
import * as NodeHttp from "./nodeHttp.js"
import type { Call } from "./Payload.js"
import { type SseMessage, parse } from "./sse.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The Unix socket. It is preferred to the address. */
  readonly socket?: string | undefined
  /** Such as `http://127.0.0.1:7444`. Either this or the socket is required. */
  readonly address?: string | undefined
  readonly token: Redacted.Redacted<string>
}

/**
 * An element of the event stream. `Reset`: the requested id is from another run of the supervisor, so the client has to read
 * all state again. `Skipped`: some events are no longer stored.
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
      /** When the supervisor detected the gap. */
      readonly at: number
      readonly from: number
      readonly to: number
    }

/**
 * The response is not from a supervisor: another program listens there, or the connection broke.
 *
 * @since 0.1.0
 * @category errors
 */
export class InvalidResponse extends Schema.TaggedError<InvalidResponse>("mcp-supervisor/InvalidResponse")(
  "InvalidResponse",
  {
    detail: Schema.String
  }
) {
  override get message(): string {
    return `not a response of a supervisor: ${this.detail}`
  }
}

/**
 * The stream of a call ended before its result: the call may have been executed.
 *
 * @since 0.1.0
 * @category errors
 */
export class StreamCut extends Schema.TaggedError<StreamCut>("mcp-supervisor/StreamCut")("StreamCut", {}) {
  override get message(): string {
    return "the connection to the supervisor ended before the result; the call may have been executed; check before you repeat it"
  }
}

/**
 * A call failed with an error that this version does not know. Carries the supervisor's message.
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
export type CallError = StreamError | Errors.CallError | StreamCut | UnknownError

/**
 * @since 0.1.0
 * @category errors
 */
export type StreamError =
  | ControlError.Rejection
  | Errors.ServerNotFound
  | HttpClientError.HttpClientError
  | InvalidResponse

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
      HttpClient.mapRequestEffect(rejectDotSegments)
    )
    const derived = yield* HttpApiClient.makeWith(ControlApi, { httpClient: http })
    return {
      ...derived,
      /** Events from now on, or the events after an id. Ends when the supervisor shuts down. */
      events: (after?: string): Stream.Stream<EventMessage, StreamError> =>
        openEventStream(
          http,
          HttpClientRequest.get("/events", after === undefined ? {} : { headers: { "last-event-id": after } })
        ).pipe(Stream.mapEffect(toMessage)),
      /** Calls a tool and reports its progress. An interrupt cancels the call. */
      call: (
        tool: string,
        payload: typeof Call.Type,
        onProgress: (progress: Progress) => Effect.Effect<void>
      ): Effect.Effect<CallToolResult, CallError> =>
        HttpClientRequest.post(`/tools/${encodeURIComponent(tool)}/call`).pipe(
          HttpClientRequest.bodyJson(payload),
          // the error with which the server would reject these arguments if they could be sent
          Effect.mapError(
            () => new ControlError.BadRequest({ detail: "the arguments cannot be encoded as JSON", issues: [] })
          ),
          Effect.map((request) => openEventStream(http, request)),
          Stream.unwrap,
          Stream.mapEffect((message) => toResult(message, onProgress)),
          Stream.filterMap((result) => result),
          Stream.runHead,
          Effect.flatMap(Option.match({ onNone: () => new StreamCut(), onSome: Effect.succeed }))
        ),
      /** Stored and new log lines of a server. Ends when the server is removed or the supervisor shuts down. */
      logs: (server: string): Stream.Stream<LogLine, StreamError> =>
        openEventStream(http, HttpClientRequest.get(`/servers/${encodeURIComponent(server)}/logs`)).pipe(
          Stream.mapEffect(({ data }) => Effect.mapError(decodeLine(data), invalidResponse))
        )
    }
  })

/**
 * @since 0.1.0
 * @category models
 */
export type ControlClient = Effect.Effect.Success<ReturnType<typeof make>>

/** Rejects `.` and `..` as a path segment: URL normalization would turn it into another route. No server can have such a name. */
const rejectDotSegments = (
  request: HttpClientRequest.HttpClientRequest
): Effect.Effect<HttpClientRequest.HttpClientRequest, HttpClientError.RequestError> =>
  /\/\.{1,2}(?:\/|$)/.test(request.url)
    ? new HttpClientError.RequestError({
        request,
        reason: "InvalidUrl",
        description: "no server can have the name . or .."
      })
    : Effect.succeed(request)

const openEventStream = (
  http: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest
): Stream.Stream<SseMessage, StreamError> => {
  const openResponse = Effect.flatMap(
    http.execute(HttpClientRequest.accept(request, "text/event-stream")),
    (response) => (response.status === 200 ? Effect.succeed(response) : failWithRejection(response))
  )
  return parse(HttpClientResponse.stream(openResponse))
}

const ErrorResponse = Schema.Union(...ControlError.rejections, ControlError.ServerNotFound)

const failWithRejection = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<never, StreamError> =>
  Effect.flatMap(
    Effect.mapError(Effect.flatMap(response.json, Schema.decodeUnknown(ErrorResponse)), () =>
      invalidResponse(`status ${response.status}`)
    ),
    Effect.fail
  )

const invalidResponse = (cause: unknown): InvalidResponse => new InvalidResponse({ detail: String(cause) })

const decodeLine = Schema.decode(Schema.parseJson(LogLine))
const decodeEvent = Schema.decode(Schema.parseJson(ServerEvent))
const decodeProgress = Schema.decode(Schema.parseJson(Progress))
const decodeResult = Schema.decode(Schema.parseJson(CallToolResult))
const decodeFailure = Schema.decode(Schema.parseJson(Schema.Union(...ControlError.callErrors)))
const decodeOther = Schema.decode(
  Schema.parseJson(Schema.Struct({ error: Schema.Struct({ tag: Schema.String, message: Schema.String }) }))
)

/** Decodes one message of a call's stream: `Some` for the result, `None` for progress. */
const toResult = (
  { data, event }: SseMessage,
  onProgress: (progress: Progress) => Effect.Effect<void>
): Effect.Effect<Option.Option<CallToolResult>, CallError> => {
  switch (event) {
    case "progress":
      return Effect.as(
        Effect.flatMap(Effect.mapError(decodeProgress(data), invalidResponse), onProgress),
        Option.none()
      )
    case "result":
      return Effect.asSome(Effect.mapError(decodeResult(data), invalidResponse))
    case "error":
      return decodeFailure(data).pipe(
        Effect.orElse(() =>
          Effect.map(decodeOther(data), ({ error: { message, tag } }) => new UnknownError({ tag, detail: message }))
        ),
        Effect.mapError(invalidResponse),
        Effect.flatMap((error: CallError) => Effect.fail(error))
      )
    default:
      return Effect.succeedNone
  }
}

const toMessage = ({ data, event, id = "" }: SseMessage): Effect.Effect<EventMessage, InvalidResponse> => {
  if (event === "reset") return Effect.succeed({ _tag: "Reset", id })
  return Effect.mapBoth(decodeEvent(data), {
    onFailure: invalidResponse,
    onSuccess: (event) =>
      event.type === "Skipped"
        ? { _tag: "Skipped", id, at: event.at, from: event.from, to: event.to }
        : { _tag: "Event", id, event }
  })
}
