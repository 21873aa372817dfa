/**
 * Serves the control API on a TCP address (loopback by default) and on a Unix socket.
 *
 * @since 0.1.0
 */
import { chmodSync } from "node:fs"
import { maxHeaderSize } from "node:http"
import type { ListenOptions } from "node:net"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpIncomingMessage from "@effect/platform/HttpIncomingMessage"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { McpAuth } from "../auth/McpAuth.js"
import { defined } from "../domain/internal/defined.js"
import { McpSupervisor } from "../supervision/model.js"
import { variables } from "../system/environment.js"
import * as ControlToken from "./ControlToken.js"
import * as EventFeed from "./server/EventFeed.js"
import * as Admission from "./server/admission.js"
import { handleErrors } from "./server/errorResponse.js"
import * as Handlers from "./server/handlers.js"
import * as Hostnames from "./server/hostnames.js"
import { listen, type Listening } from "./server/listen.js"
import * as Mounts from "./server/mounts.js"
import * as StrictApi from "./server/strictApi.js"

export type { Mount } from "./server/mounts.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The host to listen on. Hosts other than loopback require `ownToken`. Defaults to `127.0.0.1`. */
  readonly host?: string | undefined
  /** 0 selects any free port. Defaults to 7444. */
  readonly port?: number | undefined
  /** The path of a Unix socket to listen on as well. It is an error if the path exists. Defaults to none. */
  readonly socket?: string | undefined
  /** The token that every request has to carry. */
  readonly token: Redacted.Redacted<string>
  /** A second accepted token, chosen by the user, of at least 16 characters. Defaults to none. */
  readonly ownToken?: Redacted.Redacted<string> | undefined
  /** Further host names under which requests are accepted. Defaults to none. */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /** Other origins whose pages may send requests with the token, such as `https://example.com`. Defaults to none. */
  readonly allowedOrigins?: ReadonlyArray<string> | undefined
  /** The largest body in bytes. `Infinity` is no limit. Defaults to 4 MiB. */
  readonly maxBody?: number | undefined
  /** The interval of keep-alive comments in event streams. Defaults to 15 seconds. */
  readonly heartbeat?: Duration.DurationInput | undefined
  /** Further apps at paths beside the API. Defaults to none. */
  readonly mounts?: ReadonlyArray<Mounts.Mount> | undefined
}

/**
 * Other machines could reach the supervisor, and the user chose no token.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnsafeBind extends Schema.TaggedError<UnsafeBind>("mcp-supervisor/UnsafeBind")("UnsafeBind", {
  host: Schema.String
}) {
  override get message(): string {
    return `${this.host} can be reached from other machines: set a token of your own (${variables.token}), of 16 to 1,024 printable characters, or listen on 127.0.0.1`
  }
}

/**
 * The token that the user chose is too easy to guess, or cannot be sent in a header.
 *
 * @since 0.1.0
 * @category errors
 */
export class WeakToken extends Schema.TaggedError<WeakToken>("mcp-supervisor/WeakToken")("WeakToken", {}) {
  override get message(): string {
    return `your own token (${variables.token}) must have 16 to 1,024 printable characters and no spaces: set another one, or none`
  }
}

/**
 * @since 0.1.0
 * @category errors
 */
export class ListenFailed extends Schema.TaggedError<ListenFailed>("mcp-supervisor/ListenFailed")("ListenFailed", {
  /** Host and port, or the path of the socket. */
  address: Schema.String,
  /** The system's error code. */
  code: Schema.String
}) {
  override get message(): string {
    const next =
      this.code === "EADDRINUSE"
        ? "another program listens there; choose another port, or 0 for any free port"
        : this.code
    return `cannot listen on ${this.address}: ${next}`
  }
}

/**
 * The running control server and its addresses.
 *
 * @since 0.1.0
 * @category tags
 */
