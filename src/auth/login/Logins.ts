/**
 * The logins that were begun here, and who waits for them. What was kept before stays until one has succeeded.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberId from "effect/FiberId"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import { withinBudget } from "../../system/budget.js"
import { AuthError, type ConnectionError } from "../../domain/Errors.js"
import * as CallbackServer from "./CallbackServer.js"
import { completeLogin, notWaitedFor } from "./completeLogin.js"
import type { Pending } from "../tokens/Credential.js"
import { type Key, nameOf } from "../tokens/credentialStorePort.js"
import { type AuthContext, loginError, scrubFor } from "../AuthContext.js"
import * as LoginRecord from "./loginRecord.js"
import * as LoginState from "./LoginState.js"
import { beginLogin } from "./beginLogin.js"
import { doubting, isDoneElsewhere, isSame, paramsOf } from "./pendingLogin.js"
import * as Renewal from "../tokens/Renewal.js"
import * as OAuthScopes from "../oauth/oauthScopes.js"
import { isSameTarget, type LoginTarget } from "./LoginTarget.js"

export interface Logins {
  /** Opens the page and waits until somebody has come back from it. Who is second waits for the same. */
  readonly login: (target: LoginTarget) => Effect.Effect<void, AuthError>
  /** Begins, and leaves the rest to others. */
  readonly start: (target: LoginTarget) => Effect.Effect<Started, AuthError>
  /** Goes on with what the browser was given, however it came here. */
  readonly finish: (target: LoginTarget, callback: string | URLSearchParams) => Effect.Effect<void, AuthError>
  readonly logout: (key: Key) => Effect.Effect<void>
  /** Ends all that waits for a server. */
  readonly abandon: (server: string) => Effect.Effect<void>
}

export interface Started {
  readonly authorizationUrl: string
  readonly state: string
}

/** How long somebody may take to log in while we listen. */
const limit = "5 minutes"

/** How long its end waits for the store, to say that the client is in doubt. */
const doubtBudget = "3 seconds"

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** A login that was begun here. */
interface Waiting extends Started {
  readonly target: LoginTarget
  readonly pending: Pending
  readonly done: Deferred.Deferred<void, AuthError>
  /** Lets go of the listener. */
  readonly scope: Scope.CloseableScope
  /** Somebody has come back, and what he brought is being exchanged. */
  isTaken: boolean
  /** It is over, however it ended: what is still brought is not kept. */
  isEnded: boolean
  /** The page that was opened, as long as nothing is wrong with it: fails if it cannot be shown. */
  page: Deferred.Deferred<never, AuthError> | undefined
  /** Somebody was given its address, and may come back at any time. */
  isHandedOut: boolean
  /** How many wait for it. */
  users: number
  /** The token there was when it began. */
  readonly before: string | undefined
}

