/** Peers that refuse, break off or mislead, and the SDK's own client in front of them. */
import { spawnSync } from "node:child_process"
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http"
import { createServer as createSecureServer, type Server as SecureServer } from "node:https"
import type { AddressInfo } from "node:net"
import {
  Client,
  type ClientOptions,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  type RequestOptions,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type Transport
} from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Effect, type Scope } from "effect"

/** Serves on loopback until the scope closes. Gives the origin. */
export const peer = (listener: RequestListener): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<{ readonly origin: string; readonly close: Effect.Effect<void> }>((resume) => {
      const server = createServer(listener)
      const close = Effect.async<void>((closed) => {
        server.close(() => closed(Effect.void))
        server.closeAllConnections()
      })
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ origin: `http://127.0.0.1:${port}`, close }))
      })
    }),
    ({ close }) => close
  ).pipe(Effect.map(({ origin }) => origin))

/** A peer that answers everything with the same. */
export const answering = (status: number, headers: Readonly<Record<string, string>> = {}, body = "") =>
  peer((request, response) => {
    request.resume()
    response.writeHead(status, headers).end(body)
  })

export const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

interface RpcRequest {
  readonly id?: number | string
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
}

export const json = (response: ServerResponse, status: number, value: unknown) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))

/** What an answer says besides its id. Nothing is no answer. */
export type Answer = { readonly result: unknown } | { readonly error: unknown } | undefined

export const greeting = {
  result: {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {}, resources: {}, prompts: {} },
    serverInfo: { name: "peer", version: "1.0.0" }
  }
}

const unknownMethod = { error: { code: -32_601, message: "no such method" } }

/** A server of one JSON answer a request. What it is not told to answer it does not know, but for the greeting. */
export const rpc = (answers: Readonly<Record<string, (request: RpcRequest) => Answer>>) =>
  peer((request, response) => {
    if (request.method !== "POST") return void response.writeHead(405).end()
    void readBody(request).then((body) => {
      const message = JSON.parse(body) as RpcRequest
      if (message.id === undefined) return response.writeHead(202).end()
      const known: typeof answers = { initialize: () => greeting, ...answers }
      const answer = known[message.method]
      const said = answer === undefined ? unknownMethod : answer(message)
      return said === undefined ? undefined : json(response, 200, { jsonrpc: "2.0", id: message.id, ...said })
    })
  })

type Mode = NonNullable<NonNullable<ClientOptions["versionNegotiation"]>["mode"]>

/** What a promise fails with. */
export const thrownBy = (run: () => Promise<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    run().then(
      (value) => {
        throw new Error(`it did not fail but gave ${JSON.stringify(value)}`)
      },
      (thrown: unknown) => thrown
    )
  )

const connected = (transport: Transport, mode: Mode, options: RequestOptions = {}, clientOptions: ClientOptions = {}) =>
  Effect.acquireRelease(
    Effect.sync(
      () => new Client({ name: "classify-test", version: "1.0.0" }, { ...clientOptions, versionNegotiation: { mode } })
    ),
    (client) => Effect.promise(() => Promise.allSettled([client.close(), transport.close()]))
  ).pipe(Effect.map((client) => ({ client, connect: () => client.connect(transport, options) })))

/** What the SDK's client throws when it connects. */
export const connectThrows = (
  transport: Transport,
  mode: Mode = "legacy",
  options: RequestOptions = {}
): Effect.Effect<unknown, never, Scope.Scope> =>
  Effect.flatMap(connected(transport, mode, options), ({ connect }) => thrownBy(connect))

/** What the SDK's client throws at a request, once it is connected. */
export const requestThrows = (
  transport: Transport,
  run: (client: Client) => Promise<unknown>,
  mode: Mode = "legacy",
  clientOptions: ClientOptions = {}
): Effect.Effect<unknown, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { client, connect } = yield* connected(transport, mode, {}, clientOptions)
    yield* Effect.promise(connect)
    return yield* thrownBy(() => run(client))
  })

export const overHttp = (url: string, options: StreamableHTTPClientTransportOptions = {}) =>
  new StreamableHTTPClientTransport(new URL(url), options)

export const overSse = (url: string) => new SSEClientTransport(new URL(url))

