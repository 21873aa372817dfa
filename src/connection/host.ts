/**
 * What all connections of one connector share.
 */
import { randomUUID } from "node:crypto"
import { userInfo } from "node:os"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { version } from "../domain/version.js"
import { ChildLedger } from "./ChildLedger.js"
import * as Clocks from "./Clocks.js"
import type { Options } from "./Connector.js"
import * as HttpClient from "./HttpClient.js"
import { loginPath } from "./LoginPath.js"
import * as ProcessGroups from "./ProcessGroups.js"
import * as Scopes from "./Scopes.js"

export interface Host {
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly groups: ProcessGroups.ProcessGroups
  readonly http: HttpClient.Pool
  readonly scopes: Scopes.Scopes
  /** For what must not wait while somebody is asked. */
  readonly steadyClocks: Clocks.Clocks
  /** Every process of ours can be told by it. Given when it is written down, so that no process comes before that. */
  readonly runTag: Effect.Effect<string>
  /** The PATH of the user's login shell, if it is wanted and known. */
  readonly loginPath: Effect.Effect<string | undefined>
}

export const makeHost = (options: Options): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.gen(function* () {
    return {
      clientInfo: options.clientInfo ?? { name: "mcp-supervisor", version },
      groups: yield* ProcessGroups.make,
      http: yield* HttpClient.pool,
      scopes: Scopes.make(),
      steadyClocks: Clocks.make(Clocks.nodeTimer),
      runTag: yield* recordRun,
      loginPath:
        options.loginPath === true
          ? yield* Effect.cached(Effect.uninterruptible(pathOfLogin))
          : Effect.succeed(undefined)
    }
  })

/** Begins to write it down, and does not wait for the disk: only those wait who start a process. */
const recordRun = Effect.gen(function* () {
  const runTag = randomUUID()
  const { record } = yield* ChildLedger
  const recording = yield* record(runTag).pipe(Effect.interruptible, Effect.forkScoped)
  return Effect.as(Fiber.await(recording), runTag)
})

/** A host without a user or a shell has no login PATH either. It is asked once: whoever gives up waiting must not spoil it. */
const pathOfLogin = Effect.try(() => userInfo().shell).pipe(
  Effect.orElseSucceed(() => null),
  Effect.flatMap((shell) =>
    shell === null ? Effect.succeed(Option.none<string>()) : loginPath({ shell, env: process.env })
  ),
  Effect.map(Option.getOrUndefined)
)
