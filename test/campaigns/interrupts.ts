import { Effect, Exit, Fiber } from "effect"
import { newMark } from "../hostile/observe.js"
import { type Campaign, pause } from "./campaign.js"
import { supervised, textOf, worker } from "./support.js"

export const interrupts: Campaign = {
  name: "interrupts",
  guarantee: "An interrupted call returns at once, and the server hears exactly one cancel for each call it has seen.",
  run: async ({ random, size }) => {
    const total = size === "large" ? 10_000 : 1_000
    const violations: Array<string> = []
    const mark = newMark()
    const servers = { free: worker(mark), gated: { ...worker(mark), concurrency: 4 } }
    const { value } = await supervised(servers, async (supervisor) => {
      const interruptAll = async (server: string, count: number) => {
        const fibers = Array.from({ length: count }, () => Effect.runFork(supervisor.callServerTool(server, "never")))
        const exits = await Promise.all(
          fibers.map(async (fiber) => {
            // some before anything is sent
            if (random.chance(0.8)) await pause(random.between(0, 300))
            return Effect.runPromise(Fiber.interrupt(fiber))
          })
        )
        const others = exits.filter((exit) => !Exit.isInterrupted(exit))
        if (others.length > 0) violations.push(`${others.length} calls to ${server} were not interrupted`)
      }
      const countsOf = async (server: string): Promise<{ readonly calls: number; readonly cancels: number }> =>
        JSON.parse(textOf(await Effect.runPromise(supervisor.callServerTool(server, "counts"))))
      await interruptAll("free", total)
      await interruptAll("gated", Math.min(total, 900))
      const free = await countsOf("free")
      const gated = await countsOf("gated")
      return { free, gated }
    })
    for (const [server, { calls, cancels }] of Object.entries(value))
      if (calls !== cancels) violations.push(`${server} saw ${calls} calls and ${cancels} cancels`)
    return {
      figures: {
        interrupted: total + Math.min(total, 900),
        "calls seen": value.free.calls,
        cancels: value.free.cancels
      },
      violations
    }
  }
}
