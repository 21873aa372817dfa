/**
 * What the commands that change config files have in common.
 */
import * as Effect from "effect/Effect"
import type { Edited } from "../../../config/ConfigFiles.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import type { Shared } from "../../words/spec.js"
import { ifRunning } from "../../supervisor/withSupervisor.js"

/** With `--config`, the last of those files is the one that is changed. */
export const editOptions = (shared: Shared) => {
  const { cwd, files, stateDir } = hostOf(shared)
  return { cwd, stateDir, files: files.slice(0, -1), file: files.at(-1) }
}

/** Says what was done, and waits until a running supervisor has it. */
export const afterEdit = (shared: Shared, edited: Edited, done: string) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    yield* shared.json ? screen.json(edited) : screen.out(edited.changed ? done : `nothing to change in ${edited.file}`)
    if (edited.alsoIn.length > 0) yield* screen.note(`also in ${edited.alsoIn.join(", ")}`)
    // it follows its files by itself: that it is asked only makes sure that it has, so no answer is no failure
    yield* Effect.ignore(ifRunning(shared, (handle) => handle.reload))
  })
