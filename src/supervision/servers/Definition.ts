/**
 * The definition of a server: its decoded config, its settings and its diagnostics.
 */
import type { Diagnostic } from "../../domain/Diagnostic.js"
import type * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { Origin } from "../../domain/server/ServerSnapshot.js"

export interface Definition {
  readonly name: string
  readonly origin: Origin
  /** Absent if the entry is invalid; then `settings.invalid` contains the reason. */
  readonly config: ServerConfig | undefined
  readonly settings: Lifecycle.Settings
  /** Diagnostics about the entry. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/** Whether the server stays disabled until a command or another config enables it. Such a server needs no actor. */
export const isInactive = ({ settings }: Definition): boolean => settings.disabled !== undefined
