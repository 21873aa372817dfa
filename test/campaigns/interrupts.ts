import { Effect, Exit, Fiber } from "effect"
import { newMark } from "../hostile/observe.js"
import { type Campaign, counted, pause } from "./campaign.js"
import { supervised, textOf, worker } from "./support.js"

interface Counts {
  readonly calls: number
  readonly cancels: number
  /** Calls with no cancellation, or with several. */
  readonly notOnce: number
  /** Cancellations of calls that the server has not received. */
  readonly strangers: number
}

/** The number of concurrent calls to a server with a limit. */
const concurrency = 4

/** The limit for an interrupt: many run at once, and the machine may be busy. A call that is awaited never returns. */
const atOnceMs = 1_000

export const interrupts: Campaign = {
  name: "interrupts",
  guarantee:
    "An interrupted call returns at once, and the server receives exactly one cancellation for each call it has received.",
  run: async ({ random, size }) => {
    const total = size === "large" ? 10_000 : 1_000
    const gatedTotal = Math.min(total, 900)
    const violations: Array<string> = []
    const mark = newMark()
    const servers = { free: worker(mark), gated: { ...worker(mark), concurrency } }
    let slowest = 0
    const { value } = await supervised(servers, async (supervisor) => {
      const interruptAll = async (server: string, count: number) => {
        const fibers = Array.from({ length: count }, () => Effect.runFork(supervisor.callServerTool(server, "never")))
        const exits = await Promise.all(
          fibers.map(async (fiber) => {
            // some before anything is sent
            if (random.chance(0.8)) await pause(random.between(0, 300))
            const begin = performance.now()
            const exit = await Effect.runPromise(Fiber.interrupt(fiber))
            slowest = Math.max(slowest, Math.round(performance.now() - begin))
            return exit
          })
        )
        const others = exits.filter((exit) => !Exit.isInterrupted(exit))
        if (others.length > 0) violations.push(`${others.length} calls to ${server} were not interrupted`)
      }
      const countsOf = async (server: string): Promise<Counts> =>
        JSON.parse(textOf(await Effect.runPromise(supervisor.callServerTool(server, "counts"))))
      await interruptAll("free", total)
      await interruptAll("gated", gatedTotal)
      return { free: await countsOf("free"), gated: await countsOf("gated") }
    })
    for (const [server, { calls, cancels, notOnce, strangers }] of Object.entries(value)) {
      if (notOnce > 0)
        violations.push(`${server} saw ${calls} calls and ${cancels} cancels: for ${notOnce} calls not exactly one`)
      if (strangers > 0) violations.push(`${server} heard ${strangers} cancels of calls it has not seen`)
    }
    // with fewer calls, hardly any interrupt was tested
    if (value.free.calls < total / 10) violations.push(`free saw only ${value.free.calls} of ${total} calls`)
    if (value.gated.calls < concurrency) violations.push(`gated saw only ${value.gated.calls} calls`)
    if (slowest > atOnceMs) violations.push(`an interrupt took ${slowest} ms`)
    return {
      figures: {
        interrupted: total + gatedTotal,
        "calls seen": value.free.calls + value.gated.calls,
        cancels: value.free.cancels + value.gated.cancels,
        "slowest interrupt ms": slowest
      },
      violations: counted(violations)
    }
  }
}
