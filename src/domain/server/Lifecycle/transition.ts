/**
 * Computes the next state of the lifecycle for a state and an event.
 */
import { UnexpectedFailure } from "../../Errors/connectionErrors.js"
import * as Failure from "../Failure.js"
import * as RestartPolicy from "../RestartPolicy.js"
import type { DisabledBy } from "../ServerStatus.js"
import type { Event } from "./Event.js"
import {
  attempt,
  freshStreak,
  type Opening,
  opening,
  type Phase,
  type Pursuit,
  pursuit,
  routed,
  type Settings,
  type State,
  type Streak
} from "./State.js"

type EventOf<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

type Loss = Omit<EventOf<"Lost">, "_tag">

/** The next state. The actions are computed from the difference between the two states. */
export const transition = (state: State, event: Event): State =>
  state.phase._tag === "Removed" && event._tag !== "Released" ? state : openWhenClear(react(state, event), event.at)

const resting = (since: number): Phase => ({ _tag: "Resting", since })

const pending = (since: number): Pursuit => ({ _tag: "Pending", since })

/** The state before a server is started. */
export const unstarted = (settings: Settings, at: number): State => ({
  settings,
  intent: "config",
  phase: resting(at),
  draining: undefined,
  closing: [],
  generation: 0,
  timer: 0,
  streak: freshStreak,
  restarts: 0
})

/** The state of a server that was just started. */
export const started = (state: State, at: number): State => openWhenClear(begin(state, at), at)

const react = (state: State, event: Event): State => {
  switch (event._tag) {
    case "Enable":
      return state.phase._tag === "Stopped" ? begin(allowed(state), event.at) : state
    case "Connect":
      return connect(state, event.at)
    case "Restart":
      return isBlocked(state) ? state : seek(closeAll(allowed(state), event.at), event.at)
    case "Disable":
      return begin({ ...state, intent: "down" }, event.at)
    case "Remove":
      return { ...closeAll(state, event.at), phase: { _tag: "Removed" } }
    case "ConfigChanged":
      return configure(state, event)
    case "Demanded":
      return state.phase._tag === "Resting" ? seek(state, event.at) : state
    case "PhaseReached":
      return updateAttempt(state, event.generation, () => ({ phase: event.phase }))
    case "Opened":
      return opening(state) === event.generation ? route(state, event) : state
    case "Lost":
      return lose(state, event)
    case "LinkUpdated":
      return state.phase._tag === "Serving" && state.phase.routed.generation === event.generation
        ? { ...state, phase: { ...state.phase, routed: { ...state.phase.routed, info: event.info } } }
        : state
    case "ListChanged":
      return updateAttempt(state, event.generation, ({ stale }) => ({ stale: [...new Set([...stale, event.list])] }))
    case "Idle":
      return rest(state, event)
    case "Drained":
      return state.draining?.generation === event.generation ? closeDraining(state) : state
    case "Released":
      return release(state, event)
    case "CredentialsChanged":
      return reauthenticate(state, event)
    case "TimerFired":
      return wake(state, event)
  }
}

// --- opening --------------------------------------------------------------------------------------------------------

/** Starts a pending attempt once no link is closing, so that a server never runs twice by accident. */
const openWhenClear = (state: State, at: number): State => {
  if (pursuit(state)?._tag !== "Pending") return state
  const alone = state.settings.replace === "stop-first"
  const clear = alone ? drainRouted(state, at) : state
  return clear.closing.length > 0 || (alone && clear.draining !== undefined) ? clear : open(clear, at)
}

const open = (state: State, at: number): State => {
  const generation = state.generation + 1
  const opening: Opening = { _tag: "Opening", generation, since: at, phase: "spawn", stale: [], loggedIn: false }
  const opened = pursue({ ...state, generation }, opening)
  // repeating an attempt that failed because of a shortage does not count as a restart
  if (state.streak.failures === 0 || state.streak.shortages > 0) return opened
  const restarts = RestartPolicy.recent(state.settings.restart, [...state.streak.restarts, at], at)
  return { ...opened, restarts: state.restarts + 1, streak: { ...state.streak, restarts } }
}

const route = (state: State, { at, generation, info }: EventOf<"Opened">): State => ({
  ...drainRouted(state, at),
  streak: { ...state.streak, shortages: 0 },
  phase: { _tag: "Serving", routed: { generation, since: at, info }, replacement: undefined }
})

// --- commands and config --------------------------------------------------------------------------------------------

