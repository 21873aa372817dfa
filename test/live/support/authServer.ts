/**
 * Runs an authorization server on loopback, whose faults a test switches on and off.
 */
import { createHash, createPublicKey, randomUUID, verify } from "node:crypto"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect, type Scope } from "effect"

/** A fault of the token endpoint. `lost` issues tokens without a response; `late` responds after a delay. */
export type Fault = "500" | "html" | "junk" | "reset" | "429" | "html400" | "lost" | "late" | "never" | "echo" | Odd

/** A response with any status and body. */
export interface Odd {
  readonly status: number
  readonly body: unknown
}

/** The behaviour of the server. It can be changed at any time. */
export interface Switches {
  registration: "on" | "off" | "reject"
  /** Whether it supports client metadata documents. */
  cimd: boolean
  /** The kind of metadata that it publishes. */
  metadata: "oauth" | "oidc" | "none"
  /** The issuer in the metadata. Defaults to its URL. */
  issuer: string | undefined
  /** Whether its callbacks contain `iss` (RFC 9207), and whether it is correct. */
  iss: "off" | "on" | "wrong" | "missing"
  methods: ReadonlyArray<string> | undefined
  /** Additional or changed fields of the metadata; `undefined` removes a field. */
  published: Readonly<Record<string, unknown>>
  scopes: ReadonlyArray<string> | undefined
  /** Seconds. */
  lifetime: number | undefined
  /** A refresh token that is used twice revokes all tokens of the login, except with `grace`. */
  refresh: "rotate" | "grace" | "keep" | "none"
  /** Called for each token request. */
  fault: (grant: string) => Fault | undefined
  /** What the person does on the login page. */
  person: "agrees" | "denies" | "waits"
  /** Additional or changed fields of token responses. */
  odd: Readonly<Record<string, unknown>>
  /** The granted scope. Defaults to the requested one. */
  grants: string | undefined
  now: () => number
}

export interface Client {
  readonly clientId: string
  readonly secret: string | undefined
  readonly redirectUris: ReadonlyArray<string> | undefined
  readonly publicKey?: string | undefined
}

interface Grant {
  readonly clientId: string
  readonly scope: string | undefined
  readonly family: string
}

export interface AuthServer {
  readonly url: string
  readonly switches: Switches
  readonly clients: Map<string, Client>
  /** All requests in order. */
  readonly journal: Array<{
    readonly path: string
    readonly params: URLSearchParams
    readonly headers: IncomingMessage["headers"]
  }>
  /** The parameters of the requests to one path. */
  readonly asked: (path: string) => ReadonlyArray<URLSearchParams>
  /** How many token requests with this grant succeeded. */
  readonly given: (grant: string) => number
  /** The scope of a token, if the token is valid. */
  readonly check: (token: string | undefined) => { readonly scope: string | undefined } | undefined
  /** Expires all access tokens. Refresh tokens stay valid. */
  readonly expire: () => void
  /** Revokes all tokens. */
  readonly revoke: () => void
  /** How often a refresh token was used twice. */
  readonly misuse: () => number
  /** All secrets that it has issued or received. */
  readonly secrets: () => ReadonlyArray<string>
}

export const listen = (server: Server): Effect.Effect<string, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    ),
    () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

export const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

export const json = (response: ServerResponse, status: number, body: unknown) => {
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" })
  response.end(JSON.stringify(body))
}

