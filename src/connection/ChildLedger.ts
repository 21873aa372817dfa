/**
 * Where it is written down which processes are ours, before there are any: if we are killed, the next of us can find what is
 * left of us and nothing else. The default writes nothing.
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
   * Writes down that the processes with this tag in their environment (`MCP_SUPERVISOR_RUN`) are ours, until the scope closes.
   * If groups are left then, it stays written. Ends what owners that are dead have left. Never fails, and takes a few seconds
   * at most.
   */
  readonly record: (runTag: string) => Effect.Effect<Groups, never, Scope.Scope>
}

/** The process groups that were started. A supervisor is ended with the group that was started for it, and spared elsewhere. */
export type Groups = Pick<Watch, "started" | "gone">
