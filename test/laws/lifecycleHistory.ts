import { FastCheck as fc } from "effect"
import { type Failure, Lifecycle, type RestartPolicy } from "../../src/index.js"

/** Every generation in a state. */
export const liveGenerations = (state: Lifecycle.State): ReadonlyArray<number> =>
  [Lifecycle.routed(state)?.generation, Lifecycle.opening(state), state.draining?.generation, ...state.closing].filter(
    (generation): generation is number => generation !== undefined
  )

export const policy: fc.Arbitrary<RestartPolicy.RestartPolicy> = fc.record({
  base: fc.integer({ min: 1, max: 1_000 }),
  factor: fc.constantFrom(1, 1.5, 2, 10),
  cap: fc.integer({ min: 1, max: 5_000 }),
  stableAfter: fc.integer({ min: 1, max: 5_000 }),
  maxRestarts: fc.constantFrom(0, 0, 1, 1, 2, 5, Number.POSITIVE_INFINITY),
  window: fc.integer({ min: 1, max: 10_000 }),
  cooldown: fc.integer({ min: 1, max: 20_000 })
})

export const settings: fc.Arbitrary<Lifecycle.Settings> = fc
  .record({
    server: fc.constant("s"),
    restart: policy,
    lazy: fc.boolean(),
    replace: fc.constantFrom("overlap" as const, "stop-first" as const),
    drain: fc.integer({ min: 1, max: 5_000 }),
    disabled: fc.constantFrom(...Array<undefined>(8), "config" as const, "trust" as const)
  })
  .map(({ disabled, ...rest }) => (disabled === undefined ? rest : { ...rest, disabled }))

export const failureOf = (kind: Failure.Kind): Failure.Failure => ({ kind, error: "it broke", errorTag: "Broken" })

/** Failures, most of which are retried. */
const failures: ReadonlyArray<Failure.Failure> = [
  failureOf("transient"),
  failureOf("transient"),
  failureOf("session_lost"),
  failureOf("shortage"),
  { ...failureOf("transient"), retryAfter: 3_000 },
  { ...failureOf("transient"), retryAfter: 60_000 },
  { ...failureOf("transient"), exitCode: 1, stderr: "no" },
  { ...failureOf("auth"), scope: "read", hint: "log in" },
  failureOf("registration"),
  failureOf("permanent")
]

export const info: Lifecycle.LinkInfo = {
  transport: "stdio",
  protocolVersion: "2025-11-25",
  era: "legacy",
  tools: 1,
  resources: 0,
  prompts: 0,
  push: "none"
}

/**
 * The kinds of events. `Proceed` is any event that advances the server: a link closes, an attempt succeeds, a timer fires, a call
 * arrives. `Replace` is a config with stop-first.
 */
type Tag = Lifecycle.Event["_tag"] | "Proceed" | "Replace"

/** One event, relative to the state in which it occurs, so that histories stay valid when they shrink. */
export interface Move {
  readonly tag: Tag
  /** The time that passes before it. */
  readonly wait: number
  readonly random: number
  /** Selects among the current generations and timers; above their number, an old one. */
  readonly pick: number
  readonly failure: Failure.Failure
  /** The changed keys of a new config. */
  readonly otherwise: Partial<Lifecycle.Settings>
  readonly change: "settings" | "link" | "identity"
  readonly flag: boolean
}

const commands: ReadonlyArray<Tag> = [
  "Enable",
  "Disable",
  "Connect",
  "Restart",
  "ConfigChanged",
  "CredentialsChanged",
  "Demanded"
]
const facts: ReadonlyArray<Tag> = ["PhaseReached", "LinkUpdated", "ListChanged", "Idle", "Drained"]
const outcomes: ReadonlyArray<Tag> = ["Opened", "Released", "TimerFired"]

/** New configs, most of which let the server run. */
const variations: ReadonlyArray<Partial<Lifecycle.Settings>> = [
  {},
  {},
  { drain: 100 },
  { lazy: true },
  { lazy: false },
  { replace: "overlap" },
  { replace: "stop-first" },
  { disabled: "config" },
  { disabled: "trust" },
  { invalid: { kind: "permanent", error: "bad config", errorTag: "InvalidConfig" } }
]

