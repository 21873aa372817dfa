/**
 * Handles SIGINT, SIGTERM and SIGHUP. The first signal shuts down everything in order. The second exits at once, and the exit of
 * the process kills the remaining server processes.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { exit } from "./terminal/exit.js"
import { nameList } from "./words/nameList.js"

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

type Signal = keyof typeof codes

/** The time after which the process exits even if the shutdown hangs. Longer than the budget of every shutdown. */
const lastResortMs = 8000

/** How long a shutdown may take before a message is printed. */
const momentMs = 300

export interface Signals {
  /** The exit code of the first signal, or `undefined` without a signal. */
  readonly code: () => number | undefined
  /** Removes the handlers. */
  readonly end: () => void
}

/** The servers that a shutdown waits for. Set by the part of the command that runs servers. */
let waitingFor: () => ReadonlyArray<string> = () => []

export const setShutdownNames = (names: () => ReadonlyArray<string>): void => {
  waitingFor = names
}

export const onSignals = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Signals => {
  let code: number | undefined
  const timers: Array<NodeJS.Timeout> = []
  const print = (text: string) => process.stderr.write(`${text}\n`)
  const handlers = (Object.keys(codes) as Array<Signal>).map((signal) => {
    const handler = () => {
      if (code !== undefined) {
        print("killed the remaining processes")
        return exit(codes[signal])
      }
      code = codes[signal]
      const notify = () => {
        const names = waitingFor()
        const waiting = names.length === 0 ? "" : `: waiting for ${nameList(names)}`
        print(`stopping${waiting} (repeat to kill the processes now)`)
      }
      timers.push(
        setTimeout(notify, momentMs),
        setTimeout(() => exit(codes[signal]), lastResortMs)
      )
      Effect.runFork(Fiber.interrupt(fiber))
    }
    process.on(signal, handler)
    return () => process.off(signal, handler)
  })
  return {
    code: () => code,
    end: () => {
      for (const remove of handlers) remove()
      for (const timer of timers) clearTimeout(timer)
    }
  }
}
