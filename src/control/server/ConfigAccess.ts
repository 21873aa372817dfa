/**
 * Defines the config operations that the control API needs. By default, a supervisor has no config files.
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
  /** Reads all config files again and reconciles the supervisor with them. */
  readonly reload: Effect.Effect<Plan, InvalidConfig | NoConfigFiles>
  /** Explains the configuration. Secrets are hidden. */
  readonly explain: Effect.Effect<Explanation, InvalidConfig | NoConfigFiles>
  /** Approves the entries of the project's files and the project's directory, or the entries of one file. */
  readonly trust: (file: string | undefined) => Effect.Effect<Omit<Trusted, "plan">, EditRefused | NoConfigFiles>
  /** Writes a server to a config file. */
  readonly add: (
    name: string,
    entry: ServerConfig.Input
  ) => Effect.Effect<void, ServerExists | InvalidConfig | EditRefused | NoConfigFiles>
  /** The directory of a local server that was added without `cwd` and is not saved. Defaults to the working directory. */
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
