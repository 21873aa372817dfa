/**
 * The way to a login, address by address: what was asked, what came back, and what that means. Asks only for what anybody may
 * read, and shows no token.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { CredentialStore } from "../../../auth/CredentialStore.js"
import * as OAuthClients from "../../../auth/oauth/oauthClients.js"
import * as OAuthFetch from "../../../auth/oauth/oauthFetch.js"
import { policyOf, type LoginTarget, loginTargetOf, tokensOf } from "../../../auth/login/LoginTarget.js"
import * as HttpClient from "../../../connection/http/HttpClient.js"
import { AddressRefused } from "../../../connection/http/OutboundGuard.js"
import { reveal, scrub } from "../../../domain/Secrets.js"
import { type Remote, secrets } from "../../../domain/server/ServerConfig.js"
import { version } from "../../../domain/internal/version.js"
import type { Step } from "./probe.js"
import { duration } from "../../show/showServers.js"

type Fields = Readonly<Record<string, unknown>>

interface Answer {
  readonly status?: number | undefined
  readonly challenge?: string | undefined
  readonly fields?: Fields | undefined
  readonly problem?: string | undefined
}

const timeoutMs = 10_000

export const trail = (name: string, config: Remote, tell: (step: Step) => Effect.Effect<void>) => {
  const hide = scrub(secrets(config))
  // addresses and answers repeat what the config has put into the URL
  return steps(name, config, (step) => tell({ ...step, detail: hide(step.detail) }))
}

const steps = (name: string, config: Remote, onStep: (step: Step) => Effect.Effect<void>) =>
  Effect.gen(function* () {
    const subject = loginTargetOf(name, config)
    if (subject === undefined) {
      const why = config.oauth === false ? '"oauth" is false' : "the config itself says what to send as Authorization"
      yield* onStep({ phase: "oauth", ok: true, detail: `not used: ${why}` })
      return
    }
    const pool = yield* HttpClient.pool
    const client = yield* pool.guarded(name, config.caFile, policyOf(subject))
    const oauth = yield* Effect.promise(() => import("../../../auth/oauth/sdkOAuth.js"))
    const fetch = once(OAuthFetch.make(client, `mcp-supervisor/${version}`, timeoutMs))
    const ask = (url: string, init?: RequestInit) =>
      Effect.tryPromise({
        try: async () => answerOf(await fetch(url, init)),
        catch: (error) => problemOf(oauth, error)
      }).pipe(Effect.catchAll((problem): Effect.Effect<Answer> => Effect.succeed({ problem })))
    const url = reveal(config.url)

    const first = yield* ask(url, greeting)
    yield* onStep({
      phase: "without login",
      ok: first.status === 401 || isFine(first),
      detail: `POST ${shownUrl(url)}: ${said(first)}`
    })

    let resource: Fields | undefined
    for (const each of resourceUrls(url, challengeUrl(first.challenge))) {
      const answer = yield* ask(each)
      const servers = list(answer.fields?.authorization_servers)
      yield* onStep({
        phase: "resource",
        ok: isFine(answer),
        detail: `GET ${each}: ${said(answer)}${servers.length === 0 ? "" : `, logs in at ${servers.join(", ")}`}`
      })
      if (isFine(answer) && answer.fields !== undefined) {
        resource = answer.fields
        break
      }
    }

    const issuer = oauth.describedBy(subject.settings, url, list(resource?.authorization_servers))
    let metadata: Fields | undefined
    if (issuer === undefined) {
      const detail = "not asked for metadata: the config names the endpoints beside a secret, and no others are used"
      yield* onStep({ phase: "authorization", ok: true, detail })
    }
    for (const each of issuer === undefined ? [] : issuerUrls(issuer)) {
      const answer = yield* ask(each)
      yield* onStep({ phase: "authorization", ok: isFine(answer), detail: `GET ${each}: ${said(answer)}` })
      if (isFine(answer) && answer.fields !== undefined) {
        metadata = answer.fields
        break
      }
    }
    const configured = subject.settings.authorizationUrl !== undefined
    if (issuer !== undefined && metadata === undefined && configured) {
      yield* onStep({ phase: "authorization", ok: true, detail: "nothing published; the config says where to log in" })
    }

    const challenged = challengeUrl(first.challenge)
    const named = challenged !== undefined && URL.canParse(challenged) ? challenged : undefined
    if (first.status === 401 || metadata !== undefined) {
      yield* onStep(yield* decision(oauth, fetch, client.inspect, subject, named))
    }
    yield* onStep(registration(metadata, subject.settings.clientId !== undefined))
    const scopes = list(resource?.scopes_supported).concat(list(metadata?.scopes_supported))
    const wanted = subject.settings.scope ?? challengeScope(first.challenge)
    yield* onStep({
      phase: "scopes",
      ok: true,
      detail: `${wanted === undefined ? "none asked for" : `asked for: ${wanted}`}; offered: ${[...new Set(scopes)].join(" ") || "not told"}`
    })

    const store = yield* CredentialStore
    const kept = yield* Effect.option(store.load(subject))
    const credential = Option.getOrUndefined(Option.flatten(kept))
    const tokens = tokensOf(subject, credential)
    const now = yield* Clock.currentTimeMillis
    yield* onStep({
      phase: "token",
      ok: tokens !== undefined && tokens.refused !== true,
      detail: tokenState(tokens, now)
    })
  }).pipe(
    Effect.scoped,
    Effect.catchAll((error) => onStep({ phase: "network", ok: false, detail: error.message }))
  )

type OAuth = typeof import("../../../auth/oauth/sdkOAuth.js")
type FetchLike = ReturnType<typeof OAuthFetch.make>

/** Whether a login may begin, by the same decisions that a login makes. */
const decision = (
  oauth: OAuth,
  fetch: FetchLike,
  inspect: HttpClient.GuardedClient["inspect"],
  subject: LoginTarget,
  resourceMetadataUrl: string | undefined
): Effect.Effect<Step> =>
  Effect.gen(function* () {
    const { serverUrl, settings } = subject
    const discovery = yield* oauth.discover(fetch, { serverUrl, settings, resourceMetadataUrl })
    const registers = OAuthClients.given(subject, oauth, discovery) === undefined
    yield* oauth.checkLogin(discovery, { settings, registers, inspect })
    const { authorization, token } = oauth.endpointsOf(discovery)
    const page = settings.grant === "client_credentials" ? "" : `page ${authorization}, `
    return { phase: "login", ok: true, detail: `${page}tokens from ${token}, issuer ${discovery.issuer}` }
  }).pipe(
    Effect.catchAll(({ detail, reason }) =>
      Effect.succeed({ phase: "login", ok: false, detail: `${reason}: ${detail}` })
    )
  )

