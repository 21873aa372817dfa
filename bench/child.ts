import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"

/** A child process that answers one message at a time. */
export interface Child {
  readonly first: unknown
  readonly ask: (method: string, ...parameters: ReadonlyArray<unknown>) => Promise<unknown>
  readonly end: () => Promise<void>
  /** Ends it with SIGKILL. */
  readonly kill: () => Promise<void>
}

/**
 * Without NODE_EXTRA_CA_CERTS: no process uses TLS, and reading the certificates takes Node longer than to start.
 */
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env

/** Runs a module of this folder in a child process, which ends when its channel to this process closes. */
export const start = async (
  module: string,
  parameters: ReadonlyArray<string>,
  nodeOptions: ReadonlyArray<string> = []
): Promise<Child> => {
  const file = fileURLToPath(new URL(module, import.meta.url))
  const child = fork(file, [...parameters], {
    // the SDK makes fetch warn about many listeners, once per call
    execArgv: ["--no-warnings", ...nodeOptions],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env
  })
  const exitAfter = async (begin: () => void): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = new Promise((resolve) => child.once("exit", resolve))
    begin()
    await exited
  }
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
    end: () => exitAfter(() => child.connected && child.disconnect()),
    kill: () => exitAfter(() => child.kill("SIGKILL"))
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
