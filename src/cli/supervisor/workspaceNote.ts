/**
 * Which directory the user's own servers run in, for a person who may expect another.
 */
import * as Effect from "effect/Effect"
import type { WorkspaceUse } from "../../config/ConfigFiles.js"
import { hostOf } from "./commandHost.js"
import type { SupervisorHandle } from "./SupervisorHandle.js"
import { Screen } from "../terminal/Screen.js"
import type { Shared } from "../words/spec.js"

/** One sentence, where they do not run in the project's directory because it is not trusted. */
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

/** Says so for the supervisor that was asked. A config that cannot be read is reported elsewhere. */
export const noteDirectory = (
  shared: Shared,
  handle: SupervisorHandle,
  only?: string | undefined
): Effect.Effect<void, never, Screen> =>
  Effect.gen(function* () {
    const screen = yield* Screen
    // a command that asks the running supervisor has no need of it before
    const ConfigFiles = yield* Effect.promise(() => import("../../config/ConfigFiles.js"))
    const { workspace } = yield* ConfigFiles.load({ ...hostOf(shared), cwd: handle.cwd })
    const note = directoryNote(workspace, only)
    if (note !== undefined) yield* screen.note(note)
  }).pipe(Effect.ignore)
