/**
 * The port to a process that outlives the supervisor and ends its servers if the supervisor dies. The default guards nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export class ProcessGuard extends Context.Reference<ProcessGuard>()("mcp-supervisor/ProcessGuard", {
  defaultValue: (): Service => ({ watch: () => Effect.succeed(noGuard) })
}) {}

export interface Service {
  /**
   * Guards the processes with this tag in their environment (`MCP_SUPERVISOR_RUN`). When the scope closes and no group is left,
   * the guard ends; with groups left, it ends them.
   */
  readonly watch: (runTag: string) => Effect.Effect<Watch, never, Scope.Scope>
}

/** Never throws and never waits: it is used between the decision to start a process and its start. */
export interface Watch {
  /** Must be called before a process is started. The guard knows the tag from then on, even if we are killed at once. */
  readonly prepare: () => void
  /** A process group was started. */
  readonly started: (group: number) => void
  /** Nothing of a group is left. */
  readonly gone: (group: number) => void
}

export const noGuard: Watch = { prepare: () => {}, started: () => {}, gone: () => {} }