export class ControlServer extends Context.Tag("mcp-supervisor/ControlServer")<
  ControlServer,
  {
    /** Such as `http://127.0.0.1:7444`. */
    readonly address: string
    readonly socket?: string | undefined
    /** The first part of event ids. It differs after each start. */
    readonly epoch: string
  }
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export const defaultHost = "127.0.0.1"

/**
 * @since 0.1.0
 * @category models
 */
export const defaultPort = 7444

/**
 * Checks that a host other than loopback has a token that the user chose, and that this token is valid.
 *
 * @since 0.1.0
 * @category checks
 */
export const checkBind = ({
  host = defaultHost,
  ownToken
}: Pick<Options, "host" | "ownToken">): Effect.Effect<void, UnsafeBind | WeakToken> => {
  if (ownToken === undefined) {
    return Hostnames.isLoopback(host.toLowerCase()) ? Effect.void : Effect.fail(new UnsafeBind({ host }))
  }
  return ControlToken.isStrong(Redacted.value(ownToken)) ? Effect.void : Effect.fail(new WeakToken())
}

const platform = Layer.mergeAll(
  HttpApiBuilder.Router.Live,
  HttpApiBuilder.Middleware.layer,
  NodeHttpServer.layerContext
)

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options: Options
): Layer.Layer<ControlServer, UnsafeBind | WeakToken | ListenFailed, McpSupervisor | McpAuth> =>
  Layer.scoped(ControlServer, make(options))

const make = (
  options: Options
): Effect.Effect<
  Context.Tag.Service<ControlServer>,
  UnsafeBind | WeakToken | ListenFailed,
  McpSupervisor | McpAuth | Scope.Scope
> =>
  Effect.gen(function* () {
    const { allowedHosts = [], allowedOrigins = [], heartbeat = "15 seconds", maxBody = 4 * 1024 * 1024 } = options
    const { host = defaultHost, mounts = [], ownToken, port = defaultPort, socket, token } = options
    yield* checkBind(options)
    const policy: Admission.Policy = {
      isTokenValid: ControlToken.accepts(ownToken === undefined ? [token] : [token, ownToken]),
      isHostAllowed: Hostnames.isAllowed(host, allowedHosts),
      allowedOrigins,
      isPublic: Mounts.isPublic(mounts)
    }
    const feed = yield* EventFeed.make(yield* McpSupervisor, heartbeat)
    const context = yield* Layer.build(Layer.provideMerge(Handlers.layer(feed), platform))
    const api = yield* HttpApiBuilder.httpApp.pipe(
      Effect.provide(context),
      HttpRouter.withRouterConfig({ maxParamLength: maxHeaderSize })
    )
    const app: HttpApp.Default = Effect.provide(api, context).pipe(
      StrictApi.enforce,
      Mounts.serve(mounts),
      Admission.enforce(policy),
      handleErrors("unknown"),
      Admission.withResponseHeaders(policy),
      HttpIncomingMessage.withMaxBodySize(Number.isFinite(maxBody) ? Option.some(Math.floor(maxBody)) : Option.none())
    )

    const serve = (where: ListenOptions, address: string) =>
      Effect.mapError(listen(app, where), (code) => new ListenFailed({ address, code }))
    const tcp = yield* serve({ host, port }, `${host}:${port}`)
    const listening = [tcp]
    if (socket !== undefined) {
      listening.push(yield* serve({ path: socket }, socket))
      yield* Effect.ignore(Effect.try(() => chmodSync(socket, 0o600)))
    }
    // event streams end first: draining waits for open responses
    yield* Effect.addFinalizer(() =>
      Effect.zipRight(
        feed.end,
        Effect.forEach(listening, ({ drain }) => drain, { concurrency: "unbounded", discard: true })
      )
    )
    return { address: addressOf(host, tcp), epoch: feed.epoch, ...defined({ socket }) }
  })

const addressOf = (host: string, { address }: Listening): string => {
  const port = typeof address === "object" && address !== null ? address.port : 0
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`
}