export const move: fc.Arbitrary<Move> = fc.record({
  tag: fc.oneof(
    { arbitrary: fc.constant<Tag>("Proceed"), weight: 30 },
    { arbitrary: fc.constant<Tag>("Lost"), weight: 15 },
    { arbitrary: fc.constant<Tag>("Replace"), weight: 10 },
    { arbitrary: fc.constantFrom(...commands, ...facts, ...outcomes), weight: 25 },
    { arbitrary: fc.constant<Tag>("Remove"), weight: 1 }
  ),
  wait: fc.oneof(fc.constant(0), fc.nat({ max: 10 }), fc.nat({ max: 30_000 })),
  random: fc.double({ min: 0, max: 0.999_999, noNaN: true }),
  pick: fc.nat({ max: 5 }),
  failure: fc.constantFrom(...failures),
  otherwise: fc.constantFrom(...variations),
  change: fc.constantFrom("settings" as const, "link" as const, "identity" as const),
  flag: fc.boolean()
})

export const history: fc.Arbitrary<{ readonly settings: Lifecycle.Settings; readonly moves: ReadonlyArray<Move> }> =
  fc.record({ settings, moves: fc.array(move, { maxLength: 60, size: "max" }) })

const reconfigure = (
  { disabled: _, invalid: __, ...settings }: Lifecycle.Settings,
  otherwise: Partial<Lifecycle.Settings>
) => ({
  ...settings,
  ...otherwise
})

const proceed = (state: Lifecycle.State): Tag => {
  if (state.closing.length > 0) return "Released"
  if (Lifecycle.opening(state) !== undefined) return "Opened"
  return Lifecycle.timers(state).length > 0 ? "TimerFired" : "Demanded"
}

/** The most important link: the attempt, or else the serving link. */
const newest = (state: Lifecycle.State) => Lifecycle.opening(state) ?? Lifecycle.routed(state)?.generation

export const toEvent = (state: Lifecycle.State, move: Move, at: number): Lifecycle.Event => {
  const stamp = { at, random: move.random }
  const generation = liveGenerations(state)[move.pick] ?? state.generation - move.pick
  const timer = Lifecycle.timers(state)[move.pick]?.id ?? state.timer - move.pick
  if (move.tag === "Proceed") return toEvent(state, { ...move, tag: proceed(state), pick: 0, flag: false }, at)
  if (move.tag === "Replace") {
    return toEvent(state, { ...move, tag: "ConfigChanged", change: "link", otherwise: { replace: "overlap" } }, at)
  }
  switch (move.tag) {
    case "ConfigChanged":
      return { _tag: move.tag, ...stamp, settings: reconfigure(state.settings, move.otherwise), change: move.change }
    case "CredentialsChanged":
      return { _tag: move.tag, ...stamp, revoked: move.flag }
    case "PhaseReached":
      return { _tag: move.tag, ...stamp, generation, phase: move.flag ? "handshake" : "discover" }
    case "Opened":
      return {
        _tag: move.tag,
        ...stamp,
        generation: (move.flag ? undefined : Lifecycle.opening(state)) ?? generation,
        info
      }
    case "LinkUpdated":
      return { _tag: move.tag, ...stamp, generation, info: { ...info, tools: move.pick } }
    case "Lost":
      return {
        _tag: move.tag,
        ...stamp,
        generation: move.flag ? generation : (newest(state) ?? generation),
        failure: move.failure
      }
    case "ListChanged":
      return { _tag: move.tag, ...stamp, generation, list: "tools" }
    case "Idle":
    case "Drained":
      return { _tag: move.tag, ...stamp, generation }
    case "Released":
      return { _tag: move.tag, ...stamp, generation: state.closing[move.pick] ?? generation }
    case "TimerFired":
      return { _tag: move.tag, ...stamp, timer }
    default:
      return { _tag: move.tag, ...stamp }
  }
}

/** One step of a history: the state before, the event, and the state after. */
export interface Moment {
  readonly before: Lifecycle.State
  readonly event: Lifecycle.Event
  readonly after: Lifecycle.State
  readonly actions: ReadonlyArray<Lifecycle.Action>
}

/** Runs a history. */
export const live = (
  settings: Lifecycle.Settings,
  moves: ReadonlyArray<Move>
): {
  readonly start: Lifecycle.Step
  readonly moments: ReadonlyArray<Moment>
  readonly end: Lifecycle.State
  readonly at: number
} => {
  let at = 1_000_000
  const start = Lifecycle.start(settings, at)
  let state = start.state
  const moments = moves.map((move) => {
    at += move.wait
    const before = state
    const event = toEvent(before, move, at)
    const step = Lifecycle.step(before, event)
    state = step.state
    return { before, event, after: step.state, actions: step.actions }
  })
  return { start, moments, end: state, at }
}
