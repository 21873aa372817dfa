/**
 * The life of one server as a state machine. This is the definition: the runtime interprets its actions, the diagram in
 * the docs is drawn from it, and the laws are proven of it. It decides and never acts.
 *
 * The way of a link: `Open` is answered by `Opened` or `Lost`; an open link ends by `Lost`, or is told to `Drain` (answered
 * by `Drained`) or to `Close`; after `Close` comes `Released` when nothing of it is left. Nothing opens while something
 * closes, so that a server never has more than three links: one that serves, one being opened, one draining.
 *
 * Outside semantic versioning: it may change with any release.
 *
 * @since 0.1.0
 */
import { type Action, newsBetween, workBetween } from "./Lifecycle/Action.js"
import type { Event } from "./Lifecycle/Event.js"
import { attempt, routed, type Settings, type State } from "./Lifecycle/State.js"
import { begun, blank, transition } from "./Lifecycle/transition.js"

export type { Action } from "./Lifecycle/Action.js"
export * from "./Lifecycle/Event.js"
export {
  type Draining,
  isFinished,
  isRemoved,
  LinkInfo,
  type Opening,
  opening,
  type Phase,
  type Pursuit,
  pursuit,
  type Routed,
  routed,
  Settings,
  type State,
  type Streak,
  type Timer,
  timers
} from "./Lifecycle/State.js"
export { type Replacement, replacement, status } from "./Lifecycle/publicStatus.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly state: State
  /** In the order in which they are to be started. */
  readonly actions: ReadonlyArray<Action>
}

/**
 * The life of a server that was just added.
 *
 * @since 0.1.0
 * @category machine
 */
export const start = (settings: Settings, at: number): Step => {
  const before = blank(settings, at)
  const state = begun(before, at)
  return { state, actions: workBetween(before, state) }
}

/**
 * What an event makes of a state, and what is to be done about it. Total: an event that does not concern the state, or
 * comes from a link that is gone, changes nothing.
 *
 * @since 0.1.0
 * @category machine
 */
export const step = (state: State, event: Event): Step => {
  const next = transition(state, event)
  return {
    state: next,
    actions: [...workBetween(state, next), ...refreshes(state, next, event), ...newsBetween(state, next)]
  }
}

/** A list that changed is fetched again, also when it did so while the link was still being opened. */
const refreshes = (before: State, after: State, event: Event): ReadonlyArray<Action> => {
  if (!("generation" in event) || event.generation !== routed(after)?.generation) return []
  const { generation } = event
  if (event._tag === "ListChanged") return [{ _tag: "RefreshCatalog", generation, list: event.list }]
  const opened = attempt(before)
  const lists = opened?.generation === generation ? opened.stale : []
  return lists.map((list) => ({ _tag: "RefreshCatalog", generation, list }))
}
