/**
 * Tells the user in which directory the servers of the user's own config run, if it is not the project's directory.
 */
import * as Effect from "effect/Effect"
import type { WorkspaceUse } from "../../config/ConfigFiles.js"
import { hostOf } from "./commandHost.js"
import type { SupervisorHandle } from "./SupervisorHandle.js"
import { Screen } from "../terminal/Screen.js"
import type { Shared } from "../words/spec.js"

/** A sentence if servers do not run in the project's directory because it is not trusted. */
export const directoryNote = (
  { directory, isTrusted, runsIn, servers }: WorkspaceUse,
  /** Only this server. Defaults to all. */
  only?: string | undefined
): string | undefined => {
  const concerned = only === undefined ? servers : servers.filter((name) => name === only)
  if (isTrusted || concerned.length === 0) return undefined
  const shown = concerned.slice(0, 5).join(", ") + (concerned.length > 5 ? `, and ${concerned.length - 5} more` : "")
  return `${shown} run${concerned.length === 1 ? "s" : ""} in ${runsIn}, because ${directory} is not trusted; to run your own servers there: mcp-supervisor trust; or set "cwd"`
}

/** Prints the note for the supervisor that the command used. An unreadable config is reported by the supervisor itself. */
export const noteDirectory = (
  shared: Shared,
  handle: SupervisorHandle,
  only?: string | undefined
): Effect.Effect<void, never, Screen> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    // loaded here, because commands that use the running supervisor need it only for this note
    const ConfigFiles = yield* Effect.promise(() => import("../../config/ConfigFiles.js"))
    const { workspace } = yield* ConfigFiles.load({ ...hostOf(shared), cwd: handle.cwd })
    const note = directoryNote(workspace, only)
    if (note !== undefined) yield* screen.note(note)
  }).pipe(Effect.ignore)
