import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Either } from "effect"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess } from "../hostile/surface.js"
import { type Campaign, counted, pause, within } from "./campaign.js"
import { supervised, textOf, worker } from "./support.js"

/** How often a call may have been executed, by its outcome. */
const executions: Readonly<Record<string, readonly [least: number, most: number]>> = {
  ok: [1, 1],
  OutcomeUnknown: [0, 1],
  NotSent: [0, 0],
  ServerUnavailable: [0, 0]
}

/** Longer than a call may wait for its server and its response. */
const settleBudget = 20_000

/** How often each tag was executed. */
const readJournals = (directory: string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const file of readdirSync(directory))
    for (const tag of readFileSync(join(directory, file), "utf8").split("\n"))
      if (tag !== "") counts.set(tag, (counts.get(tag) ?? 0) + 1)
  return counts
}

export const load: Campaign = {
  name: "load",
  guarantee:
    "Under load and kills, every call settles with its own result or a typed error, and every call with a result was executed exactly once.",
  run: async ({ random, seconds, size }) => {
    const mark = newMark()
    const servers = size === "large" ? 50 : 6
    const callers = size === "large" ? 2_000 : 200
    const violations: Array<string> = []
    /** The outcome of each call, by its tag. */
    const ends = new Map<string, string>()
    let begun = 0
    let kills = 0
    const journal = mkdtempSync(join(tmpdir(), "mcp-journal-"))
    const entry = { ...worker(mark, journal), restart: { base: 50, cap: 200, maxRestarts: "none" as const } }
    const names = Array.from({ length: servers }, (_, index) => `s${index}`)
    const { closeMs } = await supervised(Object.fromEntries(names.map((name) => [name, entry])), async (supervisor) => {
      const end = Date.now() + seconds * 1000
      const call = async (caller: number) => {
        for (let count = 0; Date.now() < end; count++) {
          const tag = `${caller}-${count}`
          begun += 1
          const args = { tag, ms: random.between(0, 20), twice: random.chance(0.05) }
          const calling = Effect.runPromise(
            Effect.either(supervisor.callServerTool(random.pick(names), "echo", args, { waitForReady: "5 seconds" }))
          ).catch((defect: unknown) => `a call died: ${String(defect).slice(0, 100)}`)
          const result = await within(settleBudget, calling)
          if (result === undefined) return void violations.push(`a call did not settle within ${settleBudget} ms`)
          if (typeof result === "string") {
            violations.push(result)
            continue
          }
          ends.set(tag, Either.match(result, { onLeft: ({ _tag }) => _tag, onRight: () => "ok" }))
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
            // it has already exited
          }
        }
      }
      await Promise.all([kill(), ...Array.from({ length: callers }, (_, caller) => call(caller))])
    })
    const left = await awaitNoProcess(mark, 2_000)
    if (left.length > 0) violations.push(`${left.length} processes are left`)
    if (closeMs > 6_000) violations.push(`the shutdown took ${closeMs} ms`)

    const executed = readJournals(journal)
    rmSync(journal, { recursive: true, force: true })
    for (const [tag, end] of ends) {
      const count = executed.get(tag) ?? 0
      const allowed = executions[end]
      if (allowed === undefined) violations.push(`a call ended with ${end}`)
      else if (count < allowed[0] || count > allowed[1])
        violations.push(`a call that ended with ${end} was executed ${count} times`)
    }
    const ok = [...ends.values()].filter((end) => end === "ok").length
    // with fewer calls or kills, neither was tested
    if (ok < callers || ok < begun / 2) violations.push(`only ${ok} of ${begun} calls were answered`)
    if (kills < seconds) violations.push(`only ${kills} servers were killed`)
    return {
      figures: { calls: begun, ok, failed: begun - ok, kills, "shutdown ms": closeMs },
      violations: counted(violations)
    }
  }
}