export const overStdio = (command: string, args: ReadonlyArray<string> = []) =>
  new StdioClientTransport({ command, args: [...args], stderr: "ignore" })

/** Keeps what the SDK gives it, for as long as it lives. */
export const memoryProvider = (
  options: {
    readonly client?: OAuthClientInformationMixed
    readonly tokens?: OAuthTokens
    readonly registers?: boolean
  } = {}
): OAuthClientProvider => {
  let { client, tokens } = options
  let verifier = "a-verifier-of-some-length-that-nobody-checks-here"
  let discovery: unknown
  return {
    redirectUrl: "http://127.0.0.1:1/callback",
    clientMetadata: { redirect_uris: ["http://127.0.0.1:1/callback"], client_name: "classify-test" },
    clientInformation: () => client,
    tokens: () => tokens,
    saveTokens: (saved) => {
      tokens = saved
    },
    redirectToAuthorization: () => {},
    saveCodeVerifier: (saved) => {
      verifier = saved
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (saved) => {
      discovery = saved
    },
    discoveryState: () => discovery as never,
    ...(options.registers === false
      ? {}
      : {
          saveClientInformation: (saved: OAuthClientInformationMixed) => {
            client = saved
          }
        })
  }
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

export interface OAuthPeer {
  /** What the protected resource says about itself, or nothing at all. */
  readonly resource?: Readonly<Record<string, unknown>> | false
  readonly metadata?: Readonly<Record<string, unknown>> | { readonly status: number }
  readonly register?: Reply
  readonly token?: Reply
}

const registered = {
  status: 201,
  body: { client_id: "a-client", redirect_uris: ["http://127.0.0.1:1/callback"] }
}

const granted = { status: 200, body: { access_token: "a-token", token_type: "Bearer" } }

/** A server that wants a login, and its authorization server. Every token is refused. Gives the URL of the server. */
export const oauthPeer = (options: OAuthPeer = {}): Effect.Effect<string, never, Scope.Scope> =>
  peer((request, response) => {
    const origin = `http://${request.headers.host}`
    const reply = ({ body, status }: Reply) => json(response, status, body)
    request.resume()
    switch (new URL(request.url ?? "/", origin).pathname) {
      case "/mcp":
        return void response
          .writeHead(401, {
            "www-authenticate":
              options.resource === false
                ? "Bearer"
                : `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
          })
          .end()
      case "/.well-known/oauth-protected-resource/mcp":
        if (options.resource === false) break
        return void json(response, 200, {
          resource: `${origin}/mcp`,
          authorization_servers: [origin],
          ...options.resource
        })
      case "/.well-known/oauth-authorization-server": {
        if (options.resource === false) break
        const { metadata = {} } = options
        if ("status" in metadata) return void response.writeHead(metadata.status as number).end()
        return void json(response, 200, {
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          ...metadata
        })
      }
      case "/register":
        if (options.resource === false) break
        return void reply(options.register ?? registered)
      case "/token":
        return void reply(options.token ?? granted)
    }
    response.writeHead(404).end()
  }).pipe(Effect.map((origin) => `${origin}/mcp`))

/** A key and a certificate that nobody trusts, if this machine can make some. */
export const selfSigned = (): { readonly key: string; readonly cert: string } | undefined => {
  const command = [
    "req",
    "-x509",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-keyout",
    "-",
    "-subj",
    "/CN=127.0.0.1",
    "-days",
    "1"
  ]
  const { status, stdout } = spawnSync("openssl", command, { encoding: "utf8" })
  return status === 0 ? { key: stdout, cert: stdout } : undefined
}

/** Serves over TLS on loopback until the scope closes. Gives the origin. */
export const tlsPeer = (options: { readonly key: string; readonly cert: string }) =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: SecureServer; readonly origin: string }>((resume) => {
      const server = createSecureServer(options, (_, response) => response.end())
      server.listen(0, "127.0.0.1", () => {
        const { port } = server.address() as AddressInfo
        resume(Effect.succeed({ server, origin: `https://127.0.0.1:${port}` }))
      })
    }),
    ({ server }) =>
      Effect.async<void>((closed) => {
        server.close(() => closed(Effect.void))
        server.closeAllConnections()
      })
  ).pipe(Effect.map(({ origin }) => origin))
