/**
 * The actions of the lifecycle, computed from the difference between two states.
 */
import * as ServerStatus from "../ServerStatus.js"
import type { ListKind } from "../../catalog/Protocol.js"
import { opening, type State, type Timer, timers } from "./State.js"
import { replacement, type Replacement, status } from "./publicStatus.js"

/**
 * An action for the runtime, as data.
 *
 * @since 0.1.0
 * @category models
 */
export type Action =
  /** Closes the link, whatever its state, and reports `Released`. */
  | { readonly _tag: "Close"; readonly generation: number }
  /** Sends no more calls to the link, lets its pending calls finish, and reports `Drained`. */
  | { readonly _tag: "Drain"; readonly generation: number }
  /** Cancels a timer that is no longer needed or has just fired. */
  | { readonly _tag: "CancelTimer"; readonly timer: number }
  | { readonly _tag: "ScheduleTimer"; readonly timer: Timer }
  /** Starts an attempt. */
  | { readonly _tag: "Open"; readonly generation: number }
  /** Fetches one list of the serving link again. */
  | { readonly _tag: "RefreshCatalog"; readonly generation: number; readonly list: ListKind }
  | {
      readonly _tag: "PublishStatus"
      readonly from: ServerStatus.ServerStatus
      readonly to: ServerStatus.ServerStatus
    }
  | { readonly _tag: "PublishReplacement"; readonly replacement: Replacement | undefined }

/** The actions on links and timers that lead from one state to the other. */
export const linkActions = (before: State, after: State): ReadonlyArray<Action> => [
  ...closes(before, after),
  ...drains(before, after),
  ...timerChanges(before, after),
  ...opens(before, after)
]

/** The changes to publish. */
export const publishActions = (before: State, after: State): ReadonlyArray<Action> => {
  const actions: Array<Action> = []
  // a removed server has no status
  if (after.phase._tag === "Removed") return actions
  const from = status(before)
  const to = status(after)
  if (!ServerStatus.equals(from, to)) actions.push({ _tag: "PublishStatus", from, to })
  const now = replacement(after)
  if (!sameReplacement(replacement(before), now)) actions.push({ _tag: "PublishReplacement", replacement: now })
  return actions
}

const closes = (before: State, after: State): ReadonlyArray<Action> =>
  after.closing
    .filter((generation) => !before.closing.includes(generation))
    .map((generation) => ({ _tag: "Close", generation }))

const drains = (before: State, { draining }: State): ReadonlyArray<Action> =>
  draining === undefined || draining.generation === before.draining?.generation
    ? []
    : [{ _tag: "Drain", generation: draining.generation }]

const opens = (before: State, after: State): ReadonlyArray<Action> => {
  const generation = opening(after)
  return generation === undefined || generation === opening(before) ? [] : [{ _tag: "Open", generation }]
}

const timerChanges = (before: State, after: State): ReadonlyArray<Action> => {
  const old = timers(before)
  const now = timers(after)
  const gone = old.filter((timer) => !now.some(({ id }) => id === timer.id))
  const added = now.filter((timer) => !old.some(({ id }) => id === timer.id))
  return [
    ...gone.map(({ id }): Action => ({ _tag: "CancelTimer", timer: id })),
    ...added.map((timer): Action => ({ _tag: "ScheduleTimer", timer }))
  ]
}

/** An attempt fails once, so an equal failure also has an equal time of retry. */
const sameReplacement = (a: Replacement | undefined, b: Replacement | undefined): boolean =>
  a?.generation === b?.generation && a?.error === b?.error