/** Each document is asked for once: it is shown, and then decides. */
const once = (fetch: FetchLike): FetchLike => {
  const answers = new Map<string, Promise<Response>>()
  return async (url, init) => {
    if (init?.method === "POST") return fetch(url, init)
    const answer = answers.get(String(url)) ?? fetch(url, init)
    answers.set(String(url), answer)
    return (await answer).clone()
  }
}

const greeting: RequestInit = {
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
  body: JSON.stringify({ jsonrpc: "2.0", id: "debug", method: "ping" })
}

const answerOf = async (response: Response): Promise<Answer> => {
  const text = await response.text()
  let fields: unknown
  try {
    fields = JSON.parse(text)
  } catch {
    fields = undefined
  }
  return {
    status: response.status,
    challenge: response.headers.get("www-authenticate") ?? undefined,
    fields: Predicate.isRecord(fields) ? fields : undefined
  }
}

const problemOf = (oauth: OAuth, error: unknown): string => {
  if (error instanceof AddressRefused) return oauth.ofRefusedAddress(error).detail
  const cause = error instanceof Error ? error.cause : undefined
  if (Predicate.hasProperty(cause, "code") && typeof cause.code === "string") return cause.code
  return "no answer"
}

const isFine = ({ status }: Answer): boolean => status !== undefined && status >= 200 && status < 300

const said = ({ challenge, fields, problem, status }: Answer): string => {
  if (status === undefined) return problem ?? "no answer"
  const names = challenge === undefined ? "" : `, WWW-Authenticate: ${challenge}`
  return `HTTP ${status}${names}${status < 300 && fields === undefined ? ", no JSON" : ""}`
}

/** Without the parts that are often secret. */
const shownUrl = (url: string): string => {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

const parameter = (challenge: string | undefined, name: string): string | undefined =>
  challenge === undefined ? undefined : new RegExp(`\\b${name}="?([^",\\s]+(?: [^",]+)*)"?`, "i").exec(challenge)?.[1]

const challengeUrl = (challenge: string | undefined) => parameter(challenge, "resource_metadata")
const challengeScope = (challenge: string | undefined) => parameter(challenge, "scope")

/** Where a server may describe itself: where it says, then the usual places. */
export const resourceUrls = (server: string, named: string | undefined): ReadonlyArray<string> => {
  const { origin, pathname } = new URL(server)
  const base = `${origin}/.well-known/oauth-protected-resource`
  const path = pathname.replace(/\/$/, "")
  return [...new Set([...(named !== undefined && URL.canParse(named) ? [named] : []), `${base}${path}`, base])]
}

/** Where an authorization server may describe itself. */
export const issuerUrls = (issuer: string): ReadonlyArray<string> => {
  if (!URL.canParse(issuer)) return []
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, "")
  const kinds = ["oauth-authorization-server", "openid-configuration"]
  const inserted = kinds.map((kind) => `${origin}/.well-known/${kind}${path}`)
  return path === "" ? inserted : [...inserted, `${origin}${path}/.well-known/openid-configuration`]
}

const list = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : []

const registration = (metadata: Fields | undefined, hasClient: boolean): Step => {
  const phase = "registration"
  if (hasClient) return { phase, ok: true, detail: "the config names the client" }
  if (metadata?.client_id_metadata_document_supported === true) {
    return {
      phase,
      ok: true,
      detail: "the authorization server reads client descriptions; set oauth.clientMetadataUrl to use one"
    }
  }
  return typeof metadata?.registration_endpoint === "string"
    ? { phase, ok: true, detail: `we register ourselves at ${metadata.registration_endpoint}` }
    : { phase, ok: false, detail: "no client can be registered by itself: register one and set oauth.clientId" }
}

const tokenState = (
  tokens:
    | {
        readonly expiresAt?: number | undefined
        readonly refreshToken?: string | undefined
        readonly scope?: string | undefined
        readonly refused?: boolean | undefined
      }
    | undefined,
  now: number
): string => {
  if (tokens === undefined) return "none is kept"
  const { expiresAt, refreshToken, refused, scope } = tokens
  const life =
    expiresAt === undefined
      ? "its end is not told"
      : expiresAt > now
        ? `for another ${duration(expiresAt - now)}`
        : `over since ${duration(now - expiresAt)}`
  const renewal =
    refused === true
      ? "refused when it was renewed"
      : refreshToken === undefined
        ? "cannot be renewed"
        : "renewed by itself"
  return [life, renewal, ...(scope === undefined ? [] : [`scope ${scope}`])].join(", ")
}
