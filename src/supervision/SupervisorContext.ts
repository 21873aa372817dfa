/**
 * The services and limits that all actors of one supervisor share.
 */
import type * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import type * as Redacted from "effect/Redacted"
import type { Auth } from "../auth/Auth.js"
import type { Connector, Handlers } from "../connection/Connector.js"
import type { ServerNotFound, SupervisorClosed } from "../domain/Errors.js"
import type { Service as CatalogStore } from "./catalog/CatalogStore.js"
import type { EventLog } from "./EventLog.js"
import type { Turns } from "./servers/Turns.js"

export interface SupervisorContext {
  readonly connector: Context.Tag.Service<Connector>
  readonly auth: Auth
  readonly store: CatalogStore
  readonly clock: Clock.Clock
  /**
   * Forks a fiber without the caller's span, scope and log annotations. The caller has to keep the fiber and end it.
   */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  readonly events: EventLog
  /** Limits how many processes start at a time. */
  readonly spawns: Turns
  /** Limits how many remote servers are dialled at a time. */
  readonly dials: Turns
  readonly handlers: Omit<Handlers, "roots">
  readonly roots: ReadonlyArray<string>
  /** The error for a server that does not exist any more: it was removed, or the supervisor is closed. */
  readonly goneError: (server: string) => ServerNotFound | SupervisorClosed
  readonly headers:
    | ((
        server: string,
        reason: "connect" | "unauthorized"
      ) => Effect.Effect<Readonly<Record<string, Redacted.Redacted<string>>>>)
    | undefined
}

/** Monotonic milliseconds. This clock stops while the machine sleeps. */
export const monotonic = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6
