/**
 * The port that records which processes belong to this supervisor, before they start. After a crash, the next supervisor uses
 * the record to end the leftover processes and no others. The default records nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Watch } from "./ProcessGuard.js"

export class ChildLedger extends Context.Reference<ChildLedger>()("mcp-supervisor/ChildLedger", {
  defaultValue: (): Service => ({ record: () => Effect.succeed({ started: () => {}, gone: () => {} }) })
}) {}

export interface Service {
  /**
   * Records that the processes with this tag in their environment (`MCP_SUPERVISOR_RUN`) belong to this supervisor, until the
   * scope closes. The record stays if groups are left at that moment. Also ends the processes that dead owners have left. Never
   * fails, and takes a few seconds at most.
   */
  readonly record: (runTag: string) => Effect.Effect<Groups, never, Scope.Scope>
}

/**
 * The process groups that were started. A supervisor process is ended only if it is in a group that was started for it; any
 * other supervisor process is spared.
 */
export type Groups = Pick<Watch, "started" | "gone">
