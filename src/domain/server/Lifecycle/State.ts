/**
 * The state of one server's lifecycle. The public status is computed from it and contains less.
 */
import * as Schema from "effect/Schema"
import { Failure, type Kind } from "../Failure.js"
import type { ListKind } from "../../catalog/Protocol.js"
import { RestartPolicy } from "../RestartPolicy.js"
import { type AttemptPhase, Connected, type DisabledBy } from "../ServerStatus.js"

/**
 * The part of a server's config that the lifecycle uses.
 *
 * @since 0.1.0
 * @category models
 */
export const Settings = Schema.Struct({
  server: Schema.String,
  restart: RestartPolicy,
  /** Whether the server is started by the first demand instead of at once. */
  lazy: Schema.Boolean,
  /** Whether a replacement may open while the old link serves. */
  replace: Schema.Literal("overlap", "stop-first"),
  /** How long a replaced link may finish its calls, in milliseconds. */
  drain: Schema.Finite.pipe(Schema.positive()),
  /** Why the config does not allow the server to run. Absent if it does. */
  disabled: Schema.optional(Schema.Literal("config", "trust")),
  /** The error of an invalid config. Such a server is never opened, not even by a command. */
  invalid: Schema.optional(Failure)
}).annotations({ identifier: "Settings" })

/**
 * @since 0.1.0
 * @category models
 */
export type Settings = typeof Settings.Type

/**
 * The info of an open link: the `connected` status without its start time.
 *
 * @since 0.1.0
 * @category models
 */
export const LinkInfo = Connected.omit("status", "since").annotations({ identifier: "LinkInfo" })

/**
 * @since 0.1.0
 * @category models
 */
export type LinkInfo = typeof LinkInfo.Type

/**
 * The link to which calls are routed.
 *
 * @since 0.1.0
 * @category models
 */
export interface Routed {
  readonly generation: number
  readonly since: number
  readonly info: LinkInfo
}

/**
 * A link that gets no new calls and is closed when its pending calls have finished, or after its drain time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Draining {
  readonly generation: number
  readonly timer: number
  readonly until: number
}

/**
 * A running attempt, with the events during it that take effect at its end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Opening {
  readonly _tag: "Opening"
  readonly generation: number
  readonly since: number
  readonly phase: AttemptPhase
  /** Lists that changed, possibly after they were fetched. */
  readonly stale: ReadonlyArray<ListKind>
  /** Whether a login completed, possibly after the server rejected the attempt. */
  readonly loggedIn: boolean
}

/**
 * What the server does to get a new link.
 *
 * @since 0.1.0
 * @category models
 */
export type Pursuit =
  /** Opens as soon as no link is closing. */
  | { readonly _tag: "Pending"; readonly since: number }
  | Opening
  | { readonly _tag: "Backoff"; readonly timer: number; readonly until: number; readonly failure: Failure }
  /** Too many restarts: waits for the cooldown, then makes one attempt. */
  | { readonly _tag: "GaveUp"; readonly timer: number; readonly until: number; readonly failure: Failure }
  /** A retry would not help: waits until something changes. */
  | { readonly _tag: "Parked"; readonly failure: Failure }

/**
 * @since 0.1.0
 * @category models
 */
export type Phase =
  | { readonly _tag: "Removed" }
  | { readonly _tag: "Stopped"; readonly by: DisabledBy }
  /** A lazy server without demand, whose status is `idle`. */
  | { readonly _tag: "Resting"; readonly since: number }
  | { readonly _tag: "Seeking"; readonly pursuit: Pursuit }
  /** Connected. `replacement`: how it gets a link with a newer config. */
  | { readonly _tag: "Serving"; readonly routed: Routed; readonly replacement: Pursuit | undefined }

/**
 * Consecutive failures. Reset by enough uptime, a command, or a new config.
 *
 * @since 0.1.0
 * @category models
 */
export interface Streak {
  readonly failures: number
  /** The times of automatic restarts within the policy's window. */
  readonly restarts: ReadonlyArray<number>
  /** Why the server was given up. If set, the next failure gives it up again at once. */
  readonly gaveUp: string | undefined
  readonly last: Kind | undefined
  /** Consecutive attempts that failed because of a shortage on this machine. They do not count as failures. */
  readonly shortages: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface State {
  readonly settings: Settings
  /** The effect of commands: follow the config, or run or stop against it. */
  readonly intent: "config" | "up" | "down"
  readonly phase: Phase
  readonly draining: Draining | undefined
  /** The generations of closing links. No link opens before they are released. */
  readonly closing: ReadonlyArray<number>
  /** The newest generation. Each attempt has its own. */
  readonly generation: number
  /** The id of the newest timer. */
  readonly timer: number
  readonly streak: Streak
  /** The number of automatic restarts. */
  readonly restarts: number
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const freshStreak: Streak = { failures: 0, restarts: [], gaveUp: undefined, last: undefined, shortages: 0 }

/**
 * The link to which calls are routed, if there is one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const routed = ({ phase }: State): Routed | undefined => (phase._tag === "Serving" ? phase.routed : undefined)

/**
 * What the server does to get its next link. Undefined if it needs none.
 *
 * @since 0.1.0
 * @category accessors
 */
export const pursuit = ({ phase }: State): Pursuit | undefined => {
  switch (phase._tag) {
    case "Seeking":
      return phase.pursuit
    case "Serving":
      return phase.replacement
    default:
      return undefined
  }
}

/**
 * The generation of the running attempt, if there is one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const opening = (state: State): number | undefined => attempt(state)?.generation

/** The running attempt, if there is one. */
export const attempt = (state: State): Opening | undefined => {
  const current = pursuit(state)
  return current?._tag === "Opening" ? current : undefined
}

/**
 * A timer of the lifecycle: the runtime sends `TimerFired` at its time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Timer {
  readonly id: number
  readonly kind: "retry" | "cooldown" | "drain"
  readonly at: number
}

/**
 * The running timers of a state.
 *
 * @since 0.1.0
 * @category accessors
 */
export const timers = (state: State): ReadonlyArray<Timer> => {
  const running: Array<Timer> = []
  const current = pursuit(state)
  if (current?._tag === "Backoff") running.push({ id: current.timer, kind: "retry", at: current.until })
  if (current?._tag === "GaveUp") running.push({ id: current.timer, kind: "cooldown", at: current.until })
  if (state.draining !== undefined) {
    running.push({ id: state.draining.timer, kind: "drain", at: state.draining.until })
  }
  return running
}

/**
 * Whether the server was removed. Links may still be closing.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isRemoved = ({ phase }: State): boolean => phase._tag === "Removed"

/**
 * Whether the server was removed and nothing of it is left.
 *
 * @since 0.1.0
 * @category accessors
 */
export const isFinished = (state: State): boolean => isRemoved(state) && state.closing.length === 0
