/**
 * A set of servers as somebody wants it, and what applies to all of them.
 */
import type { Diagnostic } from "../Diagnostic.js"
import type { InvalidConfig } from "../Errors/commandErrors.js"
import type * as ServerConfig from "./ServerConfig.js"
import type * as ToolName from "../catalog/ToolName.js"

/**
 * A set of servers as somebody wants it, and what applies to all of them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Desired {
  readonly servers?: Readonly<Record<string, ServerConfig.Input>> | undefined
  /** For keys that a server's entry leaves out. */
  readonly defaults?: ServerConfig.Defaults | undefined
  /** Patterns on `server_tool`: true offers, false hides, the last match wins. Defaults to all offered. */
  readonly tools?: ToolName.Globs | undefined
  /** What single agents see, after all other patterns. */
  readonly agents?: Readonly<Record<string, { readonly tools?: ToolName.Globs | undefined }>> | undefined
  /**
   * Whether a small process ends the servers if the supervisor itself is killed. Read when the supervisor starts, by `layerNode`
   * only; there is none on Windows. Defaults to true.
   */
  readonly guard?: boolean | undefined
  /** Rules for what may be called without asking. They are carried, not applied yet. */
  readonly permission?: unknown
  /** Servers whose declaration nobody has approved yet: they are shown as disabled, and never started. */
  readonly untrusted?: ReadonlyArray<string> | undefined
  /** Servers whose declaration could not be read as far as an entry: they are shown as failed, and never started. */
  readonly unreadable?: Readonly<Record<string, InvalidConfig>> | undefined
  /** What a person should know about it that is about no server in particular. */
  readonly diagnostics?: ReadonlyArray<Diagnostic> | undefined
  /** Why this is no configuration at all: nothing is applied, what runs goes on, and `ConfigRejected` says so. */
  readonly rejected?: InvalidConfig | undefined
}