export const authServer = (initial: Partial<Switches> = {}): Effect.Effect<AuthServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const switches: Switches = {
      registration: "on",
      cimd: false,
      metadata: "oauth",
      issuer: undefined,
      iss: "off",
      methods: undefined,
      published: {},
      scopes: undefined,
      lifetime: 3600,
      refresh: "rotate",
      fault: () => undefined,
      person: "agrees",
      odd: {},
      grants: undefined,
      now: Date.now,
      ...initial
    }
    const clients = new Map<string, Client>()
    const codes = new Map<string, Grant & { readonly challenge: string; readonly redirectUri: string }>()
    const access = new Map<string, Grant & { readonly until: number }>()
    const refresh = new Map<string, Grant & { readonly used: boolean }>()
    const journal: Array<AuthServer["journal"][number]> = []
    const given = new Map<string, number>()
    const spent = new Set<string>()
    let misuse = 0

    const metadata = () => ({
      issuer: switches.issuer ?? url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/jwks`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["RS256"],
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      code_challenge_methods_supported: ["S256"],
      ...(switches.registration === "off" ? {} : { registration_endpoint: `${url}/register` }),
      ...(switches.methods === undefined ? {} : { token_endpoint_auth_methods_supported: switches.methods }),
      ...(switches.scopes === undefined ? {} : { scopes_supported: switches.scopes }),
      ...(switches.cimd ? { client_id_metadata_document_supported: true } : {}),
      ...(switches.iss === "off" ? {} : { authorization_response_iss_parameter_supported: true }),
      ...switches.published
    })

    const register = (body: string, response: ServerResponse) => {
      if (switches.registration === "reject") return json(response, 400, { error: "invalid_client_metadata" })
      if (switches.registration === "off") return json(response, 404, {})
      const asked = JSON.parse(body)
      const isPublic = asked.token_endpoint_auth_method === "none"
      const client: Client = {
        clientId: `client-${randomUUID()}`,
        secret: isPublic ? undefined : `secret-${randomUUID()}`,
        redirectUris: asked.redirect_uris
      }
      clients.set(client.clientId, client)
      json(response, 201, {
        ...asked,
        client_id: client.clientId,
        ...(client.secret === undefined ? {} : { client_secret: client.secret, client_secret_expires_at: 0 })
      })
    }

    const authorize = (params: URLSearchParams, response: ServerResponse) => {
      const clientId = params.get("client_id") ?? ""
      const redirectUri = params.get("redirect_uri") ?? ""
      const isDocument = switches.cimd && clientId.startsWith("https://")
      const client = clients.get(clientId)
      const isAllowed = isDocument || client?.redirectUris === undefined || client.redirectUris.includes(redirectUri)
      if ((client === undefined && !isDocument) || !isAllowed || params.get("code_challenge_method") !== "S256") {
        return json(response, 400, { error: "invalid_request" })
      }
      if (switches.person === "waits") return json(response, 200, { page: "please log in" })
      const back = new URL(redirectUri)
      back.searchParams.set("state", params.get("state") ?? "")
      if (switches.iss === "on") back.searchParams.set("iss", url)
      if (switches.iss === "wrong") back.searchParams.set("iss", "https://other.example")
      if (switches.person === "denies") back.searchParams.set("error", "access_denied")
      else {
        const code = `code-${randomUUID()}`
        const scope = switches.grants ?? params.get("scope") ?? undefined
        const challenge = params.get("code_challenge") ?? ""
        spent.add(code)
        codes.set(code, { clientId, scope, family: randomUUID(), challenge, redirectUri })
        back.searchParams.set("code", code)
      }
      response.writeHead(302, { location: back.href })
      response.end()
    }

    /** The authenticated client of a token request. */
    const clientIn = (headers: IncomingMessage["headers"], params: URLSearchParams): string | undefined => {
      const assertion = params.get("client_assertion")
      if (assertion !== null) {
        const [head = "", claims = "", signature = ""] = assertion.split(".")
        const { aud, sub } = JSON.parse(Buffer.from(claims, "base64url").toString())
        const key = clients.get(sub)?.publicKey
        if (key === undefined || ![url, `${url}/token`].includes(aud)) return undefined
        const isSigned = verify(
          "sha256",
          Buffer.from(`${head}.${claims}`),
          { key: createPublicKey(key), dsaEncoding: "ieee-p1363" },
          Buffer.from(signature, "base64url")
        )
        return isSigned ? sub : undefined
      }
      const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? "") ?? []
      const [id, secret] =
        basic === undefined
          ? [params.get("client_id") ?? "", params.get("client_secret") ?? undefined]
          : Buffer.from(basic, "base64").toString().split(":").map(decodeURIComponent)
      if (switches.cimd && id?.startsWith("https://")) return id
      const client = clients.get(id ?? "")
      return client !== undefined && client.secret === secret ? id : undefined
    }

    const issue = (grantType: string, grant: Grant, withRefresh: boolean, response: ServerResponse) => {
      const token = `access-${randomUUID()}`
      const next = withRefresh && switches.refresh !== "none" ? `refresh-${randomUUID()}` : undefined
      const until = switches.lifetime === undefined ? Infinity : switches.now() + switches.lifetime * 1000
      access.set(token, { ...grant, until })
      spent.add(token)
      if (next !== undefined) {
        refresh.set(next, { ...grant, used: false })
        spent.add(next)
      }
      given.set(grantType, (given.get(grantType) ?? 0) + 1)
      json(response, 200, {
        access_token: token,
        token_type: "Bearer",
        ...(switches.lifetime === undefined ? {} : { expires_in: switches.lifetime }),
        ...(next === undefined ? {} : { refresh_token: next }),
        ...(grant.scope === undefined ? {} : { scope: grant.scope }),
        ...switches.odd
      })
    }

    const revokeFamily = (family: string) => {
      for (const [token, grant] of access) if (grant.family === family) access.delete(token)
      for (const [token, grant] of refresh) if (grant.family === family) refresh.delete(token)
    }

    const token = (headers: IncomingMessage["headers"], params: URLSearchParams, response: ServerResponse) => {
      const grantType = params.get("grant_type") ?? ""
      const clientId = clientIn(headers, params)
      if (clientId === undefined) return json(response, 401, { error: "invalid_client" })
      if (grantType === "client_credentials") {
        return issue(
          grantType,
          { clientId, scope: params.get("scope") ?? undefined, family: randomUUID() },
          false,
          response
        )
      }
      if (grantType === "authorization_code") {
        const code = codes.get(params.get("code") ?? "")
        codes.delete(params.get("code") ?? "")
        const proof = createHash("sha256")
          .update(params.get("code_verifier") ?? "")
          .digest("base64url")
        const isGood = code?.clientId === clientId && code.redirectUri === params.get("redirect_uri")
        if (!isGood || code.challenge !== proof) return json(response, 400, { error: "invalid_grant" })
        return issue(grantType, code, true, response)
      }
      const old = refresh.get(params.get("refresh_token") ?? "")
      if (old === undefined || old.clientId !== clientId) return json(response, 400, { error: "invalid_grant" })
      if (old.used && switches.refresh !== "grace") {
        misuse += 1
        revokeFamily(old.family)
        return json(response, 400, { error: "invalid_grant" })
      }
      const isRotating = switches.refresh === "rotate" || switches.refresh === "grace"
      if (isRotating) refresh.set(params.get("refresh_token")!, { ...old, used: true })
      return issue(grantType, old, isRotating, response)
    }

    const faulty = (
      fault: Fault,
      work: (response: ServerResponse) => void,
      response: ServerResponse,
      params: URLSearchParams
    ) => {
      if (typeof fault === "object") return json(response, fault.status, fault.body)
      switch (fault) {
        case "echo":
          return json(response, 400, { error: "invalid_request", error_description: `what is ${params.toString()}?` })
        case "500":
          return json(response, 500, { error: "server_error" })
        case "429":
          return json(response, 429, { error: "too_many_requests" })
        case "html":
        case "html400":
          response.writeHead(fault === "html" ? 503 : 400, { "content-type": "text/html" })
          return response.end("<html><body>We will be back soon</body></html>")
        case "junk":
          response.writeHead(200, { "content-type": "application/json" })
          return response.end(`{"access_token": 3, "nonsense": `)
        case "reset":
          return response.socket?.destroy()
        case "lost":
          return work(
            Object.assign(Object.create(response), { writeHead: () => {}, end: () => response.socket?.destroy() })
          )
        case "late":
          return setTimeout(() => work(response), 100)
        case "never":
          return
      }
    }

    const server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const { pathname, searchParams } = new URL(request.url ?? "/", url)
        const params = pathname === "/token" ? new URLSearchParams(body) : searchParams
        journal.push({ path: pathname, params, headers: request.headers })
        const isDescription =
          (switches.metadata === "oauth" && pathname.startsWith("/.well-known/oauth-authorization-server")) ||
          (switches.metadata === "oidc" && pathname.includes("/.well-known/openid-configuration"))
        if (isDescription) return json(response, 200, metadata())
        if (pathname === "/register" && request.method === "POST") return register(body, response)
        if (pathname === "/authorize") return authorize(params, response)
        if (pathname === "/token" && request.method === "POST") {
          const fault = switches.fault(params.get("grant_type") ?? "")
          const work = (response: ServerResponse) => void token(request.headers, params, response)
          return fault === undefined ? work(response) : faulty(fault, work, response, params)
        }
        return json(response, 404, {})
      })
    })
    const url = yield* listen(server)

    return {
      url,
      switches,
      clients,
      journal,
      asked: (path) => journal.filter((each) => each.path === path).map(({ params }) => params),
      given: (grant) => given.get(grant) ?? 0,
      check: (text) => {
        const found = access.get(text ?? "")
        return found === undefined || found.until <= switches.now() ? undefined : { scope: found.scope }
      },
      expire: () => access.clear(),
      revoke: () => {
        access.clear()
        refresh.clear()
      },
      misuse: () => misuse,
      secrets: () => {
        const shown = journal.flatMap(({ headers, params }) => [
          ...[
            "code",
            "code_verifier",
            "refresh_token",
            "client_secret",
            "client_assertion",
            "state",
            "code_challenge"
          ].map((name) => params.get(name)),
          headers.authorization?.replace(/^\w+ /, "")
        ])
        const all = [...codes.keys(), ...access.keys(), ...refresh.keys(), ...spent, ...shown]
        return [...new Set(all.flatMap((text) => text || []))]
      }
    }
  })
