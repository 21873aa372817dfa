/**
 * The transition function of the lifecycle: the next state for a state and an event.
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

/** What an event makes of a state. What is to be done follows from the difference between the two. */
export const transition = (state: State, event: Event): State =>
  state.phase._tag === "Removed" && event._tag !== "Released" ? state : openWhenClear(react(state, event), event.at)

const resting = (since: number): Phase => ({ _tag: "Resting", since })

const pending = (since: number): Pursuit => ({ _tag: "Pending", since })

/** A server before its life: it has nothing, and nothing was done for it yet. */
export const blank = (settings: Settings, at: number): State => ({
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

/** The state in which a server begins. */
export const begun = (state: State, at: number): State => openWhenClear(begin(state, at), at)

const react = (state: State, event: Event): State => {
  switch (event._tag) {
    case "Enable":
      return state.phase._tag === "Stopped" ? begin(wanted(state), event.at) : state
    case "Connect":
      return connect(state, event.at)
    case "Restart":
      return isBlocked(state) ? state : seek(closeAll(wanted(state), event.at), event.at)
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

/** The rule that keeps a server from running more often than it should: nothing opens while something is closing. */
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
  // an attempt that failed for a shortage is made again, which is no further restart
  if (state.streak.failures === 0 || state.streak.shortages > 0) return opened
  const restarts = RestartPolicy.recent(state.settings.restart, [...state.streak.restarts, at], at)
  return { ...opened, restarts: state.restarts + 1, streak: { ...state.streak, restarts } }
}

const route = (state: State, { at, generation, info }: EventOf<"Opened">): State => ({
  ...drainRouted(state, at),
  streak: { ...state.streak, shortages: 0 },
  phase: { _tag: "Serving", routed: { generation, since: at, info }, replacement: undefined }
})

// --- what is wanted -------------------------------------------------------------------------------------------------

/** What keeps the server disabled; undefined if nothing does. */
const stoppedBy = ({ intent, settings }: State): DisabledBy | undefined => {
  if (settings.disabled === "trust") return "trust"
  if (intent === "down") return "command"
  return intent === "up" ? undefined : settings.disabled
}

/** Missing trust cannot be overruled by a command. */
const isBlocked = ({ settings }: State): boolean => settings.disabled === "trust"

const wanted = (state: State): State =>
  isBlocked(state) ? state : { ...state, intent: state.settings.disabled === "config" ? "up" : "config" }

/** Takes up the life that config and commands want, from nothing. */
const begin = (state: State, at: number): State => {
  const by = stoppedBy(state)
  const clear = { ...closeAll(state, at), streak: freshStreak }
  if (by !== undefined) return { ...clear, phase: { _tag: "Stopped", by } }
  return mayRest(state.settings) ? { ...clear, phase: resting(at) } : seek(clear, at)
}

/** Without a demand, a lazy server rests; what is wrong with its config is shown all the same. */
const mayRest = ({ invalid, lazy }: Settings): boolean => lazy && invalid === undefined

/** Goes for a (new) link as if nothing had failed before; not where the config is wrong, that would fail again. */
const seek = (state: State, at: number): State => {
  const { invalid } = state.settings
  return invalid === undefined
    ? { ...pursue(state, pending(at)), streak: freshStreak }
    : { ...pursue(state, { _tag: "Parked", failure: invalid }), streak: { ...freshStreak, failures: 1 } }
}

/** Tries now what would be tried later or not at all. */
const hurry = (state: State, at: number): State => {
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
  const sought = down ? seek(wanted(state), at) : hurry(wanted(state), at)
  // an attempt under way is as good as a new one, and counts as one
  const underWay = pursuit(sought)?._tag === "Opening" || pursuit(sought)?._tag === "Pending"
  return underWay ? { ...sought, streak: freshStreak } : sought
}

const configure = (before: State, { at, change, settings }: EventOf<"ConfigChanged">): State => {
  // a command that started it against its config has done its work once the config agrees
  const intent = before.intent === "up" && settings.disabled !== "config" ? "config" : before.intent
  const state: State = { ...before, settings, intent }
  const mustStop = stoppedBy(state) !== undefined || settings.invalid !== undefined
  if (mustStop || before.phase._tag === "Stopped") return begin(state, at)
  if (before.phase._tag === "Resting") return mayRest(settings) ? state : begin(state, at)
  if (change === "settings") return { ...hurry(state, at), streak: freshStreak }
  return seek(closeOpening(change === "identity" ? drainRouted(state, at) : state, at), at)
}

const rest = (state: State, { at, generation }: EventOf<"Idle">): State =>
  state.settings.lazy && routed(state)?.generation === generation && pursuit(state) === undefined
    ? { ...drainRouted(state, at), phase: resting(at), streak: freshStreak }
    : state

const reauthenticate = (state: State, { at, revoked }: EventOf<"CredentialsChanged">): State => {
  const trying = attempt(state)
  if (revoked) {
    const inUse = routed(state) !== undefined || trying !== undefined
    return inUse ? seek(closeOpening(drainRouted(state, at), at), at) : state
  }
  if (trying !== undefined) return pursue(state, { ...trying, loggedIn: true })
  const current = pursuit(state)
  return current?._tag === "Parked" && current.failure.kind === "auth" ? hurry(state, at) : state
}

// --- failing --------------------------------------------------------------------------------------------------------

const lose = (state: State, loss: Loss): State => {
  const { at, failure, generation } = loss
  const trying = attempt(state)
  if (trying?.generation === generation) {
    const closed = closeOpening(state, at)
    // refused for want of a login that has come meanwhile: that is no longer true
    return trying.loggedIn && failure.kind === "auth" ? seek(closed, at) : fail(closed, loss, 0)
  }
  if (state.draining?.generation === generation) return closeDraining(state)
  const link = routed(state)
  if (link?.generation !== generation) return state
  const replaced = pursuit(state) !== undefined
  const closed = closeRouted(state, at)
  return replaced ? closed : fail(closed, loss, at - link.since)
}

/** Decides what follows a failure: nothing until something changes, a restart now, a restart later, or giving up. */
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
  // the server is there, only our session is gone: no reason to wait, unless that happens again and again
  const atOnce = failure.kind === "session_lost" && before.last !== "session_lost"
  const pause = atOnce ? 0 : RestartPolicy.delay(policy, streak.failures, random)
  const delay = RestartPolicy.withRetryAfter(pause, failure.retryAfter)
  return delay === 0
    ? pursue({ ...state, streak }, pending(at))
    : pursue({ ...state, streak, timer }, { _tag: "Backoff", timer, until: at + delay, failure })
}

/** A shortage on our side says nothing about the server: it counts neither as a failure nor as a restart. */
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

// --- moving links and pursuits; each leaves a state in which a link that is gone is sought again --------------------

/** Puts the way to the next link where it belongs: beside the link that serves, or alone. */
const pursue = (state: State, next: Pursuit): State => ({
  ...state,
  phase: state.phase._tag === "Serving" ? { ...state.phase, replacement: next } : { _tag: "Seeking", pursuit: next }
})

const updateAttempt = (state: State, generation: number, update: (opening: Opening) => Partial<Opening>): State => {
  const trying = attempt(state)
  return trying?.generation === generation ? pursue(state, { ...trying, ...update(trying) }) : state
}

const close = (state: State, generation: number): State => ({ ...state, closing: [...state.closing, generation] })

const closeOpening = (state: State, at: number): State => {
  const generation = opening(state)
  return generation === undefined ? state : pursue(close(state, generation), pending(at))
}

const closeDraining = (state: State): State =>
  state.draining === undefined ? state : { ...close(state, state.draining.generation), draining: undefined }

/** Takes the link that serves out of the phase. */
const unroute = (state: State, at: number): State => ({
  ...state,
  phase: { _tag: "Seeking", pursuit: pursuit(state) ?? pending(at) }
})

const closeRouted = (state: State, at: number): State => {
  const link = routed(state)
  return link === undefined ? state : close(unroute(state, at), link.generation)
}

/** There is room for one draining link: an older one has had its time. */
const drainRouted = (state: State, at: number): State => {
  const link = routed(state)
  if (link === undefined) return state
  const timer = state.timer + 1
  const draining = { generation: link.generation, timer, until: at + state.settings.drain }
  return { ...closeDraining(unroute(state, at)), timer, draining }
}

const closeAll = (state: State, at: number): State => closeRouted(closeOpening(closeDraining(state), at), at)
