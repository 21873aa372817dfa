/**
 * How a supervisor that fails to start in the background tells `start` why: over a channel of their own. The log is shared with
 * other attempts to start and cannot tell them apart.
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"

const key = "mcp-supervisor/startFailed"

/** The reason in a message of the channel, if it is one of ours. */
export const reasonIn = (message: unknown): string | undefined =>
  Predicate.hasProperty(message, key) && typeof message[key] === "string" ? message[key] : undefined

/** Sends why this process fails, if `start` listens. */
export const send = (reason: string): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (process.send === undefined || !process.connected) return resume(Effect.void)
    process.send({ [key]: reason }, undefined, undefined, () => resume(Effect.void))
  }).pipe(Effect.timeoutOption("1 second"), Effect.ignore)
