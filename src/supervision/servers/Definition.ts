/**
 * A server as it is to run, in the words of the supervisor.
 */
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { Origin } from "../../domain/server/ServerSnapshot.js"

export interface Definition {
  readonly name: string
  readonly origin: Origin
  /** Absent if its entry cannot be used; then `settings.invalid` says why. */
  readonly config: ServerConfig | undefined
  readonly settings: Lifecycle.Settings
  /** What a person should know about its entry. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/** Whether nothing happens to the server until a command or another config asks for it: it needs no actor before that. */
export const isInactive = ({ settings }: Definition): boolean => settings.disabled !== undefined
