/**
 * An HTTP client with pooled connections, raw body bytes, and proxies and certificates from the config.
 */
import type { IncomingHttpHeaders } from "node:http"
import type { LookupFunction } from "node:net"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { buildConnector, type Dispatcher, EnvHttpProxyAgent, Pool as UndiciPool } from "undici"
import { type ConnectionError, NetworkFailed } from "../../domain/Errors.js"
import type { Policy } from "../../domain/NetworkAddress.js"
import { noProxy, proxyVariable } from "../../system/noProxy.js"
import { withinBudget } from "../../system/budget.js"
import { certificates } from "./certificates.js"
import { endWhenRead } from "./endWhenRead.js"
import type { Flow } from "../wire/Intake.js"
import { type AddressRefused, guardedConnector, NameLookup, refusalAhead, refusalOf } from "./OutboundGuard.js"

export interface HttpRequest {
  readonly method: "GET" | "POST" | "DELETE"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

export interface HttpHandler {
  /** The request is about to be written: from now on the server may have received it. */
  readonly started?: (() => void) | undefined
  /** Called with the response head. `flow` pauses and resumes the body. */
  readonly head: (status: number, headers: IncomingHttpHeaders, flow: Flow) => void
  readonly data: (chunk: Buffer) => void
  readonly end: () => void
  /** Called instead of `end` if the exchange fails, at any point. */
  readonly error: (error: Error) => void
  /**
   * Called instead of all others after a refusal that new credentials did not solve. `ends`: the server refused all credentials
   * (401).
   */
  readonly denied?: ((reason: ConnectionError, ends: boolean) => void) | undefined
}

export interface HttpClient {
  /** Sends a request. The returned function ends the exchange; the handler is not called any more. */
  readonly request: (request: HttpRequest, handler: HttpHandler) => () => void
}

/** Wraps a client so that all its open exchanges can be aborted together. */
export const tracked = (client: HttpClient): HttpClient & { readonly abortAll: () => void } => {
  const open = new Set<() => void>()
  return {
    request: (request, handler) => {
      const forget = () => void open.delete(abort)
      const abort = client.request(request, {
        ...handler,
        end: () => {
          forget()
          handler.end()
        },
        error: (error) => {
          forget()
          handler.error(error)
        },
        denied: (reason, ends) => {
          forget()
          handler.denied?.(reason, ends)
        }
      })
      const abortAndForget = () => {
        forget()
        abort()
      }
      open.add(abort)
      return abortAndForget
    },
    abortAll: () => {
      for (const abort of open) abort()
      open.clear()
    }
  }
}

/**
 * The maximum bytes that are read of a body that is not needed. A short one is read to its end, so that the connection can be
 * reused.
 */
export const maxUnreadBytes = 16 * 1024

/** The maximum number of consecutive redirects within one origin. */
const maxRedirects = 5

/** The connections of all sessions. Sessions with the same server share them. */
export interface Pool {
  /** @param caFile certificates to trust in addition to the default ones. */
  readonly client: (server: string, caFile: string | undefined) => Effect.Effect<HttpClient, NetworkFailed>
  /** A client for addresses that a server provides: it connects only where the policy allows. */
  readonly guarded: (
    server: string,
    caFile: string | undefined,
    policy: Policy
  ) => Effect.Effect<GuardedClient, NetworkFailed>
}

export interface GuardedClient extends HttpClient {
  /** The reason why the policy forbids an address that a browser is to open; undefined if it is allowed. */
  readonly inspect: (url: URL) => Promise<AddressRefused | undefined>
}

export const pool: Effect.Effect<Pool, never, Scope.Scope> = Effect.gen(function* () {
  const agents = yield* Effect.acquireRelease(
    Effect.sync(() => new Map<string, Dispatcher>()),
    (agents) =>
      Effect.forEach(agents.values(), (agent) => Effect.promise(() => agent.destroy().catch(() => {}))).pipe(
        withinBudget("1 second")
      )
  )
  const lookup = yield* NameLookup
  /** A guarded client does not share connections with others: theirs were made without its policy. */
  const agentWith = (certificates: ReadonlyArray<string>, policy?: Policy): Dispatcher => {
    const key = `${policy?.nearest ?? ""} ${certificates.join()}`
    const agent = agents.get(key) ?? makeAgent(certificates, lookup, policy)
    agents.set(key, agent)
    return agent
  }
  const agentsFor = <A>(server: string, caFile: string | undefined, choose: (trusted: ReadonlyArray<string>) => A) =>
    (caFile === undefined
      ? Effect.succeed([])
      : certificates({ server, caFile, extraFile: process.env.NODE_EXTRA_CA_CERTS })
    ).pipe(Effect.flatMap((trusted) => Effect.try({ try: () => choose(trusted), catch: () => badProxy(server) })))
  return {
    client: (server, caFile) =>
      Effect.map(agentsFor(server, caFile, agentWith), (agent) => ({
        request: (request, handler) => exchange(agent, request, handler, maxRedirects)
      })),
    guarded: (server, caFile, policy) =>
      Effect.map(
        agentsFor(server, caFile, (trusted) => ({ plain: agentWith(trusted), guarded: agentWith(trusted, policy) })),
        ({ guarded, plain }) => {
          const inspect = (url: URL) => refusalAhead(policy, lookup, url)
          return {
            inspect,
            request: (request, handler) => guardedExchange(policy, { guarded, inspect, plain }, request, handler)
          }
        }
      )
  }
})

const guardedExchange = (
  policy: Policy,
  by: { readonly plain: Dispatcher; readonly guarded: Dispatcher } & Pick<GuardedClient, "inspect">,
  request: HttpRequest,
  handler: HttpHandler
): (() => void) => {
  const refusal = refusalOf(policy, request.url)
  if (refusal === undefined) return exchange(by.plain, request, handler, maxRedirects)
  if (refusal === "resolve" && !hasProxy()) return exchange(by.guarded, request, handler, maxRedirects)
  let isOver = false
  let abort = (): void => {
    isOver = true
  }
  void by.inspect(request.url).then((refused) => {
    if (isOver) return
    if (refused !== undefined) return handler.error(refused)
    abort = exchange(by.guarded, request, handler, maxRedirects)
  })
  return () => abort()
}

const makeAgent = (
  certificates: ReadonlyArray<string>,
  lookup: LookupFunction,
  policy: Policy | undefined
): Dispatcher => {
  const tls = certificates.length === 0 ? {} : { ca: [...certificates] }
  return new EnvHttpProxyAgent({
    // Timeouts are decided by the callers.
    headersTimeout: 0,
    bodyTimeout: 0,
    // Used for direct connections.
    connect:
      policy === undefined
        ? buildConnector({ ...tls, lookup } as buildConnector.BuildOptions)
        : guardedConnector(policy, lookup, tls),
    // Used for all connections, including those through a proxy.
    factory: (origin, options) => {
      const { connect, ...others } = options as { readonly connect: buildConnector.connector }
      return new UndiciPool(origin, { ...others, connect: endWhenRead(connect) })
    },
    requestTls: tls,
    httpProxy: proxyIn("HTTP_PROXY"),
    httpsProxy: proxyIn("HTTPS_PROXY"),
    noProxy: noProxy()
  })
}

/** The proxy's URL. Many users write only host and port. */
const proxyIn = (name: string): string => {
  const proxy = proxyVariable(name)
  return proxy === "" || proxy.includes("://") ? proxy : `http://${proxy}`
}

const hasProxy = (): boolean => proxyVariable("HTTP_PROXY") !== "" || proxyVariable("HTTPS_PROXY") !== ""

const badProxy = (server: string): NetworkFailed =>
  new NetworkFailed({
    server,
    code: "ERR_INVALID_URL",
    permanent: true,
    detail: "HTTP_PROXY or HTTPS_PROXY is not the address of a proxy"
  })

const exchange = (
  dispatcher: Dispatcher,
  request: HttpRequest,
  handler: HttpHandler,
  redirects: number
): (() => void) => {
  let controller: Dispatcher.DispatchController | undefined
  let body: Body = handler
  let isEnded = false
  let redirectTarget: URL | undefined
  let unread = 0
  let abort = () => {
    isEnded = true
    body.stop?.()
    controller?.abort(aborted)
  }

  const fail = (error: Error) => {
    if (isEnded) return
    isEnded = true
    handler.error(error)
  }

  const followRedirect = (url: URL) => {
    isEnded = true
    abort = exchange(dispatcher, { ...request, url }, handler, redirects - 1)
  }

  const skipBody = (url: URL, bytes: number) => {
    unread += bytes
    if (unread <= maxUnreadBytes) return
    followRedirect(url)
    controller?.abort(aborted)
  }

  try {
    dispatcher.dispatch(
      {
        origin: request.url.origin,
        path: `${request.url.pathname}${request.url.search}`,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null
      },
      {
        onRequestStart: (started) => {
          controller = started
          if (isEnded) return started.abort(aborted)
          handler.started?.()
        },
        onResponseStart: (flow, status, headers) => {
          if (isEnded || status < 200) return
          redirectTarget = redirects > 0 ? redirectWithin(request, status, headers) : undefined
          if (redirectTarget !== undefined) return
          body = decoding(String(headers["content-encoding"] ?? ""), flow, handler, fail)
          handler.head(status, headers, body.flow ?? flow)
        },
        onResponseData: (_, chunk) => {
          // undici resumes a body that ends with its connection by an empty chunk; pausing at it would delay the end.
          if (isEnded || chunk.length === 0) return
          if (redirectTarget === undefined) body.data(chunk as Buffer)
          else skipBody(redirectTarget, chunk.length)
        },
        onResponseEnd: () => {
          if (isEnded) return
          if (redirectTarget === undefined) body.end()
          else followRedirect(redirectTarget)
        },
        onResponseError: (_, error) => fail(error)
      }
    )
  } catch (error) {
    // A header or an address that cannot be written.
    queueMicrotask(() => fail(error as Error))
  }
  return () => abort()
}

const aborted = new Error("no longer wanted")

/** The target of a redirect that is followed: it has the same origin, and method and body stay the same. */
const redirectWithin = (request: HttpRequest, status: number, headers: IncomingHttpHeaders): URL | undefined => {
  const keepsMethod = status === 307 || status === 308 || (request.method === "GET" && status >= 301 && status <= 303)
  if (!keepsMethod || headers.location === undefined || !URL.canParse(headers.location, request.url.href))
    return undefined
  const target = new URL(headers.location, request.url)
  return target.origin === request.url.origin ? target : undefined
}

interface Body extends Pick<HttpHandler, "data" | "end"> {
  readonly flow?: Flow | undefined
  readonly stop?: (() => void) | undefined
}

/** Decodes a compressed body. Some servers compress without being asked. */
const decoding = (encoding: string, flow: Flow, handler: HttpHandler, fail: (error: Error) => void): Body => {
  const decoder = decoderOf(encoding.trim().toLowerCase())
  if (decoder === undefined) return handler
  decoder
    .on("data", handler.data)
    .on("end", handler.end)
    .on("error", fail)
    .on("drain", () => flow.resume())
  return {
    flow: { pause: () => void decoder.pause(), resume: () => void decoder.resume() },
    data: (chunk) => {
      if (!decoder.write(chunk)) flow.pause()
    },
    end: () => void decoder.end(),
    stop: () => void decoder.destroy()
  }
}

const decoderOf = (encoding: string) => {
  switch (encoding) {
    case "gzip":
    case "x-gzip":
      return createGunzip()
    case "br":
      return createBrotliDecompress()
    case "deflate":
      return createInflate()
    default:
      return undefined
  }
}
