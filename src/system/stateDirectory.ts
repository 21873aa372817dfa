/**
 * Whether the state directory is safe to use, as ssh checks its own: it belongs to the user, and no other user can write it.
 */
import { lstat, stat } from "node:fs/promises"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { rejectUnsafe, type Unsafe, UnsafePath, unsafeOwner } from "./ownership.js"
import { codeOf } from "./wholeFile.js"

/** The state directory is not used, because another user could decide what it says. */
export class UnsafeStateDir extends Data.TaggedError("UnsafeStateDir")<{
  readonly stateDir: string
  readonly code: Unsafe
  readonly problem: string
}> {
  override get message(): string {
    const advice =
      this.code === "WRITABLE_BY_OTHERS"
        ? `check what is in it, then run: chmod go-w ${this.stateDir}`
        : "choose another one with --state-dir or MCP_SUPERVISOR_STATE_DIR"
    return `the state directory ${this.stateDir} ${this.problem}; ${advice}`
  }
}

/**
 * Fails if the directory is unsafe. A missing directory is safe, because it is made for the user alone. Any other error of the
 * system is left to the operation that meets it.
 */
export const check = (stateDir: string): Effect.Effect<void, UnsafeStateDir> =>
  Effect.tryPromise({ try: () => inspect(stateDir), catch: (error) => error }).pipe(
    Effect.catchAll((error) =>
      error instanceof UnsafePath
        ? Effect.fail(new UnsafeStateDir({ stateDir, code: error.code, problem: error.problem }))
        : Effect.logDebug("mcp.state.unchecked").pipe(Effect.annotateLogs({ directory: stateDir, code: codeOf(error) }))
    )
  )

const inspect = async (path: string): Promise<void> => {
  const entry = await lstat(path)
  // the mode of a link has no meaning, its owner does
  if (entry.isSymbolicLink()) rejectUnsafe(path, entry, unsafeOwner({ uid: entry.uid, mode: 0 }))
  const found = entry.isSymbolicLink() ? await stat(path) : entry
  rejectUnsafe(path, found, found.isDirectory() ? unsafeOwner(found) : undefined)
}