export const make = (
  context: AuthContext,
  /** Shows a page, if somebody is there to see it. */
  openUrl: ((url: string) => Effect.Effect<void>) | undefined
): Effect.Effect<Logins, never, Scope.Scope> =>
  Effect.gen(function* () {
    const callbacks = yield* CallbackServer.make
    const waiting = new Map<string, Waiting>()
    const turns = new Map<string, Effect.Semaphore>()

    let isClosed = false

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isClosed = true
        return Effect.forEach(
          Array.from(waiting.values()).filter((login) => !login.isTaken),
          ({ done, target }) => Deferred.done(done, closed(target)),
          { discard: true }
        )
      })
    )
    context.seen.add((key, record) => {
      const login = waiting.get(nameOf(key))
      if (login !== undefined && !login.isTaken && isDoneElsewhere(login, record)) context.fork(end(login, Exit.void))
    })

    // --- beginning --------------------------------------------------------------------------------------------------

    /**
     * One at a time for each server: two would only be in each other's way. Only for who cannot be interrupted but where it is
     * restored: else he might be gone before he can leave what he has joined.
     */
    const begin = (
      target: LoginTarget,
      restore: Restore,
      /** Before anybody else has his turn. */
      join: (login: Waiting) => void
    ): Effect.Effect<Waiting, AuthError> =>
      Effect.suspend(() => {
        const name = nameOf(target)
        const turn = turns.get(name) ?? Effect.unsafeMakeSemaphore(1)
        turns.set(name, turn)
        const begun = Effect.suspend(() => {
          if (isClosed) return closed(target)
          const there = waiting.get(name)
          const { wanted } = context.memoryOf(target)
          if (there !== undefined && isSameTarget(there.target, target)) {
            if (OAuthScopes.covers(there.pending.scope, wanted)) return Effect.succeed(there)
          }
          const before =
            there === undefined ? Effect.void : end(there, failed(target, "replaced", "another login was begun"))
          return Effect.zipRight(before, beginNew(target, restore))
        })
        const joined = Effect.tap(begun, (login) => Effect.sync(() => join(login)))
        return Effect.zipRight(restore(turn.take(1)), Effect.ensuring(joined, turn.release(1)))
      })

    const beginNew = (target: LoginTarget, restore: Restore): Effect.Effect<Waiting, AuthError> =>
      Effect.gen(function* () {
        const { server } = target
        const loginState = context.memoryOf(target)
        loginState.verdict = undefined
        const scope = yield* Scope.fork(context.scope, ExecutionStrategy.sequential)
        const begun = yield* restore(Scope.extend(beginLogin(context, callbacks, target), scope)).pipe(
          Effect.onError(() => Scope.close(scope, Exit.void)),
          Effect.tapError((error) => Effect.sync(() => cannotBegin(target, loginState, error))),
          Effect.mapError(loginError)
        )
        // nobody would end it any more
        if (isClosed) {
          yield* Scope.close(scope, Exit.void)
          context.onEvent(server, "login_failed")
          return yield* closed(target)
        }
        const { authorizationUrl, before, listener, pending } = begun
        const state = pending.oauthState
        const done = yield* Deferred.make<void, AuthError>()
        const fresh = { isTaken: false, isEnded: false, page: undefined, isHandedOut: false, users: 0 }
        const login: Waiting = { target: target, authorizationUrl, state, pending, done, scope, before, ...fresh }
        waiting.set(nameOf(target), login)
        // somebody may finish it in another process
        yield* context.watch
        if (listener !== undefined) yield* Scope.extend(listener.expect(state, visit(login)), scope)
        context.forkIn(scope)(Effect.zipRight(Effect.sleep(limit), Effect.uninterruptible(giveUp(login))))
        context.onEvent(server, "login_started")
        return login
      })

    /** Whoever waits for a login learns if it cannot be had like this. */
    const cannotBegin = (target: LoginTarget, loginState: LoginState.LoginState, error: ConnectionError) => {
      context.onEvent(target.server, "login_failed")
      if (error._tag !== "RegistrationRequired" && error._tag !== "AuthRequired") return
      loginState.verdict = { of: target.settings, error }
      context.onChange(target.server, false)
    }

    // --- coming back ------------------------------------------------------------------------------------------------

    const visit = (login: Waiting): CallbackServer.Visit => {
      const { target } = login
      const scrub = scrubFor(context, target)
      return (params) =>
        new Promise((resolve) => {
          const outcome = context.fork(take(login, params))
          outcome.addObserver((exit) => {
            if (Exit.isSuccess(exit)) return resolve({ title: "Logged in", text: goOn(target.server), isGood: true })
            const error = Option.getOrUndefined(Cause.failureOption(exit.cause))
            const text = error === undefined ? "Something went wrong." : scrub(error.message)
            resolve({ title: "Not logged in", text, isGood: false })
          })
        })
    }

    /** The first who brings an answer decides; whoever comes later hears the same. It goes on when he is gone. */
    const take = (login: Waiting, params: URLSearchParams): Effect.Effect<void, AuthError> =>
      Effect.suspend(() => {
        const { pending, target } = login
        if (!login.isTaken) {
          login.isTaken = true
          const completed = completeLogin(context, target, pending, params, login)
          context.fork(Effect.onExit(completed, (exit) => end(login, unlessClosed(target, exit))))
        }
        return Deferred.await(login.done)
      })

    const end = (login: Waiting, exit: Exit.Exit<void, AuthError>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const name = nameOf(login.target)
        if (waiting.get(name) === login) waiting.delete(name)
        login.isEnded = true
        // not by whoever is in it: the page is still to be shown
        return Effect.map(Deferred.done(login.done, exit), () => void context.fork(Scope.close(login.scope, Exit.void)))
      })

    /** Nobody came. A client that was not registered just now may be one that nobody knows any more. */
    const giveUp = (login: Waiting) =>
      Effect.suspend(() => {
        if (login.isTaken) return Effect.void
        const { pending, target } = login
        const doubt = LoginRecord.change(context, target, (before) => doubting(before, pending))
        const late = failed(target, "timeout", "nobody came back from the login page within 5 minutes; log in again")
        const over = Effect.suspend(() => {
          // somebody came while the store was waited for, or it was ended
          if (login.isTaken || login.isEnded) return Effect.void
          context.onEvent(target.server, "login_failed")
          return end(login, late)
        })
        return Effect.zipRight(Effect.ignore(withinBudget(doubtBudget)(doubt)), over)
      })

    /** Opens the page of a login, unless it is open. */
    const show = (login: Waiting, open: (url: string) => Effect.Effect<void>) =>
      Effect.suspend(() => {
        if (login.page !== undefined) return Effect.succeed(login.page)
        const page = Deferred.unsafeMake<never, AuthError>(FiberId.none)
        login.page = page
        const opened = Effect.catchAllCause(
          Effect.suspend(() => open(login.authorizationUrl)),
          (cause) => {
            if (login.isTaken || Cause.isInterruptedOnly(cause)) return Effect.void
            // who asks next gets another try
            login.page = undefined
            const unseen = failed(login.target, "no_browser", notShown)
            // who was given the address may still come back; who relied on the page waits in vain
            return login.isHandedOut ? Deferred.done(page, unseen) : end(login, unseen)
          }
        )
        context.forkIn(context.scope)(opened)
        return Effect.succeed(page)
      })

    /** Somebody waits no more. The last one ends it. */
    const leave = (login: Waiting) =>
      Effect.suspend(() => {
        login.users -= 1
        if (login.users > 0 || login.isHandedOut) return Effect.void
        return end(login, failed(login.target, "interrupted", "the login was given up"))
      })

    const finish: Logins["finish"] = (target, callback) =>
      Effect.gen(function* () {
        const params = paramsOf(callback)
        const state = params.get("state")
        if (state === null) return yield* failed(target, "invalid_callback", notACallback)
        const here = waiting.get(nameOf(target))
        if (here !== undefined && isSame(here.state, state)) return yield* take(here, params)
        const kept = (yield* Effect.mapError(LoginRecord.load(context, target), loginError))?.login
        if (kept === undefined || !isSame(kept.oauthState, state)) {
          return yield* failed(target, "state_mismatch", notWaitedFor)
        }
        const exit = yield* Fiber.await(context.fork(completeLogin(context, target, kept, params)))
        return yield* unlessClosed(target, exit)
      })

    return {
      start: (target) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.map(
            begin(target, restore, (login) => void (login.isHandedOut = true)),
            ({ authorizationUrl, state }) => ({ authorizationUrl, state })
          )
        ),
      finish,
      login: (target) =>
        Effect.gen(function* () {
          if (target.settings.grant === "client_credentials") {
            const useless = context.memoryOf(target).credential()?.tokens?.accessToken
            yield* Effect.mapError(Renewal.renew(context, target, useless, true), loginError)
            return context.onChange(target.server, false)
          }
          if (openUrl === undefined) return yield* failed(target, "no_browser", nobodyLooks)
          yield* Effect.uninterruptibleMask((restore) =>
            Effect.flatMap(
              begin(target, restore, (login) => void (login.users += 1)),
              (login) =>
                restore(
                  Effect.flatMap(show(login, openUrl), (page) =>
                    Effect.raceFirst(Deferred.await(login.done), Deferred.await(page))
                  )
                ).pipe(
                  Effect.onInterrupt(() => leave(login)),
                  Effect.tapError(() => Effect.sync(() => void (login.users -= 1)))
                )
            )
          )
        }),
      abandon: (server) =>
        Effect.forEach(
          Array.from(waiting.values()).filter(({ target }) => target.server === server),
          (login) => end(login, failed(login.target, "removed", "the server was removed meanwhile")),
          { discard: true }
        ).pipe(Effect.zipRight(Effect.sync(() => context.forget(server)))),
      logout: (target) =>
        Effect.gen(function* () {
          const here = waiting.get(nameOf(target))
          if (here !== undefined) yield* end(here, failed(target, "logged_out", "somebody logged out meanwhile"))
          const loginState = context.memoryOf(target)
          yield* Effect.gen(function* () {
            yield* context.store.save(target, Option.none())
            // not before: a renewal that is under way would bring it back
            loginState.adopt(undefined)
            loginState.stepUps = LoginState.noStepUps
          }).pipe(context.store.exclusively(target))
          context.onEvent(target.server, "logged_out")
          context.onChange(target.server, true)
          // a login that cannot be forgotten must not look as if it were
        }).pipe(Effect.orDie)
    }
  })

const failed = ({ server }: Pick<Key, "server">, reason: string, detail: string): Exit.Exit<never, AuthError> =>
  Exit.fail(new AuthError({ server, reason, detail }))

const closed = (target: Pick<Key, "server">) => failed(target, "closed", "the supervisor was closed meanwhile")

/** Only the end of everything interrupts what was taken. */
const unlessClosed = (target: LoginTarget, exit: Exit.Exit<void, AuthError>): Exit.Exit<void, AuthError> =>
  Exit.isInterrupted(exit) ? closed(target) : exit

const goOn = (server: string): string => `${server} can be used now. You may close this page.`

const nobodyLooks =
  "there is no browser here; begin with `startLogin` and bring its address to a person, or say with `openUrl` how pages are opened"

const notShown = "the page could not be opened; begin with `startLogin` and bring its address to a person"

const notACallback =
  "that is no answer to a login: paste the whole address that the browser ended at, with everything behind the question mark"
