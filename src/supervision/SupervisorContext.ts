/**
 * What the actors of one supervisor share, and what they tell it.
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
  /** Starts a fiber that knows nothing of whoever asked for it: no span, no scope, no log annotations. Its owner is whoever keeps it. */
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.RuntimeFiber<A, E>
  readonly events: EventLog
  /** So many processes are started at a time. */
  readonly spawns: Turns
  /** So many remote servers are dialled at a time. */
  readonly dials: Turns
  readonly handlers: Omit<Handlers, "roots">
  readonly roots: ReadonlyArray<string>
  /** What is said of a server that is no longer there: it was removed, or everything was. */
  readonly goneError: (server: string) => ServerNotFound | SupervisorClosed
  readonly headers:
    | ((
        server: string,
        reason: "connect" | "unauthorized"
      ) => Effect.Effect<Readonly<Record<string, Redacted.Redacted<string>>>>)
    | undefined
}

/** Milliseconds on the clock that stands still while the machine sleeps. */
export const monotonic = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6