/** Why the server is disabled; undefined if it is enabled. */
const stoppedBy = ({ intent, settings }: State): DisabledBy | undefined => {
  if (settings.disabled === "trust") return "trust"
  if (intent === "down") return "command"
  return intent === "up" ? undefined : settings.disabled
}

/** Whether commands cannot start the server, because it is not trusted. */
const isBlocked = ({ settings }: State): boolean => settings.disabled === "trust"

/** The state after a command that starts the server: its intent overrules a config that disables it. */
const allowed = (state: State): State =>
  isBlocked(state) ? state : { ...state, intent: state.settings.disabled === "config" ? "up" : "config" }

/** Closes all links and continues as config and commands require. */
const begin = (state: State, at: number): State => {
  const by = stoppedBy(state)
  const clear = { ...closeAll(state, at), streak: freshStreak }
  if (by !== undefined) return { ...clear, phase: { _tag: "Stopped", by } }
  return mayRest(state.settings) ? { ...clear, phase: resting(at) } : seek(clear, at)
}

/** Whether the server is idle without a demand. A lazy server with an invalid config is failed instead. */
const mayRest = ({ invalid, lazy }: Settings): boolean => lazy && invalid === undefined

/** Requests a new link with a fresh failure streak. With an invalid config, the server is parked instead. */
const seek = (state: State, at: number): State => {
  const { invalid } = state.settings
  return invalid === undefined
    ? { ...pursue(state, pending(at)), streak: freshStreak }
    : { ...pursue(state, { _tag: "Parked", failure: invalid }), streak: { ...freshStreak, failures: 1 } }
}

/** Retries now if the server waits for a retry or is parked. */
const retryNow = (state: State, at: number): State => {
  switch (pursuit(state)?._tag) {
    case "Backoff":
    case "GaveUp":
    case "Parked":
      return seek(state, at)
    default:
      return state
  }
}

const connect = (state: State, at: number): State => {
  if (isBlocked(state)) return state
  const down = state.phase._tag === "Stopped" || state.phase._tag === "Resting"
  const next = down ? seek(allowed(state), at) : retryNow(allowed(state), at)
  // a running attempt counts as the new one
  const underWay = pursuit(next)?._tag === "Opening" || pursuit(next)?._tag === "Pending"
  return underWay ? { ...next, streak: freshStreak } : next
}

const configure = (before: State, { at, change, settings }: EventOf<"ConfigChanged">): State => {
  // a command that started the server against its config ends when the config agrees
  const intent = before.intent === "up" && settings.disabled !== "config" ? "config" : before.intent
  const state: State = { ...before, settings, intent }
  const mustStop = stoppedBy(state) !== undefined || settings.invalid !== undefined
  if (mustStop || before.phase._tag === "Stopped") return begin(state, at)
  if (before.phase._tag === "Resting") return mayRest(settings) ? state : begin(state, at)
  if (change === "settings") return { ...retryNow(state, at), streak: freshStreak }
  return seek(closeOpening(change === "identity" ? drainRouted(state, at) : state, at), at)
}

const rest = (state: State, { at, generation }: EventOf<"Idle">): State =>
  state.settings.lazy && routed(state)?.generation === generation && pursuit(state) === undefined
    ? { ...drainRouted(state, at), phase: resting(at), streak: freshStreak }
    : state

const reauthenticate = (state: State, { at, revoked }: EventOf<"CredentialsChanged">): State => {
  const running = attempt(state)
  if (revoked) {
    const inUse = routed(state) !== undefined || running !== undefined
    return inUse ? seek(closeOpening(drainRouted(state, at), at), at) : state
  }
  if (running !== undefined) return pursue(state, { ...running, loggedIn: true })
  const current = pursuit(state)
  return current?._tag === "Parked" && current.failure.kind === "auth" ? retryNow(state, at) : state
}

// --- failing --------------------------------------------------------------------------------------------------------

const lose = (state: State, loss: Loss): State => {
  const { at, failure, generation } = loss
  const running = attempt(state)
  if (running?.generation === generation) {
    const closed = closeOpening(state, at)
    // rejected for a missing login that has completed meanwhile: retry
    return running.loggedIn && failure.kind === "auth" ? seek(closed, at) : fail(closed, loss, 0)
  }
  if (state.draining?.generation === generation) return closeDraining(state)
  const link = routed(state)
  if (link?.generation !== generation) return state
  const replaced = pursuit(state) !== undefined
  const closed = closeRouted(state, at)
  return replaced ? closed : fail(closed, loss, at - link.since)
}

