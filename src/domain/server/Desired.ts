/**
 * The servers and settings that a config asks for.
 */
import type * as Either from "effect/Either"
import type { Diagnostic } from "../Diagnostic.js"
import type { InvalidConfig } from "../Errors/commandErrors.js"
import type * as ServerConfig from "./ServerConfig.js"
import type * as ToolName from "../catalog/ToolName.js"

/**
 * The servers and settings that a config asks for. The supervisor makes the running servers equal to it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Desired {
  readonly servers?: Readonly<Record<string, ServerConfig.Input>> | undefined
  /** Settings for keys that the entry of a server omits. */
  readonly defaults?: ServerConfig.Defaults | undefined
  /** Patterns on `server_tool`: true offers, false hides, the last match wins. Defaults to all offered. */
  readonly tools?: ToolName.Globs | undefined
  /** Patterns for single agents, applied after all other patterns. */
  readonly agents?: Readonly<Record<string, { readonly tools?: ToolName.Globs | undefined }>> | undefined
  /**
   * Whether a small process ends the servers if the supervisor itself is killed. Read when the supervisor starts, by `layerNode`
   * only; there is none on Windows. Defaults to true.
   */
  readonly guard?: boolean | undefined
  /** Rules for calls that need no approval. They are read and not applied yet. */
  readonly permission?: unknown
  /** Servers whose declaration is not trusted: they are shown as disabled and never started. */
  readonly untrusted?: ReadonlyArray<string> | undefined
  /** Servers whose entry cannot be parsed: they are shown as failed and never started. */
  readonly unreadable?: Readonly<Record<string, InvalidConfig>> | undefined
  /** Warnings that concern no single server. */
  readonly diagnostics?: ReadonlyArray<Diagnostic> | undefined
}

/**
 * The result of reading the config again: what it asks for, or why it is invalid. An invalid config changes nothing.
 *
 * @since 0.1.0
 * @category models
 */
export type ConfigUpdate = Either.Either<Desired, InvalidConfig>
