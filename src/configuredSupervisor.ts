/**
 * Runs a supervisor that applies changes of its config files, and reloads them on request.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { McpAuth } from "./auth/McpAuth.js"
import * as ConfigFiles from "./config/ConfigFiles.js"
import type { ConfigUpdate } from "./domain/server/Desired.js"
import type { InvalidConfig } from "./domain/Errors.js"
import type { Plan } from "./domain/server/Plan.js"
import type { ConfigOptions } from "./McpSupervisor.js"
import { faultPlace } from "./supervision/faults.js"
import { McpSupervisor, type Options, type Shape } from "./supervision/model.js"

export interface ConfiguredSupervisor {
  /** The logins, and the supervisor with a `restart` that reads the config files first. */
  readonly context: Context.Context<McpSupervisor | McpAuth>
  /**
   * Reads all files again, in order with the changes that are watched, and returns the applied plan. If a file is invalid, its
   * last valid content stays in effect and the effect fails.
   */
  readonly reload: Effect.Effect<Plan, InvalidConfig>
}

/**
 * Reads the config files, builds a supervisor from them, and applies each change until the scope is closed.
 *
 * @param build builds the supervisor from the content of the files.
 */
export const configuredSupervisor = <R>(
  options: ConfigOptions<R>,
  build: (options: Options<R>) => Layer.Layer<McpSupervisor | McpAuth, InvalidConfig, R>
): Effect.Effect<ConfiguredSupervisor, InvalidConfig, R | Scope.Scope> =>
  Effect.gen(function* () {
    const { agents, cwd, defaults, files, servers, stateDir, tools, watch = true, ...rest } = options
    const program = { agents, defaults, servers, tools }
    const { applyNext, initial, initialErrors, reapply, reload, ...where } = yield* ConfigFiles.watching(
      { cwd, files, stateDir, program },
      watch
    )
    const roots = cwd === undefined ? undefined : [cwd]
    const context = yield* Layer.build(build({ roots, ...rest, ...initial, stateDir: where.stateDir }))
    const supervisor = Context.get(context, McpSupervisor)
    // `reconcile` publishes what is wrong with an update itself
    const apply = (update: ConfigUpdate) => Effect.either(supervisor.reconcile(update))
    for (const error of initialErrors) yield* apply(Either.left(error))
    yield* applyNext(apply).pipe(
      // a fault loses one change, not those after it; only its place is logged, because its text can contain secrets
      Effect.catchAllDefect((defect) =>
        Effect.annotateLogs(Effect.logError("mcp.config.fault"), "where", faultPlace(Cause.die(defect)))
      ),
      Effect.forever,
      Effect.forkScoped
    )
    return {
      context: Context.add(context, McpSupervisor, readingFilesBeforeRestart(supervisor, reload(apply))),
      // a rejected update has priority over one that was applied in the same reload
      reload: Effect.flatMap(reapply(apply), (outcomes) => outcomes.find(Either.isLeft) ?? outcomes.at(-1)!)
    }
  })

/**
 * Replaces `restart`: it reads the config files first, so that a server restarts with its current entry even if the files are
 * not watched. If a file is invalid, this is published as `ConfigRejected`, and the server restarts with its last valid entry.
 */
const readingFilesBeforeRestart = (supervisor: Shape, readFiles: Effect.Effect<void>): Shape => ({
  ...supervisor,
  restart: (name) => Effect.zipRight(readFiles, supervisor.restart(name))
})
