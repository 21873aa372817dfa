import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Machine, machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, embed, processesWith } from "../hostile/surface.js"
import { type Campaign, counted, pause, within } from "./campaign.js"

const hostileServer = fileURLToPath(new URL("../hostile/stdio.mjs", import.meta.url))

export const serverOf = (mode: string, mark: string) => ({
  command: process.execPath,
  args: [hostileServer, mode, "1", mark]
})

/** Servers that do not exit by themselves. */
export const stubborn = (mark: string) =>
  Object.fromEntries(
    ["good", "ignores-eof-and-signals", "grandchild", "grandchild-holds-stdout"].map((mode) => [
      mode,
      serverOf(mode, mark)
    ])
  )

/** The time after a kill of the supervisor until no process is left. */
const guardBudget = 3_000

/** A supervisor of one kind on one machine. */
interface Kind {
  readonly name: string
  readonly begin: (here: Machine, mark: string) => Promise<Running>
  /** Starts another supervisor in the same state directory and stops it in order. Returns the violations. */
  readonly again: (here: Machine, mark: string) => Promise<ReadonlyArray<string>>
}

interface Running {
  readonly child: ChildProcess
  readonly isUp: Promise<unknown>
  /** Starts an orderly shutdown. */
  readonly stop: () => void
}

const daemon: Kind = {
  name: "the daemon",
  begin: async (here, mark) => {
    const directory = join(here.directory, "config", "mcp-supervisor")
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, "config.json"), JSON.stringify({ mcp: stubborn(mark) }))
    const child = await here.spawn(["serve", "--port", "0", "--json"])
    child.stderr.resume()
    const isUp = within(30_000, once(child.stdout, "data"))
    return { child, isUp, stop: () => void child.kill("SIGTERM") }
  },
  again: async (here) => {
    const found: Array<string> = []
    for (const words of [["start", "--port", "0"], ["stop"]]) {
      const { code, stderr } = await here.run(words)
      if (code !== 0) found.push(`the next ${words[0]} exits with ${code}: ${stderr.slice(-200)}`)
    }
    return found
  }
}

const program: Kind = {
  name: "a program",
  begin: async (here, mark) => {
    const { child, perform, ready } = await embed(here, stubborn(mark))
    return { child, isUp: ready, stop: () => void perform({ do: "close" }) }
  },
  again: async (here, mark) => {
    const { child, exited, perform, ready } = await embed(here, stubborn(mark))
    const isDone = await within(
      30_000,
      (async () => {
        await ready
        await perform({ do: "close" })
        await exited
        return true
      })()
    ).catch((error: unknown) => String(error))
    child.kill("SIGKILL")
    return isDone === true ? [] : [`the next program did not start and end in order: ${isDone ?? "30 s"}`]
  }
}

export const kills: Campaign = {
  name: "kills",
  guarantee:
    "After kill -9 of the daemon or of a program with a supervisor, at any time, none of its processes is left after 3 s even if no command follows, no file is corrupt, and the next start works.",
  run: async ({ isOver, log, random, size }) => {
    const rounds = size === "large" ? 100 : 4
    const violations: Array<string> = []
    let killed = 0
    let withServers = 0
    let orphans = 0
    let atShutdown = 0
    const one = async (round: number) => {
      const kind = round % 2 === 0 ? daemon : program
      const mark = newMark()
      const here = machine("kills")
      const isShutdown = round % 4 >= 2
      const after = random.between(0, 1_500)
      log(
        `round ${round}: kill -9 of ${kind.name} ${after} ms after the ${isShutdown ? "beginning of the shutdown" : "start"}`
      )
      const { child, isUp, stop } = await kind.begin(here, mark)
      if (isShutdown) {
        await isUp
        const patience = Date.now() + 10_000
        while (processesWith(mark).length === 0 && Date.now() < patience) await pause(20)
        stop()
        atShutdown += 1
      }
      await pause(after)
      if (processesWith(mark).length > 0) withServers += 1
      child.kill("SIGKILL")
      killed += 1
      const left = await awaitNoProcess(mark, guardBudget)
      orphans += left.length
      if (left.length > 0) violations.push(`${left.length} processes of ${kind.name} are left 3 s after the kill`)
      violations.push(...corruptFiles(here.stateDir), ...(await kind.again(here, mark)))
      const later = await awaitNoProcess(mark, guardBudget)
      if (later.length > 0) violations.push(`processes of ${kind.name} are left after the next start and stop`)
      for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
      here.remove()
    }
    for (let round = 0; round < rounds && !isOver(); round += 2) await Promise.all([one(round), one(round + 1)])
    // without a running server, nothing could be left
    if (withServers < killed / 4) violations.push(`only ${withServers} of ${killed} kills found a server running`)
    return {
      figures: {
        kills: killed,
        "at shutdown": atShutdown,
        "with servers running": withServers,
        "orphans after 3 s": orphans
      },
      violations: counted(violations)
    }
  }
}

const corruptFiles = (directory: string): ReadonlyArray<string> =>
  (existsSync(directory) ? readdirSync(directory, { recursive: true, encoding: "utf8" }) : [])
    .filter((name) => name.endsWith(".json"))
    .filter((name) => {
      try {
        JSON.parse(readFileSync(join(directory, name), "utf8"))
        return false
      } catch {
        return true
      }
    })
    .map((name) => `${name} is corrupt`)
