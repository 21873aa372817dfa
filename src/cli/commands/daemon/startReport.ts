/**
 * Sends the reason from a supervisor that fails to start in the background to the `start` command, over the IPC channel of the
 * child process. The log file cannot be used, because several attempts to start write to it.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

const key = "mcp-supervisor/startFailed"

/** The reason in a message of the channel. `undefined` for other messages. */
export const reasonIn = (message: unknown): string | undefined =>
  Predicate.hasProperty(message, key) && typeof message[key] === "string" ? message[key] : undefined

/** Sends the reason. Does nothing if this process was not started by `start`. */
export const send = (reason: string): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (process.send === undefined || !process.connected) return resume(Effect.void)
    process.send({ [key]: reason }, undefined, undefined, () => resume(Effect.void))
  }).pipe(Effect.timeoutOption("1 second"), Effect.ignore)
