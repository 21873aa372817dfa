/**
 * Runs a pending login that this process has started, from its login page to its end.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { AuthError } from "../../domain/Errors.js"
import { withinBudget } from "../../system/budget.js"
import { type AuthContext, scrubFor } from "../AuthContext.js"
import type { PendingLogin } from "../tokens/Credential.js"
import type { Key } from "../tokens/credentialStorePort.js"
import type * as CallbackServer from "./CallbackServer.js"
import { completeLogin } from "./completeLogin.js"
import * as LoginRecord from "./loginRecord.js"
import type { LoginTarget } from "./LoginTarget.js"
import { markClientDoubtful } from "./pendingLogin.js"

export interface LocalLogin {
  readonly context: AuthContext
  readonly target: LoginTarget
  readonly pending: PendingLogin
  readonly authorizationUrl: string
  /** The stored access token when the login started. */
  readonly tokenBefore: string | undefined
  /** Completes when the login has ended. */
  readonly done: Deferred.Deferred<void, AuthError>
  /** Holds the callback listener and the time limit. */
  readonly scope: Scope.CloseableScope
  /** Called when the login ends. */
  readonly onEnd: () => void
  /** Whether a callback has arrived, and its code is being exchanged. */
  isCompleting: boolean
  isEnded: boolean
  /** Fails if the page cannot be opened. Absent before that, and after a failure, so that the next caller tries again. */
  page: Deferred.Deferred<never, AuthError> | undefined
  /** Whether a program has received the URL of the page. Then the login stays pending without callers. */
  isHandedOut: boolean
  /** How many callers wait for the end of the login. */
  callers: number
}

/** The time limit of a login. */
const loginTimeout = "5 minutes"

/** How long the time limit waits for the store. */
const storeBudget = "3 seconds"

export const make = (
  options: Pick<LocalLogin, "context" | "target" | "pending" | "authorizationUrl" | "tokenBefore" | "scope" | "onEnd">
): LocalLogin => ({
  ...options,
  done: Deferred.unsafeMake<void, AuthError>(FiberId.none),
  isCompleting: false,
  isEnded: false,
  page: undefined,
  isHandedOut: false,
  callers: 0
})

/** Starts the time limit, and passes callbacks to the login. */
export const receive = (login: LocalLogin, listener: CallbackServer.Listener | undefined): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { context, pending, scope } = login
    if (listener !== undefined) {
      yield* Scope.extend(listener.expect(pending.oauthState, callbackHandler(login)), scope)
    }
    context.forkIn(scope)(Effect.zipRight(Effect.sleep(loginTimeout), Effect.uninterruptible(timeOut(login))))
  })

const callbackHandler = (login: LocalLogin): CallbackServer.CallbackHandler => {
  const { context, target } = login
  const scrub = scrubFor(context, target)
  return (params) =>
    new Promise((resolve) => {
      context.fork(complete(login, params)).addObserver((exit) => {
        if (Exit.isSuccess(exit)) {
          const text = `${target.server} can be used now. You may close this page.`
          return resolve({ title: "Logged in", text, isSuccess: true })
        }
        const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
        const text = error === undefined ? "An unexpected error occurred." : scrub(error.message)
        resolve({ title: "Not logged in", text, isSuccess: false })
      })
    })
}

/** Completes the login with the first callback, and returns its result for later ones. Continues if the caller is interrupted. */
export const complete = (login: LocalLogin, params: URLSearchParams): Effect.Effect<void, AuthError> =>
  Effect.suspend(() => {
    const { context, pending, target } = login
    if (!login.isCompleting) {
      login.isCompleting = true
      const completed = completeLogin(context, { target, pending, params, local: login })
      context.fork(Effect.onExit(completed, (exit) => end(login, unlessClosed(target, exit))))
    }
    return Deferred.await(login.done)
  })

export const end = (login: LocalLogin, exit: Exit.Exit<void, AuthError>): Effect.Effect<void> =>
  Effect.suspend(() => {
    login.onEnd()
    login.isEnded = true
    // In another fiber: a callback handler may call this, and the listener closes only after its response.
    const close = Effect.sync(() => void login.context.fork(Scope.close(login.scope, Exit.void)))
    return Effect.zipRight(Deferred.done(login.done, exit), close)
  })

/** Ends a login without a callback. A registered client may be the reason: the next login registers another one. */
const timeOut = (login: LocalLogin): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (login.isCompleting) return
    const { context, pending, target } = login
    const mark = LoginRecord.change(context, target, (before) => markClientDoubtful(before, pending))
    yield* Effect.ignore(withinBudget(storeBudget)(mark))
    // A callback may have arrived in the meantime.
    if (login.isCompleting || login.isEnded) return
    context.onEvent(target.server, "login_failed")
    yield* end(login, loginFailure(target, "timeout", "no callback arrived within 5 minutes; log in again"))
  })

/** Opens the page, unless it is open. */
export const openPage = (
  login: LocalLogin,
  open: (url: string) => Effect.Effect<void>
): Deferred.Deferred<never, AuthError> => {
  if (login.page !== undefined) return login.page
  const { authorizationUrl, context, target } = login
  const page = Deferred.unsafeMake<never, AuthError>(FiberId.none)
  login.page = page
  const opened = Effect.catchAllCause(
    Effect.suspend(() => open(authorizationUrl)),
    (cause) => {
      if (login.isCompleting || Cause.isInterruptedOnly(cause)) return Effect.void
      login.page = undefined
      const notOpened = loginFailure(target, "no_browser", pageNotOpened)
      // The program that has received the URL may still complete the login.
      return login.isHandedOut ? Deferred.done(page, notOpened) : end(login, notOpened)
    }
  )
  context.forkIn(context.scope)(opened)
  return page
}

/** Removes a caller that was interrupted. Ends the login with the last one. */
export const leave = (login: LocalLogin): Effect.Effect<void> =>
  Effect.suspend(() => {
    login.callers -= 1
    if (login.callers > 0 || login.isHandedOut) return Effect.void
    return end(login, loginFailure(login.target, "interrupted", "the login was cancelled"))
  })

export const loginFailure = (
  { server }: Pick<Key, "server">,
  reason: string,
  detail: string
): Exit.Exit<never, AuthError> => Exit.fail(new AuthError({ server, reason, detail }))

export const closedFailure = (target: Pick<Key, "server">): Exit.Exit<never, AuthError> =>
  loginFailure(target, "closed", "the supervisor was closed in the meantime")

/** Only the shutdown of the supervisor interrupts the completion of a login. */
export const unlessClosed = (target: LoginTarget, exit: Exit.Exit<void, AuthError>): Exit.Exit<void, AuthError> =>
  Exit.isInterrupted(exit) ? closedFailure(target) : exit

const pageNotOpened = "the page could not be opened; call `startLogin` and show its URL to the user"
