/**
 * Saves new tokens. Renewed tokens that cannot be saved are used anyway, and saved as soon as this is possible.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { defined } from "../../domain/internal/defined.js"
import type { AuthContext } from "../AuthContext.js"
import type { LoginState } from "../login/LoginState.js"
import type { LoginTarget } from "../login/LoginTarget.js"
import type { Granted } from "../oauth/sdkOAuth.js"
import type { Credential, Tokens } from "./Credential.js"
import type { Key, Service as Store, StoreFailed } from "./credentialStorePort.js"

const shortestPause = "1 second"
const longestPause = "1 minute"

/** Saves the tokens of a new login, and uses them once they are saved. */
export const saveLogin = Effect.fnUntraced(function* (
  context: AuthContext,
  target: LoginTarget,
  before: Credential,
  granted: Granted
) {
  const loginState = context.loginState(target)
  const next = yield* withTokens(before, granted)
  yield* context.store.save(target, Option.some(next))
  loginState.latestToken = next.tokens.accessToken
  loginState.adopt(next)
})

/** Uses renewed tokens, which replace invalid ones, and saves them. */
export const saveRenewed = Effect.fnUntraced(function* (
  context: AuthContext,
  target: LoginTarget,
  before: Credential,
  granted: Granted
) {
  const loginState = context.loginState(target)
  const next = yield* withTokens(before, granted)
  const stored = loginState.unsaved === undefined ? before.tokens : loginState.unsaved.stored
  loginState.latestToken = next.tokens.accessToken
  loginState.adopt(next)
  // Set before saving: a concurrent read of the store returns the tokens from before.
  const unsaved = { tokens: next.tokens, stored }
  loginState.unsaved = unsaved
  yield* Effect.matchEffect(context.store.save(target, Option.some(next)), {
    onFailure: ({ detail }) =>
      Effect.logWarning("mcp.auth.tokens_not_saved").pipe(
        Effect.annotateLogs({ "mcp.server": target.server, reason: detail }),
        Effect.zipRight(Effect.sync(() => context.forkIn(context.scope)(saveLater(context, target))))
      ),
    onSuccess: () => Effect.sync(() => markSaved(loginState, unsaved))
  })
})

/** Saves the unsaved tokens, unless newer ones are stored. The caller holds the lock of the login. */
export const saveUnsaved = Effect.fnUntraced(function* (
  store: Store,
  { server, serverUrl }: Key,
  loginState: LoginState
): Effect.fn.Return<void, StoreFailed> {
  if (loginState.unsaved === undefined) return
  const stored = Option.getOrUndefined(yield* store.load({ server, serverUrl }))
  loginState.adoptStored(stored)
  const { unsaved } = loginState
  if (unsaved === undefined) return
  const next = { ...loginState.credential(), ...stored, server, serverUrl, tokens: unsaved.tokens }
  yield* store.save({ server, serverUrl }, Option.some(next))
  markSaved(loginState, unsaved)
})

const markSaved = (loginState: LoginState, saved: LoginState["unsaved"]) => {
  if (loginState.unsaved === saved) loginState.unsaved = undefined
}

const saveLater = (context: AuthContext, target: LoginTarget): Effect.Effect<void> =>
  Effect.suspend(() => saveUnsaved(context.store, target, context.loginState(target))).pipe(
    context.store.exclusively(target),
    Effect.retry(Schedule.union(Schedule.exponential(shortestPause), Schedule.spaced(longestPause))),
    Effect.ignore,
    Effect.delay(shortestPause)
  )

const withTokens = (before: Credential, granted: Granted): Effect.Effect<Credential & { readonly tokens: Tokens }> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    ...before,
    tokens: {
      accessToken: granted.accessToken,
      ...defined({
        refreshToken: granted.refreshToken,
        expiresAt: granted.expiresIn === undefined ? undefined : now + granted.expiresIn * 1000,
        // A response without a scope grants the requested scope (RFC 6749 §5.1).
        scope: granted.scope ?? before.tokens?.scope
      })
    }
  }))
