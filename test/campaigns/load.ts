import { Effect, Either } from "effect"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess } from "../hostile/surface.js"
import { type Campaign, counted, pause } from "./campaign.js"
import { supervised, textOf, worker } from "./support.js"

export const load: Campaign = {
  name: "load",
  guarantee: "Under load and kills, every call settles exactly once and with its own answer or a typed error.",
  run: async ({ random, seconds, size }) => {
    const mark = newMark()
    const servers = size === "large" ? 50 : 6
    const callers = size === "large" ? 2_000 : 200
    const violations: Array<string> = []
    const outcomes = new Map<string, number>()
    let begun = 0
    let settled = 0
    let kills = 0
    const entry = { ...worker(mark), restart: { base: 50, cap: 200, maxRestarts: "none" as const } }
    const names = Array.from({ length: servers }, (_, index) => `s${index}`)
    const { closeMs } = await supervised(Object.fromEntries(names.map((name) => [name, entry])), async (supervisor) => {
      const end = Date.now() + seconds * 1000
      const call = async (caller: number) => {
        for (let count = 0; Date.now() < end; count++) {
          const tag = `${caller}-${count}`
          begun += 1
          const args = { tag, ms: random.between(0, 20) }
          const result = await Effect.runPromise(
            Effect.either(supervisor.callServerTool(random.pick(names), "echo", args, { waitForReady: "5 seconds" }))
          ).catch((defect: unknown) => {
            violations.push(`a call died: ${String(defect).slice(0, 100)}`)
            return undefined
          })
          settled += 1
          if (result === undefined) continue
          const outcome = Either.match(result, { onLeft: ({ _tag }) => _tag, onRight: () => "ok" })
          outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
          if (Either.isRight(result) && textOf(result.right) !== tag)
            violations.push("a call got the answer of another")
        }
      }
      const kill = async () => {
        while (Date.now() < end) {
          await pause(random.between(20, 200))
          const { pid } = random.pick(await Effect.runPromise(supervisor.servers))
          if (pid === undefined) continue
          try {
            process.kill(pid, "SIGKILL")
            kills += 1
          } catch {
            // it has ended in the meantime
          }
        }
      }
      await Promise.all([kill(), ...Array.from({ length: callers }, (_, caller) => call(caller))])
    })
    if (settled !== begun) violations.push(`${begun - settled} of ${begun} calls did not settle`)
    const typed = ["ok", "OutcomeUnknown", "NotSent", "ServerUnavailable"]
    for (const outcome of outcomes.keys()) if (!typed.includes(outcome)) violations.push(`a call ended with ${outcome}`)
    const left = await awaitNoProcess(mark, 2_000)
    if (left.length > 0) violations.push(`${left.length} processes are left`)
    if (closeMs > 6_000) violations.push(`the shutdown took ${closeMs} ms`)
    return {
      figures: {
        calls: begun,
        ok: outcomes.get("ok") ?? 0,
        failed: begun - (outcomes.get("ok") ?? 0),
        kills,
        "shutdown ms": closeMs
      },
      violations: counted(violations)
    }
  }
}
