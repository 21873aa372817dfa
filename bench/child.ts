import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** A process of ours that answers one message at a time. */
export interface Child {
  readonly first: unknown
  readonly ask: (method: string, ...parameters: ReadonlyArray<unknown>) => Promise<unknown>
  readonly end: () => Promise<void>
}

/** A module beside this one, in a process of its own. It ends with us whatever happens: its channel closes. */
export const start = async (
  module: string,
  parameters: ReadonlyArray<string>,
  nodeOptions: ReadonlyArray<string> = []
): Promise<Child> => {
  // the SDK makes fetch warn about its many listeners, once per call
  const file = fileURLToPath(new URL(module, import.meta.url))
  const child = fork(file, [...parameters], {
    execArgv: ["--no-warnings", ...nodeOptions],
    stdio: ["ignore", "ignore", "inherit", "ipc"]
  })
  const first = await nextMessage(child, module)
  return {
    first,
    ask: async (method, ...rest) => {
      const answered = nextMessage(child, module)
      child.send({ method, parameters: rest })
      const { error, value } = (await answered) as { readonly error?: string; readonly value?: unknown }
      if (error !== undefined) throw new Error(`${module}: ${method} failed: ${error}`)
      return value
    },
    end: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = new Promise((resolve) => child.once("exit", resolve))
      if (child.connected) child.disconnect()
      await exited
    }
  }
}

const nextMessage = (child: ChildProcess, module: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const exited = (code: number | null) => reject(new Error(`${module} ended with ${code} before it answered`))
    child.once("exit", exited)
    child.once("message", (message) => {
      child.off("exit", exited)
      resolve(message)
    })
  })
