/** Runs a supervisor in this process, with test servers. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import * as McpSupervisor from "../../src/McpSupervisor.js"

export const workerFile = fileURLToPath(new URL("./worker.mjs", import.meta.url))

/** `journal` is a directory for the tags of the executed calls. */
export const worker = (mark: string, journal?: string) => ({
  command: process.execPath,
  args: [workerFile, mark, ...(journal === undefined ? [] : [journal])]
})

/** Runs a supervisor during an effect. Returns how long its shutdown took. */
export const supervised = async <A>(
  servers: NonNullable<McpSupervisor.Options["servers"]>,
  use: (supervisor: McpSupervisor.Shape) => Promise<A>
): Promise<{ readonly value: A; readonly closeMs: number }> => {
  const stateDir = mkdtempSync(join(tmpdir(), "mcp-campaign-"))
  const scope = Effect.runSync(Scope.make())
  try {
    const context = await Effect.runPromise(
      Layer.buildWithScope(McpSupervisor.layerNode({ stateDir, servers }), scope).pipe(
        Effect.provide(Logger.remove(Logger.defaultLogger))
      )
    )
    const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
    await Effect.runPromise(supervisor.awaitSettled({ timeout: "30 seconds" }))
    const value = await use(supervisor)
    const begin = performance.now()
    await Effect.runPromise(Scope.close(scope, Exit.void))
    return { value, closeMs: Math.round(performance.now() - begin) }
  } finally {
    await Effect.runPromise(Scope.close(scope, Exit.void))
    rmSync(stateDir, { recursive: true, force: true })
  }
}

export const textOf = (result: { readonly content: ReadonlyArray<object> }): string =>
  (result.content[0] as { readonly text?: string } | undefined)?.text ?? ""
