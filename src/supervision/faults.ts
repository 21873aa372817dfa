/**
 * Handles faults: unexpected exceptions of the supervisor or of a plugged-in part. Their messages may contain secrets.
 */
import * as Cause from "effect/Cause"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { defined } from "../domain/internal/defined.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import { type ConnectionError, UnexpectedFailure } from "../domain/Errors.js"
import * as Secrets from "../domain/Secrets.js"
import * as ServerConfig from "../domain/server/ServerConfig.js"

/**
 * Removes the secrets of a server from a diagnostic: servers repeat the values they were given in names and schemas.
 */
export const scrubbed = (config: ServerConfig.ServerConfig): ((diagnostic: Diagnostic) => Diagnostic) => {
  const scrub = Secrets.scrub(ServerConfig.secrets(config))
  return (diagnostic) => ({
    ...diagnostic,
    message: scrub(diagnostic.message),
    ...defined({ subject: diagnostic.subject === undefined ? undefined : scrub(diagnostic.subject) })
  })
}

/** The first line of a fault's message, without the secrets of the server. */
export const faultText = (config: ServerConfig.ServerConfig | undefined, cause: Cause.Cause<unknown>): string => {
  const line = Cause.pretty(cause).split("\n")[0] ?? ""
  return config === undefined ? line : Secrets.scrub(ServerConfig.secrets(config))(line)
}

/** The stack frames of a fault, without its message. */
export const faultPlace = (cause: Cause.Cause<unknown>): string =>
  Chunk.toReadonlyArray(Cause.defects(cause))
    .flatMap((defect) => (defect instanceof Error ? placesOf(defect) : []))
    .slice(0, 5)
    .join(" ")

const placesOf = ({ message, stack = "" }: Error): ReadonlyArray<string> => {
  // A line of the message may look like a stack frame.
  const text = stack.indexOf(message)
  const places = text < 0 ? "" : stack.slice(text + message.length)
  return places
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
}

/** The error that ended a connection. A fault becomes an `UnexpectedFailure`. */
export const reasonOf = (
  server: string,
  config: ServerConfig.ServerConfig,
  cause: Cause.Cause<ConnectionError>
): ConnectionError =>
  Option.getOrElse(
    Cause.failureOption(cause),
    () => new UnexpectedFailure({ server, detail: faultText(config, cause) })
  )

/** Turns a fault into an `UnexpectedFailure`. Pass the config that was dialled: it contains all secrets to remove. */
export const contain =
  (server: string, config: () => ServerConfig.ServerConfig) =>
  <A, R>(effect: Effect.Effect<A, ConnectionError, R>): Effect.Effect<A, ConnectionError, R> =>
    Effect.catchAllCause(effect, (cause) =>
      Cause.isInterruptedOnly(cause) ? Effect.failCause(cause) : Effect.fail(reasonOf(server, config(), cause))
    )
