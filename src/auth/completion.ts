/**
 * The end of a login: what the browser brought is exchanged for tokens, and they are kept.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { AuthError, type ConnectionError } from "../domain/Errors.js"
import { defined } from "../domain/defined.js"
import type { Credential, Pending } from "./Credential.js"
import type { StoreFailed } from "./CredentialStore/port.js"
import { connectionError, type Engine, loginError, required, storeError } from "./Engine.js"
import * as LoginRecord from "./loginRecord.js"
import * as Memory from "./Memory.js"
import type { OAuthFailure } from "./OAuthFailure.js"
import { doubting, isDoneElsewhere, isOf } from "./pendingLogin.js"
import * as Renewal from "./Renewal.js"
import * as Scopes from "./scopes.js"
import type { Subject } from "./Subject.js"

/** What is known of a login that was begun by this process. */
export interface Here {
  /** The token there was when it began. */
  readonly before: string | undefined
  /** It is over, however it ended: what is still brought is not kept. */
  readonly isEnded: boolean
}

export const notWaitedFor = "this is not the answer to the login that is waited for, or it was brought already"

/**
 * From the first look until the tokens are kept, nobody else does the same: what was brought is good for once. Who interrupts
 * it while it waits for the authorization server gives it up; tokens that were given are kept.
 */
export const complete = (
  engine: Engine,
  subject: Subject,
  pending: Pending,
  params: URLSearchParams,
  here?: Here | undefined
): Effect.Effect<void, AuthError> =>
  Effect.gen(function* () {
    const { server, serverUrl } = subject
    const failed = (reason: string, detail: string) => new AuthError({ server, reason, detail })
    const memory = engine.memoryOf(subject)
    const record = Option.getOrUndefined(yield* engine.store.load(subject))
    if (here === undefined && !isOf(record, pending)) return yield* failed("state_mismatch", notWaitedFor)
    if (here !== undefined && isDoneElsewhere(here, record)) {
      return void (memory.found(record) && engine.onChange(server, false))
    }
    const { clientInfo, discovery, issuer, scope } = pending
    const others = isOf(record, pending) ? undefined : record?.login
    const next: Credential = { server, serverUrl, issuer, clientInfo, discovery, ...defined({ login: others }) }
    yield* Effect.gen(function* () {
      const granted = yield* Effect.interruptible(exchange(engine, subject, pending, params))
      if (here?.isEnded === true) return yield* failed("interrupted", "the login was ended meanwhile")
      yield* Renewal.keep(engine, subject, next, { ...granted, scope: granted.scope ?? scope })
    }).pipe(Effect.tapError((failure) => Effect.ignore(clear(engine, subject, pending, failure))))
    const { stepUps, wanted } = memory
    const count = Scopes.covers(stepUps.asked, wanted) ? stepUps.count + 1 : 1
    memory.stepUps = wanted === undefined ? Memory.noStepUps : { asked: Scopes.union(stepUps.asked, wanted), count }
    memory.wanted = undefined
    engine.onEvent(server, "login_finished")
    engine.onChange(server, false)
  }).pipe(
    engine.store.exclusively(subject),
    Effect.mapError((failure) => errorOf(subject, pending, failure)),
    Effect.uninterruptible
  )

/** Exchanges what was brought for tokens. */
const exchange = (engine: Engine, subject: Subject, pending: Pending, params: URLSearchParams) =>
  Effect.gen(function* () {
    const oauth = yield* engine.oauth
    const fetch = yield* engine.fetchFor(subject)
    // before anything else that it says: it may be from somebody else
    yield* oauth.checkIssuer(pending, params.getAll("iss"))
    const error = params.get("error")
    const code = params.get("code") ?? ""
    if (error !== null) return yield* oauth.ofCode(error)
    if (code === "") return yield* required(subject.server, "the authorization server gave neither a code nor a reason")
    const clientInfo = Renewal.withSecretOf(subject, pending.clientInfo)
    return yield* oauth.exchange(fetch, subject.settings, { ...pending, clientInfo }, code)
  })

/** After a failure: what may still work can be tried again with the same answer, all else is forgotten. */
const clear = (engine: Engine, subject: Subject, pending: Pending, failure: Failure) =>
  Effect.suspend(() => {
    engine.onEvent(subject.server, "login_failed")
    if (errorOf(subject, pending, failure).reason === "unavailable") return Effect.void
    const isUnknown = failure._tag === "OAuthFailure" && failure.kind === "client"
    return LoginRecord.edit(engine, subject, (before) => {
      // another process may have begun another one
      const { login: _, ...rest } = before
      const left = isOf(before, pending) ? rest : before
      return isUnknown ? doubting(left, pending) : left
    })
  })

type Failure = OAuthFailure | StoreFailed | ConnectionError

const errorOf = ({ server }: Subject, { clientInfo }: Pending, failure: Failure): AuthError => {
  if (failure._tag === "OAuthFailure") return loginError(connectionError(server, failure, clientInfo))
  return failure._tag === "StoreFailed" ? storeError(server, failure) : loginError(failure)
}
