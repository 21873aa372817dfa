/**
 * Provides what all commands that change config files need.
 */
import * as Effect from "effect/Effect"
import type { Edited } from "../../../config/ConfigFiles.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import type { Shared } from "../../words/spec.js"
import { ifRunning } from "../../supervisor/withSupervisor.js"

/** With `--config`, the last of these files is changed. */
export const editOptions = (shared: Shared) => {
  const { cwd, files, stateDir } = hostOf(shared)
  return { cwd, stateDir, files: files.slice(0, -1), file: files.at(-1) }
}

/** Prints the change, and waits until a running supervisor has applied it. */
export const afterEdit = (shared: Shared, edited: Edited, message: string) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    yield* shared.json ? screen.json(edited) : screen.out(edited.changed ? message : `${edited.file} needs no change`)
    if (edited.alsoIn.length > 0) yield* screen.note(`also declared in ${edited.alsoIn.join(", ")}`)
    // The supervisor watches its files. The request only makes the command wait, so its failure is ignored.
    yield* Effect.ignore(ifRunning(shared, (handle) => handle.reload))
  })
