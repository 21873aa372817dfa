/**
 * Aborts a check of a server's schema that takes too long.
 */
import { createContext, Script } from "node:vm"

/** The longest time for which a check may block the event loop. */
const watchedMillis = 100

/** A busy machine may be the reason for a timeout: a schema is given up after this many aborted checks. */
const maxEnded = 2

/**
 * Creates the watchdog of one schema. It costs about 100 µs for each check. `endedBefore` counts earlier aborted checks
 * of an equal schema; `onEnded` is called for each further one.
 */
export const makeWatchdog = (endedBefore: number, onEnded: () => void) => {
  let ended = endedBefore
  return {
    /** Runs a check. Throws if it takes too long. */
    watch: <A>(run: () => A, timeout?: number): A => {
      try {
        return watched(run, timeout)
      } catch (error) {
        if (isTimeout(error)) {
          ended += 1
          onEnded()
        }
        throw error
      }
    },
    /** Whether the schema is not checked any more. */
    isGivenUp: () => ended >= maxEnded
  }
}

export type Watchdog = ReturnType<typeof makeWatchdog>

/** Whether the watchdog aborted a run. */
export const isTimeout = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

/** Falls back to a pattern without the `u` flag: many patterns violate the stricter syntax of Unicode mode. */
const expressionOf = (pattern: string): RegExp => {
  try {
    return new RegExp(pattern, "u")
  } catch {
    return new RegExp(pattern)
  }
}

/** Creates the patterns of ajv. */
export const engine = Object.assign(expressionOf, { code: "pattern" })

const stage: { run: () => unknown } = { run: () => undefined }
let script: ((timeout: number) => unknown) | undefined
let watching = false

/** Runs a function with a time limit. Node can abort only code that it runs as a `Script`. */
export const watched = <A>(run: () => A, timeout = watchedMillis): A => {
  if (watching) return run()
  script ??= makeScript()
  stage.run = run
  watching = true
  try {
    return script(timeout) as A
  } finally {
    watching = false
    stage.run = () => undefined
  }
}

const makeScript = () => {
  const context = createContext(stage)
  const script = new Script("run()")
  return (timeout: number) => script.runInContext(context, { timeout })
}
