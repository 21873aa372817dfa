/**
 * The watchdog: ends a check of a server's schema that takes too long.
 */
import { createContext, Script } from "node:vm"

/** The longest time that a check may block the loop. */
const watchedMillis = 100

/** A busy machine may have been the slow one: a schema is given up after this many checks that were ended. */
const maxEnded = 2

/**
 * The watchdog of one schema. It costs some 100 µs for each check. Checks of an equal schema may have been ended before, and
 * each one that is ended is told.
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
    /** Whether the schema is not used any more. */
    isGivenUp: () => ended >= maxEnded
  }
}

export type Watchdog = ReturnType<typeof makeWatchdog>

/** Whether the watchdog ended a run. */
export const isTimeout = (error: unknown): boolean =>
  (error as NodeJS.ErrnoException | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

/** Many patterns are written without regard to the stricter rules of Unicode mode. */
const expressionOf = (pattern: string): RegExp => {
  try {
    return new RegExp(pattern, "u")
  } catch {
    return new RegExp(pattern)
  }
}

/** How ajv makes patterns. */
export const engine = Object.assign(expressionOf, { code: "pattern" })

const stage: { run: () => unknown } = { run: () => undefined }
let script: ((timeout: number) => unknown) | undefined
let watching = false

/** Node can only end what it runs as a script of its own. */
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
