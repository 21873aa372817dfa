/**
 * Where it is written down which processes are ours, before there are any: if we are killed, the next of us can find what is
 * left of us and nothing else. The default writes nothing.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export class ChildLedger extends Context.Reference<ChildLedger>()("mcp-supervisor/ChildLedger", {
  defaultValue: (): Service => ({ record: () => Effect.void })
}) {}

export interface Service {
  /**
   * Writes down that the processes with this tag in their environment (`MCP_SUPERVISOR_RUN`) are ours, until the scope closes.
   * Ends what owners that are dead have left. Never fails, and takes a few seconds at most.
   */
  readonly record: (runTag: string) => Effect.Effect<void, never, Scope.Scope>
}
