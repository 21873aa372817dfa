/**
 * The run of another supervisor that this process was started in, if it was: then our environment carries that run's tag.
 */
import { childVariable, runVariable } from "./StdioCommand.js"

let dropped: string | undefined

/** The tag of that run. */
export const get = (): string | undefined => process.env[runVariable] ?? dropped

/** Removes the tag from our environment: what we start from now on is ours. Gives what {@link get} gives. */
export const drop = (): string | undefined => {
  dropped = get()
  delete process.env[runVariable]
  delete process.env[childVariable]
  return dropped
}

/** An environment without the tag, for a process that is not part of that run. */
export const without = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { [runVariable]: _run, [childVariable]: _child, ...rest } = env
  return rest
}
