/**
 * The state that all connections of one connector share: process groups, HTTP pool, clocks and tags.
 */
import { randomUUID } from "node:crypto"
import { userInfo } from "node:os"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { version } from "../domain/internal/version.js"
import { ChildLedger, type Groups } from "./ChildLedger.js"
import * as Clocks from "./session/Clocks.js"
import type { Options } from "./Connector.js"
import * as HttpClient from "./http/HttpClient.js"
import * as InheritedRun from "./process/inheritedRun.js"
import { loginPath } from "./stdio/LoginPath.js"
import * as ProcessGroups from "./process/ProcessGroups.js"
import { ProcessGuard, type Watch } from "./ProcessGuard.js"
import * as SharedScopes from "./session/sharedScopes.js"
import type { Tag } from "./stdio/StdioCommand.js"
import * as StrayProcesses from "./process/StrayProcesses.js"

export interface ConnectorContext {
  readonly clientInfo: { readonly name: string; readonly version: string }
  readonly groups: ProcessGroups.ProcessGroups
  readonly http: HttpClient.Pool
  readonly scopes: SharedScopes.SharedScopes
  /** Clocks that keep running while a handler is asked. */
  readonly steadyClocks: Clocks.Clocks
  readonly strays: StrayProcesses.StrayProcesses
  /** Gives the tag of the next process. Waits until the run is recorded, so that no process starts before that. */
  readonly nextTag: Effect.Effect<Tag>
  /** The PATH of the user's login shell, or undefined if the option is off or the PATH cannot be determined. */
  readonly loginPath: Effect.Effect<string | undefined>
}

export const makeConnectorContext = (options: Options): Effect.Effect<ConnectorContext, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runTag = randomUUID()
    const guard = yield* guardOf(runTag)
    const ledger = yield* recordRun(runTag)
    const watch: Watch = {
      prepare: guard.prepare,
      started: (group) => {
        guard.started(group)
        ledger.groups().started(group)
      },
      gone: (group) => {
        guard.gone(group)
        ledger.groups().gone(group)
      }
    }
    return {
      clientInfo: options.clientInfo ?? { name: "mcp-supervisor", version },
      groups: yield* ProcessGroups.make(watch),
      http: yield* HttpClient.pool,
      scopes: SharedScopes.make(),
      steadyClocks: Clocks.make(Clocks.nodeTimer),
      strays: StrayProcesses.make(),
      nextTag: ledger.nextTag,
      loginPath:
        options.loginPath === true
          ? yield* Effect.cached(Effect.uninterruptible(pathOfLogin))
          : Effect.succeed(undefined)
    }
  })

/** Starts to watch this run. Acquired first and therefore closed last, when all groups have been reported gone. */
const guardOf = (runTag: string) =>
  Effect.gen(function* () {
    const guard = yield* Effect.flatMap(ProcessGuard, ({ watch }) => watch(runTag))
    // A guard marks this process as a supervisor. Without the mark, the cleanup of the outer supervisor would end this process,
    // because it carries the tag of the outer run.
    if (InheritedRun.get() !== undefined) guard.prepare()
    return guard
  })

/** Starts to record the run in the background. Only the start of a process waits for the disk. */
const recordRun = (run: string) =>
  Effect.gen(function* () {
    const { record } = yield* ChildLedger
    let groups: Groups = { started: () => {}, gone: () => {} }
    const recording = yield* record(run).pipe(
      Effect.map((recorded) => {
        groups = recorded
      }),
      Effect.interruptible,
      Effect.forkScoped
    )
    let children = 0
    return {
      groups: () => groups,
      nextTag: Effect.map(Fiber.await(recording), (): Tag => {
        children += 1
        return { run, child: String(children) }
      })
    }
  })

/**
 * The PATH of the login shell; undefined without a user or a shell. It is computed once and uninterruptibly: a caller that is
 * interrupted must not leave a failed result in the cache.
 */
const pathOfLogin = Effect.try(() => userInfo().shell).pipe(
  Effect.orElseSucceed(() => null),
  Effect.flatMap((shell) =>
    shell === null
      ? Effect.succeed(Option.none<string>())
      : loginPath({ shell, env: InheritedRun.without(process.env) })
  ),
  Effect.map(Option.getOrUndefined)
)
