/**
 * Reports what a login to a server would do, step by step, without registering a client or opening a page. The decisions
 * are those of a login.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Auth from "../../../auth/Auth.js"
import type { AuthContext } from "../../../auth/AuthContext.js"
import { loginError } from "../../../auth/authErrors.js"
import { CredentialStore } from "../../../auth/CredentialStore.js"
import { type LoginTarget, requireTarget, tokensOf } from "../../../auth/login/LoginTarget.js"
import { type LoginPlan, prepareLogin } from "../../../auth/login/planLogin.js"
import type { DiscoveryStep } from "../../../auth/oauth/DiscoveryStep.js"
import type { Tokens } from "../../../auth/tokens/Credential.js"
import type { ConnectionError } from "../../../domain/Errors.js"
import { scrub } from "../../../domain/Secrets.js"
import { type Remote, secrets } from "../../../domain/server/ServerConfig.js"
import { duration } from "../../show/showServers.js"
import type { ProbeStep } from "./probe.js"

type OnStep = (step: ProbeStep) => Effect.Effect<void>

/** Tokens are never shown. Secrets of the config are hidden: addresses and responses may repeat them. */
export const loginSteps = (name: string, config: Remote, onStep: OnStep) => {
  const hide = scrub(secrets(config))
  const report: OnStep = (step) => onStep({ ...step, detail: hide(step.detail) })
  return Effect.matchEffect(requireTarget(name, config), {
    onFailure: ({ detail }) => report({ phase: "oauth", ok: true, detail: `not used: ${detail}` }),
    onSuccess: (target) => reportTarget(target, report)
  })
}

const reportTarget = Effect.fnUntraced(function* (target: LoginTarget, report: OnStep) {
  const context = yield* Auth.makeContext({ onEvent: () => {}, onChange: () => {} })
  const discovery: Array<DiscoveryStep> = []
  const plan = yield* Effect.either(prepareLogin(context, target, (step) => void discovery.push(step)))
  for (const step of discovery) yield* report(discoveryStep(step))
  if (isLoginOffered(discovery)) yield* reportPlan(context, target, plan, report)

  const store = yield* CredentialStore
  const stored = yield* Effect.option(store.load(target))
  const tokens = tokensOf(target, Option.getOrUndefined(Option.flatten(stored)))
  const now = yield* Clock.currentTimeMillis
  const ok = tokens !== undefined && tokens.refused !== true
  yield* report({ phase: "token", ok, detail: describeTokens(target, tokens, now) })
}, Effect.scoped)

const discoveryStep = ({ detail, ok, request, subject }: DiscoveryStep): ProbeStep => ({
  phase: subject === "server" ? "without login" : subject,
  ok,
  detail: request === undefined ? detail : `${request.method} ${request.url}: ${detail}`
})

/** Whether the server requires a login, or publishes one. */
const isLoginOffered = (steps: ReadonlyArray<DiscoveryStep>): boolean => {
  const challenge = steps.find(({ subject }) => subject === "server")
  return (
    challenge === undefined ||
    challenge.status === 401 ||
    steps.some(({ subject, ok }) => subject === "authorization" && ok)
  )
}

const reportPlan = Effect.fnUntraced(function* (
  context: AuthContext,
  { grant, settings }: LoginTarget,
  planned: Either.Either<LoginPlan, ConnectionError>,
  report: OnStep
) {
  if (Either.isLeft(planned)) {
    const { detail, reason } = loginError(planned.left)
    return yield* report({ phase: "login", ok: false, detail: `${reason}: ${detail}` })
  }
  const { configuredClient, discovery, scope } = planned.right
  const oauth = yield* context.oauth
  const { authorization, registration, token } = oauth.endpointsOf(discovery)
  const page = grant.usesLoginPage ? `page ${authorization}, ` : ""
  yield* report({ phase: "login", ok: true, detail: `${page}tokens from ${token}, issuer ${discovery.issuer}` })
  const client =
    configuredClient === undefined
      ? `a client is registered at ${registration}`
      : settings.clientId === undefined
        ? "the client is described by oauth.clientMetadataUrl"
        : "the config names the client"
  yield* report({ phase: "registration", ok: true, detail: client })
  const { metadata, resourceMetadata } = discovery
  const offered = new Set([...texts(resourceMetadata?.scopes_supported), ...texts(metadata?.scopes_supported)])
  const requested = scope === undefined ? "none requested" : `requested: ${scope}`
  yield* report({ phase: "scopes", ok: true, detail: `${requested}; offered: ${[...offered].join(" ") || "unknown"}` })
})

const texts = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((each) => typeof each === "string") : []

const describeTokens = ({ grant }: LoginTarget, tokens: Tokens | undefined, now: number): string => {
  if (tokens === undefined) return "none is stored"
  const { expiresAt, refused, scope } = tokens
  const lifetime =
    expiresAt === undefined
      ? "expiry unknown"
      : expiresAt > now
        ? `expires in ${duration(expiresAt - now)}`
        : `expired ${duration(now - expiresAt)} ago`
  const renewal =
    refused === true
      ? "renewal was rejected"
      : grant.isRenewable(tokens)
        ? "renewed automatically"
        : "cannot be renewed"
  return [lifetime, renewal, ...(scope === undefined ? [] : [`scope ${scope}`])].join(", ")
}
