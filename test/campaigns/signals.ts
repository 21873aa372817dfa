import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, processesWith } from "../hostile/surface.js"
import { type Campaign, counted, pause } from "./campaign.js"
import { stubborn } from "./kills.js"

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["serve", "--port", "0"],
  ["list", "--json"],
  ["tools"],
  ["status", "--watch"],
  ["call", "good/it", "{}"],
  ["test", "good"]
]

export const signals: Campaign = {
  name: "signals",
  guarantee:
    "A signal at any moment ends any command in order within its budget, with exit code 130, 143 or 129, and leaves no process.",
  run: async ({ log, random, size }) => {
    const rounds = size === "large" ? 72 : 6
    const violations: Array<string> = []
    let signalled = 0
    let slowest = 0
    const one = async (round: number) => {
      const words = commands[round % commands.length]!
      const mark = newMark()
      const here = machine("signals")
      const directory = join(here.directory, "config", "mcp-supervisor")
      mkdirSync(directory, { recursive: true })
      writeFileSync(join(directory, "config.json"), JSON.stringify({ mcp: stubborn(mark) }))
      const signal = random.pick(["SIGINT", "SIGTERM", "SIGHUP"] as const)
      const isEarly = random.chance(0.2)
      const after = random.between(0, isEarly ? 500 : 1_500)
      log(
        `round ${round}: ${signal} ${after} ms after ${isEarly ? "the start of" : "the first server in"} ${words.join(" ")}`
      )
      const child = await here.spawn(words)
      child.stdout.resume()
      child.stderr.resume()
      const ended = new Promise<number | string | null>((resolve) =>
        child.once("close", (code, signal) => resolve(signal ?? code))
      )
      const isRunning = () => child.exitCode === null && child.signalCode === null
      const patience = Date.now() + (isEarly ? 0 : 20_000)
      while (isRunning() && processesWith(mark).length === 0 && Date.now() < patience) await pause(20)
      await pause(after)
      if (isRunning()) {
        signalled += 1
        const begin = performance.now()
        child.kill(signal)
        const code = await Promise.race([ended, pause(30_000).then(() => "nothing within 30 s")])
        slowest = Math.max(slowest, Math.round(performance.now() - begin))
        // a command that was about to end may be faster; before its handlers are there, the signal itself ends it
        const allowed = [codes[signal], 0, ...(isEarly ? [signal] : [])]
        if (!allowed.includes(code as never))
          violations.push(`${words[0]} ended with ${code} after ${signal}, not with ${codes[signal]}`)
      } else if (child.exitCode !== 0) violations.push(`${words[0]} ended with ${child.exitCode} before the signal`)
      child.kill("SIGKILL")
      const left = await awaitNoProcess(mark, 2_000)
      if (left.length > 0) violations.push(`${words[0]} left ${left.length} processes`)
      for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
      here.remove()
    }
    for (let round = 0; round < rounds; round += 2) await Promise.all([one(round), one(round + 1)])
    if (slowest > 8_000) violations.push(`an end took ${slowest} ms`)
    return { figures: { commands: rounds, signalled, "slowest end ms": slowest }, violations: counted(violations) }
  }
}
