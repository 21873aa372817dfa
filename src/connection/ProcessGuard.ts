/**
 * The port to the guard, a process that ends the servers when the supervisor was killed. The default guards nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export class ProcessGuard extends Context.Reference<ProcessGuard>()("mcp-supervisor/ProcessGuard", {
  defaultValue: (): Service => ({ watch: () => Effect.succeed(noGuard) })
}) {}

export interface Service {
  /**
   * Guards the processes with this tag in their environment (`MCP_SUPERVISOR_RUN`). When the scope closes, the guard exits if
   * no group is left; otherwise it ends the groups that are left.
   */
  readonly watch: (runTag: string) => Effect.Effect<Watch, never, Scope.Scope>
}

/**
 * Reports process groups to the guard. Never throws and never waits: it is used between the decision to start a process and its
 * start.
 */
export interface Watch {
  /**
   * Must be called before a process is started. From then on the guard knows the tag, even if the supervisor is killed
   * immediately.
   */
  readonly prepare: () => void
  /** Reports that a process group was started. */
  readonly started: (group: number) => void
  /** Reports that nothing of a group is left. */
  readonly gone: (group: number) => void
}

export const noGuard: Watch = { prepare: () => {}, started: () => {}, gone: () => {} }
