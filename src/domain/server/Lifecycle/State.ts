/**
 * The state of one server's lifecycle. The public status is computed from it and contains less.
 */
import * as Schema from "effect/Schema"
import { Failure, type Kind } from "../Failure.js"
import type { ListKind } from "../../catalog/Protocol.js"
import { RestartPolicy } from "../RestartPolicy.js"
import { type AttemptPhase, Connected, type DisabledBy } from "../ServerStatus.js"

/**
 * The part of a server's config that decides about its life.
 *
 * @since 0.1.0
 * @category models
 */
export const Settings = Schema.Struct({
  server: Schema.String,
  restart: RestartPolicy,
  /** Starts with the first demand instead of at once. */
  lazy: Schema.Boolean,
  /** Whether a replacement may run beside the link it replaces. */
  replace: Schema.Literal("overlap", "stop-first"),
  /** How long a replaced link may go on with the calls it has, in milliseconds. */
  drain: Schema.Finite.pipe(Schema.positive()),
  /** Why the config does not let it run, if it does not. */
  disabled: Schema.optional(Schema.Literal("config", "trust")),
  /** What is wrong with its config. Such a server is never opened, whatever the command. */
  invalid: Schema.optional(Failure)
}).annotations({ identifier: "Settings" })

/**
 * @since 0.1.0
 * @category models
 */
export type Settings = typeof Settings.Type

/**
 * What is known of a link while it is connected: the `connected` status without its beginning.
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
 * The link that takes the calls.
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
 * A link that takes no new calls and ends when it has finished those it has, or when its time is up.
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
 * An attempt under way, and what happened meanwhile that its end must not forget.
 *
 * @since 0.1.0
 * @category models
 */
export interface Opening {
  readonly _tag: "Opening"
  readonly generation: number
  readonly since: number
  readonly phase: AttemptPhase
  /** Lists that changed, perhaps after they were fetched. */
  readonly stale: ReadonlyArray<ListKind>
  /** Whether a login completed, perhaps after the server rejected the attempt. */
  readonly loggedIn: boolean
}

/**
 * The way to a link.
 *
 * @since 0.1.0
 * @category models
 */
export type Pursuit =
  /** Opens as soon as nothing is closing any more. */
  | { readonly _tag: "Pending"; readonly since: number }
  | Opening
  | { readonly _tag: "Backoff"; readonly timer: number; readonly until: number; readonly failure: Failure }
  /** Too many restarts: rests until the cooldown allows one more try. */
  | { readonly _tag: "GaveUp"; readonly timer: number; readonly until: number; readonly failure: Failure }
  /** Trying again would not help: something has to change first. */
  | { readonly _tag: "Parked"; readonly failure: Failure }

/**
 * @since 0.1.0
 * @category models
 */
export type Phase =
  | { readonly _tag: "Removed" }
  | { readonly _tag: "Stopped"; readonly by: DisabledBy }
  /** A lazy server without demand. */
  | { readonly _tag: "Resting"; readonly since: number }
  | { readonly _tag: "Seeking"; readonly pursuit: Pursuit }
  /** Connected, and perhaps on the way to a link with a newer config. */
  | { readonly _tag: "Serving"; readonly routed: Routed; readonly replacement: Pursuit | undefined }

/**
 * Failures in a row. They are forgotten after enough uptime, by a command, or by a new config.
 *
 * @since 0.1.0
 * @category models
 */
export interface Streak {
  readonly failures: number
  /** When it was restarted by itself, as far back as the policy's window. */
  readonly restarts: ReadonlyArray<number>
  /** Why it was given up before, if it was: then the next failure gives up again at once. */
  readonly gaveUp: string | undefined
  readonly last: Kind | undefined
  /** Attempts in a row that failed for a shortage on our side. They are no failures of the server. */
  readonly shortages: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface State {
  readonly settings: Settings
  /** What commands want: as the config says, or against it. */
  readonly intent: "config" | "up" | "down"
  readonly phase: Phase
  readonly draining: Draining | undefined
  /** Generations on their way out. Nothing is opened before they are gone. */
  readonly closing: ReadonlyArray<number>
  /** The newest generation. Each attempt has its own. */
  readonly generation: number
  /** The newest timer. */
  readonly timer: number
  readonly streak: Streak
  /** How often it was restarted by itself. */
  readonly restarts: number
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const freshStreak: Streak = { failures: 0, restarts: [], gaveUp: undefined, last: undefined, shortages: 0 }

/**
 * The link that takes calls, if there is one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const routed = ({ phase }: State): Routed | undefined => (phase._tag === "Serving" ? phase.routed : undefined)

/**
 * The way to the next link, if one is sought.
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
 * The generation of the attempt being opened, if there is one.
 *
 * @since 0.1.0
 * @category accessors
 */
export const opening = (state: State): number | undefined => attempt(state)?.generation

/** The attempt being opened, if there is one. */
export const attempt = (state: State): Opening | undefined => {
  const current = pursuit(state)
  return current?._tag === "Opening" ? current : undefined
}

/**
 * A moment the machine wants to be told of.
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
 * The timers that are running in a state.
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
 * Whether the server was removed. Something of it may still be on its way out.
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
