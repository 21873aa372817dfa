import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, processesWith } from "../hostile/surface.js"
import { type Campaign, counted, pause, within } from "./campaign.js"
import { serverOf, stubborn } from "./kills.js"

const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const

interface Command {
  readonly words: ReadonlyArray<string>
  /** False if the command runs longer than any round: one server never responds, and the command waits for it. */
  readonly endsByItself?: boolean
}

/** The small size is one round of each of the first six. */
const commands: ReadonlyArray<Command> = [
  { words: ["serve", "--port", "0"] },
  { words: ["list", "--json"] },
  { words: ["tools"] },
  { words: ["status", "--watch"] },
  { words: ["call", "silent/it", "{}"] },
  { words: ["test", "silent"] },
  { words: ["call", "good/it", "{}"], endsByItself: true },
  { words: ["test", "good"], endsByItself: true }
]

/** The guarantee is five seconds; the rest is for starting and ending a process on a busy machine. */
const budget = 6_000

/** The time for a process to exit at once. */
const atOnce = 1_500

export const signals: Campaign = {
  name: "signals",
  guarantee:
    "A signal at any time ends any command in order within 5 s; a second signal ends it at once. The exit code is 130, 143 or 129, and no process is left behind.",
  run: async ({ isOver, log, random, size }) => {
    const rounds = size === "large" ? 72 : 6
    const violations: Array<string> = []
    let ran = 0
    let signalled = 0
    let doubled = 0
    let slowest = 0
    let slowestSecond = 0
    const one = async (round: number) => {
      const { endsByItself = false, words } = commands[round % (size === "large" ? commands.length : 6)]!
      const mark = newMark()
      const here = machine("signals")
      const directory = join(here.directory, "config", "mcp-supervisor")
      mkdirSync(directory, { recursive: true })
      writeFileSync(
        join(directory, "config.json"),
        JSON.stringify({ mcp: { ...stubborn(mark), silent: serverOf("silent", mark) } })
      )
      const signal = random.pick(names)
      // every second one, so that each size has some
      const second = round % 2 === 0 ? random.pick(names) : undefined
      const isEarly = second === undefined && random.chance(0.4)
      const after = random.between(0, isEarly ? 500 : 1_500)
      const secondAfter = random.between(50, 500)
      log(
        `round ${round}: ${signal} ${after} ms after ${isEarly ? "the start of" : "the first server in"} ${words.join(" ")}${
          second === undefined ? "" : `, ${second} ${secondAfter} ms later`
        }`
      )
      const child = await here.spawn(words)
      child.stdout.resume()
      child.stderr.resume()
      const ended = new Promise<number | string>((resolve) =>
        child.once("close", (code, signal) => resolve(signal ?? code ?? "nothing"))
      )
      const isRunning = () => child.exitCode === null && child.signalCode === null
      const patience = Date.now() + (isEarly ? 0 : 20_000)
      while (isRunning() && processesWith(mark).length === 0 && Date.now() < patience) await pause(20)
      await pause(after)
      ran += 1
      if (isRunning()) {
        signalled += 1
        let begin = performance.now()
        child.kill(signal)
        let last = signal
        let most = budget
        if (second !== undefined && (await within(secondAfter, ended)) === undefined) {
          doubled += 1
          last = second
          most = atOnce
          begin = performance.now()
          child.kill(second)
        }
        const code = await within(30_000, ended)
        const ms = Math.round(performance.now() - begin)
        if (most === budget) slowest = Math.max(slowest, ms)
        else slowestSecond = Math.max(slowestSecond, ms)
        if (ms > most) violations.push(`${words[0]} ended ${ms} ms after ${most === budget ? "" : "a second "}${last}`)
        const allowed = [
          codes[last],
          // it may have been about to exit
          ...(endsByItself ? [0] : []),
          // before its handlers are registered, the signal itself ends it
          ...(isEarly ? [last] : [])
        ]
        if (code === undefined || !allowed.includes(code as never))
          violations.push(`${words[0]} ended with ${code} after ${last}, not with ${codes[last]}`)
      } else if (!endsByItself || child.exitCode !== 0)
        violations.push(`${words.join(" ")} ended with ${child.exitCode} before the signal`)
      child.kill("SIGKILL")
      const left = await awaitNoProcess(mark, 2_000)
      if (left.length > 0) violations.push(`${words[0]} left ${left.length} processes`)
      for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
      here.remove()
    }
    for (let round = 0; round < rounds && !isOver(); round += 2) await Promise.all([one(round), one(round + 1)])
    if (signalled < ran / 2) violations.push(`only ${signalled} of ${ran} commands were signalled`)
    if (ran > 0 && doubled === 0) violations.push("no command was signalled twice")
    return {
      figures: {
        commands: ran,
        signalled,
        "signalled twice": doubled,
        "slowest end ms": slowest,
        "slowest end after the second ms": slowestSecond
      },
      violations: counted(violations)
    }
  }
}
