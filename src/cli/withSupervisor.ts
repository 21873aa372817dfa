/**
 * A supervisor for a command: the running one, if it serves the same config files, else one of our own.
 */
import * as Effect from "effect/Effect"
import { CommandFailed } from "./failure.js"
import type { Failure, Reach } from "./Reach.js"
import { Screen } from "./Screen.js"
import type { Shared } from "./spec.js"
import * as Standalone from "./Standalone.js"

export interface Options {
  /** The servers it is about. Defaults to all. */
  readonly only?: ReadonlyArray<string> | ((name: string) => boolean) | undefined
}

export const withSupervisor = <A, E, R>(
  shared: Shared,
  { only }: Options,
  use: (reach: Reach) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | Failure, R | Screen> =>
  Effect.scoped(
    Effect.flatMap(
      Standalone.make(shared, { only: typeof only === "object" ? (name) => only.includes(name) : only }),
      use
    )
  )

/** Fails where no supervisor runs. */
export const withRunning = <A, E, R>(
  _shared: Shared,
  _use: (reach: Reach) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | Failure, R | Screen> => Effect.fail(new CommandFailed({ message: "no" }))

/** Does nothing where no supervisor runs. */
export const ifRunning = <A, E, R>(
  _shared: Shared,
  _use: (reach: Reach) => Effect.Effect<A, E, R>
): Effect.Effect<void, E | Failure, R> => Effect.void
