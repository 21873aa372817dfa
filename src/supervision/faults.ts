/**
 * Faults: what our own code, or a part that somebody plugged in, throws without having said that it might. Their texts may
 * hold anything.
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

/** Hides the secrets of a server in what is said about it: servers put what they are given into names and schemas. */
export const scrubbed = (config: ServerConfig.ServerConfig): ((diagnostic: Diagnostic) => Diagnostic) => {
  const scrub = Secrets.scrub(ServerConfig.secrets(config))
  return (diagnostic) => ({
    ...diagnostic,
    message: scrub(diagnostic.message),
    ...defined({ subject: diagnostic.subject === undefined ? undefined : scrub(diagnostic.subject) })
  })
}

/** What a fault says, in one line and without the secrets of the server it happened to. */
export const faultText = (config: ServerConfig.ServerConfig | undefined, cause: Cause.Cause<unknown>): string => {
  const line = Cause.pretty(cause).split("\n")[0] ?? ""
  return config === undefined ? line : Secrets.scrub(ServerConfig.secrets(config))(line)
}

/** Where in the code a fault happened, without its text. */
export const faultPlace = (cause: Cause.Cause<unknown>): string =>
  Chunk.toReadonlyArray(Cause.defects(cause))
    .flatMap((defect) => (defect instanceof Error ? placesOf(defect) : []))
    .slice(0, 5)
    .join(" ")

const placesOf = ({ message, stack = "" }: Error): ReadonlyArray<string> => {
  // a text of several lines may look like a place
  const text = stack.indexOf(message)
  const places = text < 0 ? "" : stack.slice(text + message.length)
  return places
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
}

/** Why a connection ended, also if a fault ended it. */
export const reasonOf = (
  server: string,
  config: ServerConfig.ServerConfig,
  cause: Cause.Cause<ConnectionError>
): ConnectionError =>
  Option.getOrElse(
    Cause.failureOption(cause),
    () => new UnexpectedFailure({ server, detail: faultText(config, cause) })
  )

/** Makes a fault an error like any other. The config is the one that was really used, with all its secrets. */
export const contain =
  (server: string, config: () => ServerConfig.ServerConfig) =>
  <A, R>(effect: Effect.Effect<A, ConnectionError, R>): Effect.Effect<A, ConnectionError, R> =>
    Effect.catchAllCause(effect, (cause) =>
      Cause.isInterruptedOnly(cause) ? Effect.failCause(cause) : Effect.fail(reasonOf(server, config(), cause))
    )
