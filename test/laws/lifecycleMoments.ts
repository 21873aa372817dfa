/** Checks laws on every moment of generated histories of one server. */
import { FastCheck as fc } from "effect"
import { Lifecycle } from "../../src/index.js"
import { history, live, type Moment } from "./lifecycleHistory.js"
import { runs } from "./runs.js"

export const often = runs(300)

/** Checks every step of many histories. */
export const always = (check: (moment: Moment) => void) =>
  fc.assert(
    fc.property(history, ({ moves, settings }) => live(settings, moves).moments.forEach(check)),
    often
  )

/** Whether a command could start the server: not without trust, nor with an invalid config. */
export const mayRun = ({ phase, settings }: Lifecycle.State) =>
  phase._tag !== "Removed" && settings.disabled !== "trust" && settings.invalid === undefined

export const isRunning = ({ phase }: Lifecycle.State) => phase._tag === "Seeking" || phase._tag === "Serving"

export const tagsOf = (actions: ReadonlyArray<Lifecycle.Action>) => actions.map(({ _tag }) => _tag)
