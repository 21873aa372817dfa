/**
 * Describes the failures of commands, and maps them to exit codes.
 */
import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"
import { EditRefused } from "../domain/Errors.js"
import { excerpt } from "../domain/internal/excerpt.js"

/** The options and arguments do not fit together. */
export class WrongUsage extends Data.TaggedError("WrongUsage")<{ readonly message: string }> {}

/** A command failed for a reason that is no error of the supervisor. */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly message: string
  readonly code?: 1 | 2 | 3 | undefined
}> {}

/** The named server is declared by a project file and is not approved. */
export const notApproved = (name: string): CommandFailed =>
  new CommandFailed({
    message: `${name} is declared by a project file and is not approved; to review and approve it: mcp-supervisor trust`,
    code: 3
  })

const codes: Readonly<Record<string, number>> = {
  WrongUsage: 2,
  InvalidConfig: 2,
  InvalidArguments: 2,
  UnsafeBind: 2,
  WeakToken: 2,
  // The named server is not usable.
  ServerNotFound: 3,
  ServerUnavailable: 3,
  AuthRequired: 3,
  RequiredServerFailed: 3
}

/** Returns 1 for a failure, 2 for invalid usage or an invalid config, and 3 if the named server is not usable. */
export const exitCodeOf = (error: unknown): number => {
  if (error instanceof CommandFailed) return error.code ?? 1
  // Issues mean that the config file is invalid.
  if (error instanceof EditRefused) return error.issues.length > 0 ? 2 : 1
  return Predicate.hasProperty(error, "_tag") && typeof error._tag === "string" ? (codes[error._tag] ?? 1) : 1
}

/** Returns the message of a failure. Each issue of a config has its own line. */
export const describe = (error: unknown): string => {
  if (!Predicate.hasProperty(error, "message") || typeof error.message !== "string") return String(error)
  // No path is longer, so a longer word is input and is shortened.
  const message = error.message.replace(/\S{4097,}/g, excerpt)
  return message === "" && Predicate.hasProperty(error, "_tag") ? String(error._tag) : message
}
