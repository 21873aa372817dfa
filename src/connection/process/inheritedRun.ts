/**
 * The tag of the outer run, if this process was started by a server of another supervisor. The tag stays in the environment of
 * this process: everything it starts, except for its servers, belongs to the outer run as well.
 */
import { childVariable, runVariable } from "../stdio/StdioCommand.js"

/** The tag of the outer run. */
export const get = (): string | undefined => process.env[runVariable]

/** An environment without the tag, for a process that does not belong to the outer run. */
export const without = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { [runVariable]: _run, [childVariable]: _child, ...rest } = env
  return rest
}
