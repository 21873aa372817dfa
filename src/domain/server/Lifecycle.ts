/**
 * Defines the lifecycle of one server as a pure state machine. The runtime executes its actions, the diagram in the docs is drawn from
 * it, and the laws are checked against it.
 *
 * The actions and events of a link: `Open` leads to `Opened` or `Lost`. An open link ends by `Lost`, by `Drain` (which leads to
 * `Drained`) or by `Close`. `Close` leads to `Released` when nothing of the link is left. No link opens while another one closes, so a
 * server has at most three links: one serving, one opening, one draining.
 *
 * It is outside semantic versioning.
 *
 * @since 0.1.0
 */
import { type Action, publishActions, linkActions } from "./Lifecycle/Action.js"
import type { Event } from "./Lifecycle/Event.js"
import { attempt, routed, type Settings, type State } from "./Lifecycle/State.js"
import { started, unstarted, transition } from "./Lifecycle/transition.js"

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
  /** In the order in which they must be started. */
  readonly actions: ReadonlyArray<Action>
}

/**
 * The first step of a server that was just added.
 *
 * @since 0.1.0
 * @category machine
 */
export const start = (settings: Settings, at: number): Step => {
  const before = unstarted(settings, at)
  const state = started(before, at)
  return { state, actions: linkActions(before, state) }
}

/**
 * Computes the next state and the actions for an event. Total: an event that does not apply to the state, or that belongs to an
 * older link, changes nothing.
 *
 * @since 0.1.0
 * @category machine
 */
export const step = (state: State, event: Event): Step => {
  const next = transition(state, event)
  return {
    state: next,
    actions: [...linkActions(state, next), ...refreshes(state, next, event), ...publishActions(state, next)]
  }
}

/** Fetches a changed list again, also if it changed while the link was opening. */
const refreshes = (before: State, after: State, event: Event): ReadonlyArray<Action> => {
  if (!("generation" in event) || event.generation !== routed(after)?.generation) return []
  const { generation } = event
  if (event._tag === "ListChanged") return [{ _tag: "RefreshCatalog", generation, list: event.list }]
  const opened = attempt(before)
  const lists = opened?.generation === generation ? opened.stale : []
  return lists.map((list) => ({ _tag: "RefreshCatalog", generation, list }))
}
