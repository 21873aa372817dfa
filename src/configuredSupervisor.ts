/**
 * A supervisor that follows its config files, and the one way to have them read again.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { McpAuth } from "./auth/McpAuth.js"
import * as ConfigFiles from "./config/ConfigFiles.js"
import type { Desired } from "./domain/server/Desired.js"
import type { InvalidConfig } from "./domain/Errors.js"
import type { Plan } from "./domain/server/Plan.js"
import type { ConfigOptions } from "./McpSupervisor.js"
import { faultPlace } from "./supervision/faults.js"
import { McpSupervisor, type Options, type Shape } from "./supervision/model.js"

export interface ConfiguredSupervisor {
  readonly context: Context.Context<McpSupervisor | McpAuth>
  /**
   * Reads all files again, in turn with the changes that are followed, and says what came of it. Where a file is no use, what
   * it said before goes on, and that is the answer.
   */
  readonly reload: Effect.Effect<Plan, InvalidConfig>
}

/** @param build what supervises, given what the files say. */
export const configuredSupervisor = <R>(
  options: ConfigOptions<R>,
  build: (options: Options<R>) => Layer.Layer<McpSupervisor | McpAuth, InvalidConfig, R>
): Effect.Effect<ConfiguredSupervisor, InvalidConfig, R | Scope.Scope> =>
  Effect.gen(function* () {
    const { agents, cwd, defaults, files, servers, stateDir, tools, watch = true, ...rest } = options
    const program = { agents, defaults, servers, tools }
    const { first, next, problems, reapply, reload, ...where } = yield* ConfigFiles.following(
      { cwd, files, stateDir, program },
      watch
    )
    const roots = cwd === undefined ? undefined : [cwd]
    const context = yield* Layer.build(build({ roots, ...rest, ...first.desired, stateDir: where.stateDir }))
    const supervisor = Context.get(context, McpSupervisor)
    // what is wrong is published by the one who is asked to apply it
    const apply = (desired: Desired) => Effect.ignore(supervisor.reconcile(desired))
    for (const rejected of problems) yield* apply({ rejected })
    yield* next(apply).pipe(
      // a fault costs one change, not all that come after it; its text may hold anything
      Effect.catchAllDefect((defect) =>
        Effect.annotateLogs(Effect.logError("mcp.config.fault"), "where", faultPlace(Cause.die(defect)))
      ),
      Effect.forever,
      Effect.forkScoped
    )
    const restart: Shape["restart"] = (name) => Effect.zipRight(reload(apply), supervisor.restart(name))
    return {
      context: Context.add(context, McpSupervisor, { ...supervisor, restart }),
      reload: Effect.suspend(() => {
        const outcomes: Array<Either.Either<Plan, InvalidConfig>> = []
        const applied = (desired: Desired) =>
          Effect.map(Effect.either(supervisor.reconcile(desired)), (outcome) => void outcomes.push(outcome))
        // one that was refused counts more than one that was applied beside it
        return Effect.flatMap(reapply(applied), () => outcomes.find(Either.isLeft) ?? outcomes.at(-1)!)
      })
    }
  })
