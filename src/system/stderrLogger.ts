import type * as Logger from "effect/Logger"
import * as HashSet from "effect/HashSet"
import { defaultLogger, logfmtLogger, withConsoleError } from "effect/Logger"

/** What a program prints is its own business: where nobody chose how to log, our log goes to stderr. */
export const defaultToStderr = (loggers: HashSet.HashSet<Logger.Logger<unknown, unknown>>) =>
  HashSet.has(loggers, defaultLogger) ? HashSet.add(HashSet.remove(loggers, defaultLogger), stderrLogger) : loggers

const stderrLogger = withConsoleError(logfmtLogger)
