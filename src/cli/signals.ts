/**
 * The end that somebody asks for. The first signal ends everything in order; the second ends it at once: when our process exits,
 * what is left of the servers is killed with it.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { exit } from "./terminal/exit.js"
import { nameList } from "./words/nameList.js"

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

type Signal = keyof typeof codes

/** Longer than every budget there is: whatever still hangs then, hangs for ever. */
const lastResortMs = 8000

/** Before this long, nobody wonders. */
const momentMs = 300

export interface Signals {
  /** That of the first signal, if there was one. */
  readonly code: () => number | undefined
  readonly end: () => void
}

/** What is waited for while everything ends. Whoever runs servers says so. */
let waitingFor: () => ReadonlyArray<string> = () => []

export const whileEnding = (names: () => ReadonlyArray<string>): void => {
  waitingFor = names
}

export const onSignals = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Signals => {
  let code: number | undefined
  const timers: Array<NodeJS.Timeout> = []
  const say = (text: string) => process.stderr.write(`${text}\n`)
  const handlers = (Object.keys(codes) as Array<Signal>).map((signal) => {
    const handler = () => {
      if (code !== undefined) {
        say("killed what was left")
        return exit(codes[signal])
      }
      code = codes[signal]
      const tell = () => {
        const names = waitingFor()
        const whom = names.length === 0 ? "" : `: waiting for ${nameList(names)}`
        say(`stopping${whom} (again to kill at once)`)
      }
      timers.push(
        setTimeout(tell, momentMs),
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
