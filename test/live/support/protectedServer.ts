/**
 * Runs an MCP server that an authorization server protects, and stands in for a person at the login page.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { Effect, type Scope } from "effect"
import { type AuthServer, bodyOf, json, listen } from "./authServer.js"
import * as Raw from "./rawHttp.js"
import { withTools } from "./supervised.js"

export interface ProtectedSwitches {
  /** The authorization server that it names, and whose tokens it accepts. */
  by: AuthServer
  /** Where it publishes its metadata. */
  description: "path" | "root" | "named" | "none"
  /** The scope that every request requires. */
  scope: string | undefined
  /** The scope that the tool `admin` requires in addition. */
  toolScope: string | undefined
  /** Rejects calls of `admin` with 403, whatever the scope of the token. */
  endless403: boolean
  /** The resource in its metadata. Defaults to its URL. */
  resource: string | undefined
  scopesSupported: ReadonlyArray<string> | undefined
  /** The status of the response for other paths. */
  elsewhere: number
  /** Whether the challenge names another address than that of the metadata. */
  isMisled: boolean
}

export interface Protected {
  readonly url: string
  readonly switches: ProtectedSwitches
  readonly received: Array<Raw.Received>
  /** All tokens that it has received. */
  readonly tokens: () => ReadonlyArray<string>
  readonly calls: () => number
  /** Called for requests to `/control/<name>`. */
  readonly control: Map<string, () => void>
}

export const protectedServer = (
  by: AuthServer,
  initial: Partial<ProtectedSwitches> = {},
  own: Parameters<typeof withTools>[1] = () => false
): Effect.Effect<Protected, never, Scope.Scope> =>
  Effect.gen(function* () {
    const switches: ProtectedSwitches = {
      by,
      description: "path",
      scope: undefined,
      toolScope: undefined,
      endless403: false,
      resource: undefined,
      scopesSupported: undefined,
      elsewhere: 404,
      isMisled: false,
      ...initial
    }
    const received: Array<Raw.Received> = []
    const control = new Map<string, () => void>()
    const answer = withTools(["echo", "admin"], own)
    const bearer = (headers: IncomingMessage["headers"]) => /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1]

    const refuse = (response: ServerResponse, status: number, scope: string | undefined) => {
      const parts = [
        ...(status === 403 ? [`error="insufficient_scope"`] : []),
        ...(scope === undefined ? [] : [`scope="${scope}"`]),
        ...(switches.description === "none" || switches.description === "root"
          ? []
          : [
              `resource_metadata="${origin}${switches.description === "named" ? "/described/here" : "/.well-known/oauth-protected-resource/mcp"}"`
            ])
      ]
      response.writeHead(status, { "www-authenticate": parts.length === 0 ? "Bearer" : `Bearer ${parts.join(", ")}` })
      response.end()
    }

    const places = {
      path: "/.well-known/oauth-protected-resource/mcp",
      root: "/.well-known/oauth-protected-resource",
      named: "/described/here",
      none: ""
    }

    const server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const { headers, method = "", url = "" } = request
        if (url === places[switches.isMisled ? "path" : switches.description]) {
          return json(response, 200, {
            resource: switches.resource ?? `${origin}/mcp`,
            authorization_servers: [switches.by.url],
            ...(switches.scopesSupported === undefined ? {} : { scopes_supported: switches.scopesSupported })
          })
        }
        const command = control.get(url.replace("/control/", ""))
        if (command !== undefined) return json(response, 200, command() ?? {})
        if (!url.startsWith("/mcp")) return json(response, switches.elsewhere, {})
        const each: Raw.Received = { method, url, headers, message: body === "" ? {} : JSON.parse(body) }
        received.push(each)
        const login = switches.by.check(bearer(headers))
        if (login === undefined) return refuse(response, 401, switches.scope)
        const words = (scope: string | undefined) => (scope ?? "").split(" ").filter((word) => word !== "")
        const isTool = Raw.isCall(each) && (each.message.params as { name?: string } | undefined)?.name === "admin"
        const needed = [...words(switches.scope), ...(isTool ? words(switches.toolScope) : [])]
        if (!needed.every((word) => words(login.scope).includes(word)) || (isTool && switches.endless403)) {
          return refuse(response, 403, switches.toolScope ?? switches.scope)
        }
        answer(each, response, request)
      })
    })
    const origin = yield* listen(server)
    return {
      url: `${origin}/mcp`,
      switches,
      received,
      tokens: () => [...new Set(received.flatMap(({ headers }) => bearer(headers) ?? []))],
      calls: () => received.filter(Raw.isCall).length,
      control
    }
  })

export interface Person {
  readonly openUrl: (url: string) => Effect.Effect<void>
  /** The URLs of the opened pages. */
  readonly opened: Array<string>
  /** The last response for each page. */
  readonly seen: Array<{ readonly status: number; readonly text: string }>
}

/** Opens pages and follows every redirect. */
export const person = (): Person => {
  const opened: Array<string> = []
  const seen: Array<{ readonly status: number; readonly text: string }> = []
  return {
    opened,
    seen,
    openUrl: (url) =>
      Effect.promise(async () => {
        opened.push(url)
        const response = await fetch(url)
        seen.push({ status: response.status, text: await response.text() })
      })
  }
}
