/**
 * What all connections of one connector share.
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
  /** For what must not wait while somebody is asked. */
  readonly steadyClocks: Clocks.Clocks
  readonly strays: StrayProcesses.StrayProcesses
  /** The tag of the next process. Available when the run is recorded, so that no process is started before that. */
  readonly nextTag: Effect.Effect<Tag>
  /** The PATH of the user's login shell, if it is wanted and known. */
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

/** The guard is closed last: it is told that all groups are gone. */
const guardOf = (runTag: string) =>
  Effect.gen(function* () {
    const guard = yield* Effect.flatMap(ProcessGuard, ({ watch }) => watch(runTag))
    // a guard marks its supervisor: another supervisor that cleans up spares this one, although it carries that one's tag
    if (InheritedRun.get() !== undefined) guard.prepare()
    return guard
  })

/** Begins to record the run and does not wait for the disk: only the start of a process waits. */
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

/** A host without a user or a shell has no login PATH either. It is asked once: whoever gives up waiting must not spoil it. */
const pathOfLogin = Effect.try(() => userInfo().shell).pipe(
  Effect.orElseSucceed(() => null),
  Effect.flatMap((shell) =>
    shell === null
      ? Effect.succeed(Option.none<string>())
      : loginPath({ shell, env: InheritedRun.without(process.env) })
  ),
  Effect.map(Option.getOrUndefined)
)
