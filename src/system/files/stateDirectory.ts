/**
 * Checks that no other user can write to the state directory or replace it.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import { variables } from "../environment.js"
import { assertOwnDirectories, assertSafeDirectory } from "./directoryOwnership.js"
import { type Unsafe, UnsafePath } from "./ownership.js"
import { codeOf } from "./wholeFile.js"

/** The state directory is rejected, because another user could change its content. */
export class UnsafeStateDir extends Data.TaggedError("UnsafeStateDir")<{
  readonly stateDir: string
  /** The unsafe directory: the state directory itself, one of its parents, or one in it. */
  readonly path: string
  readonly code: Unsafe
  readonly problem: string
}> {
  override get message(): string {
    const subject = this.path === this.stateDir ? this.path : `${this.stateDir} is not safe: ${this.path}`
    return `the state directory ${subject} ${this.problem}; ${this.advice}`
  }

  private get advice(): string {
    if (this.code === "WRITABLE_BY_OTHERS") return `check what is in it, then run: chmod go-w ${this.path}`
    if (this.code === "LINK") return "check where it leads, then replace the link by a directory"
    return `choose another one with --state-dir or ${variables.stateDir}`
  }
}

/** The directories that the supervisor creates in the state directory. */
const ownDirectories = ["backups", "catalog", "children", "locks"]

/**
 * Fails if the directory is unsafe. A missing directory is safe, because it is created with access for the user only. Other
 * system errors are logged and ignored: the operation that uses the directory reports them.
 */
export const check = (stateDir: string): Effect.Effect<void, UnsafeStateDir> =>
  Effect.suspend(() => {
    try {
      assertSafeDirectory(stateDir)
      assertOwnDirectories(stateDir, ownDirectories)
      return Effect.void
    } catch (error) {
      return error instanceof UnsafePath
        ? Effect.fail(new UnsafeStateDir({ stateDir, path: error.path, code: error.code, problem: error.problem }))
        : Effect.logDebug("mcp.state.unchecked").pipe(Effect.annotateLogs({ directory: stateDir, code: codeOf(error) }))
    }
  })
