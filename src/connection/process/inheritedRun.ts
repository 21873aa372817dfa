/**
 * The run of another supervisor that this process was started in, if it was: then our environment carries that run's tag. It
 * stays there. What this program starts besides its servers is part of that run, too.
 */
import { childVariable, runVariable } from "../stdio/StdioCommand.js"

/** The tag of that run. */
export const get = (): string | undefined => process.env[runVariable]

/** An environment without the tag, for a process that is not part of that run. */
export const without = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { [runVariable]: _run, [childVariable]: _child, ...rest } = env
  return rest
}
