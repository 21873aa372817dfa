/**
 * The config files of the supervisor that is controlled, as the API needs them. The default has none.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { EditRefused, InvalidConfig, ServerExists } from "../../domain/Errors.js"
import type { Plan } from "../../domain/server/Plan.js"
import type * as ServerConfig from "../../domain/server/ServerConfig.js"
import { NoConfigFiles } from "../ControlError.js"
import type { Explanation, Trusted } from "../Payload.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Reads all files again and moves to what they say. */
  readonly reload: Effect.Effect<Plan, InvalidConfig | NoConfigFiles>
  /** What they say, secrets hidden. */
  readonly explain: Effect.Effect<Explanation, InvalidConfig | NoConfigFiles>
  /** Approves what the project's files say and the project's directory, or what one of the files says. */
  readonly trust: (file: string | undefined) => Effect.Effect<Omit<Trusted, "plan">, EditRefused | NoConfigFiles>
  /** Writes a server down. */
  readonly add: (
    name: string,
    entry: ServerConfig.Input
  ) => Effect.Effect<void, ServerExists | InvalidConfig | EditRefused | NoConfigFiles>
  /** Where a local server runs that was added without `cwd` and is not written down. Defaults to the working directory. */
  readonly directory?: Effect.Effect<string> | undefined
}

const none = Effect.suspend(() => Effect.fail(new NoConfigFiles()))

/**
 * @since 0.1.0
 * @category tags
 */
export class ConfigAccess extends Context.Reference<ConfigAccess>()("mcp-supervisor/ConfigAccess", {
  defaultValue: (): Service => ({ reload: none, explain: none, trust: () => none, add: () => none })
}) {}
