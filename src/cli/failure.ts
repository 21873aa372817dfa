/**
 * How a command ends other than well: what is said, and the exit code.
 */
import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"
import { EditRefused } from "../domain/Errors.js"
import { excerpt } from "../domain/internal/excerpt.js"

/** The words make no sense together. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}

/** It did not work, for a reason that no error of the supervisor stands for. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  readonly code?: 1 | 2 | 3 | undefined
}> {}

/** A server of the project was named that may not run yet. */
export const notApproved = (name: string): CommandFailed =>
  new CommandFailed({
    message: `${name} comes with the project and is not approved; look at it, then: mcp-supervisor trust`,
    code: 3
  })

const codes: Readonly<Record<string, number>> = {
  WrongUsage: 2,
  InvalidConfig: 2,
  InvalidArguments: 2,
  UnsafeBind: 2,
  WeakToken: 2,
  // a server that was named is not usable
  ServerNotFound: 3,
  ServerUnavailable: 3,
  AuthRequired: 3,
  RequiredServerFailed: 3
}

/** 1 failed, 2 wrong usage or bad config, 3 a named server is not usable. */
export const exitCodeOf = (error: unknown): number => {
  if (error instanceof CommandFailed) return error.code ?? 1
  // the file as it is is wrong, or it is right and something else is
  if (error instanceof EditRefused) return error.issues.length > 0 ? 2 : 1
  return Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" ? (codes[error._tag] ?? 1) : 1
}

/** One sentence or more for people; every issue of a config on a line of its own. */
export const describe = (error: unknown): string => {
  if (!Predicate.hasProperty(error, "message") || typeof error.message !== "string") return String(error)
  // no path is longer than this: a longer word was given to us
  const message = error.message.replace(/\S{4097,}/g, excerpt)
  return message === "" && Predicate.hasProperty(error, "_tag") ? String(error._tag) : message
}