/** Handles a failure: waits for a change, restarts now, restarts later, or gives up. */
const fail = (state: State, { at, failure, random }: Loss, uptime: number): State => {
  const policy = state.settings.restart
  const before = uptime >= policy.stableAfter ? { ...freshStreak, restarts: state.streak.restarts } : state.streak
  if (failure.kind === "shortage") return awaitResources(state, before, { at, failure, random })
  const streak: Streak = { ...before, failures: before.failures + 1, last: failure.kind, shortages: 0 }
  if (failure.kind !== "transient" && failure.kind !== "session_lost") {
    return pursue({ ...state, streak }, { _tag: "Parked", failure })
  }
  const timer = state.timer + 1
  if (before.gaveUp !== undefined || RestartPolicy.isExhausted(policy, before.restarts, at)) {
    const until = at + RestartPolicy.withRetryAfter(policy.cooldown, failure.retryAfter)
    const gaveUp = before.gaveUp ?? `more than ${policy.maxRestarts} restarts within ${policy.window} ms`
    return pursue({ ...state, timer, streak: { ...streak, gaveUp } }, { _tag: "GaveUp", timer, until, failure })
  }
  // the server responds and only lost the session: no delay, unless that happens twice in a row
  const atOnce = failure.kind === "session_lost" && before.last !== "session_lost"
  const pause = atOnce ? 0 : RestartPolicy.delay(policy, streak.failures, random)
  const delay = RestartPolicy.withRetryAfter(pause, failure.retryAfter)
  return delay === 0
    ? pursue({ ...state, streak }, pending(at))
    : pursue({ ...state, streak, timer }, { _tag: "Backoff", timer, until: at + delay, failure })
}

/** Handles a shortage on this machine, which counts neither as a failure nor as a restart. */
const awaitResources = (
  state: State,
  before: Streak,
  { at, failure, random }: Pick<Loss, "at" | "failure" | "random">
): State => {
  const timer = state.timer + 1
  const shortages = before.shortages + 1
  const until = at + RestartPolicy.shortageDelay(shortages, random)
  return pursue({ ...state, timer, streak: { ...before, shortages } }, { _tag: "Backoff", timer, until, failure })
}

/** Handles the release of a link. A link that is released without a reported loss counts as an unexpected failure. */
const release = (state: State, event: EventOf<"Released">): State => {
  const unexpected = new UnexpectedFailure({ server: state.settings.server, detail: "the link ended without a reason" })
  const lost = lose(state, { ...event, failure: Failure.fromError(unexpected) })
  return { ...lost, closing: lost.closing.filter((generation) => generation !== event.generation) }
}

const wake = (state: State, { at, timer }: EventOf<"TimerFired">): State => {
  if (state.draining?.timer === timer) return closeDraining(state)
  const current = pursuit(state)
  return current !== undefined && "timer" in current && current.timer === timer ? pursue(state, pending(at)) : state
}

// --- moving links and pursuits; after each, a server without a link requests one ------------------------------------

/** Sets the pursuit: as the replacement of a serving link, or alone. */
const pursue = (state: State, next: Pursuit): State => ({
  ...state,
  phase: state.phase._tag === "Serving" ? { ...state.phase, replacement: next } : { _tag: "Seeking", pursuit: next }
})

const updateAttempt = (state: State, generation: number, update: (opening: Opening) => Partial<Opening>): State => {
  const running = attempt(state)
  return running?.generation === generation ? pursue(state, { ...running, ...update(running) }) : state
}

const close = (state: State, generation: number): State => ({ ...state, closing: [...state.closing, generation] })

const closeOpening = (state: State, at: number): State => {
  const generation = opening(state)
  return generation === undefined ? state : pursue(close(state, generation), pending(at))
}

const closeDraining = (state: State): State =>
  state.draining === undefined ? state : { ...close(state, state.draining.generation), draining: undefined }

/** Removes the serving link from the phase. */
const unroute = (state: State, at: number): State => ({
  ...state,
  phase: { _tag: "Seeking", pursuit: pursuit(state) ?? pending(at) }
})

const closeRouted = (state: State, at: number): State => {
  const link = routed(state)
  return link === undefined ? state : close(unroute(state, at), link.generation)
}

/** Drains the serving link. Only one link can drain, so an older one is closed. */
const drainRouted = (state: State, at: number): State => {
  const link = routed(state)
  if (link === undefined) return state
  const timer = state.timer + 1
  const draining = { generation: link.generation, timer, until: at + state.settings.drain }
  return { ...closeDraining(unroute(state, at)), timer, draining }
}

const closeAll = (state: State, at: number): State => closeRouted(closeOpening(closeDraining(state), at), at)
