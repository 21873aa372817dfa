/**
 * Moves the log of the supervisor from stdout to stderr, unless the program chose its own logger.
 */
import type * as Logger from "effect/Logger"
import * as HashSet from "effect/HashSet"
import { defaultLogger, logfmtLogger, withConsoleError } from "effect/Logger"

/** Replaces Effect's default logger by one that writes to stderr: stdout belongs to the program. Other loggers stay. */
export const defaultToStderr = (loggers: HashSet.HashSet<Logger.Logger<unknown, unknown>>) =>
  HashSet.has(loggers, defaultLogger) ? HashSet.add(HashSet.remove(loggers, defaultLogger), stderrLogger) : loggers

const stderrLogger = withConsoleError(logfmtLogger)
