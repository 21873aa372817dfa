/**
 * The tag of the outer run, if this process was started by a server of another supervisor. The tag stays in the environment of
 * this process: everything it starts, except for its servers, belongs to the outer run as well.
 */
import { read, variables } from "../../system/environment.js"

/** The tag of the outer run. */
export const get = (): string | undefined => read(process.env, "run")

/** An environment without the tag, for a process that does not belong to the outer run. */
export const without = (env: NodeJS.ProcessEnv): NodeJS.ProcessEnv => {
  const { [variables.run]: _run, [variables.child]: _child, ...rest } = env
  return rest
}
