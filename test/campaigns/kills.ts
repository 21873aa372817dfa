import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, processesWith, serve } from "../hostile/surface.js"
import { type Campaign, counted, pause } from "./campaign.js"

const hostileServer = fileURLToPath(new URL("../hostile/stdio.mjs", import.meta.url))

/** Servers that do not end by themselves. */
export const stubborn = (mark: string) =>
  Object.fromEntries(
    ["good", "ignores-eof-and-signals", "grandchild", "grandchild-holds-stdout"].map((mode) => [
      mode,
      { command: process.execPath, args: [hostileServer, mode, "1", mark] }
    ])
  )

/** After a kill of the supervisor, so long until nothing is left. */
const guardBudget = 3_000

export const kills: Campaign = {
  name: "kills",
  guarantee:
    "After kill -9 of the daemon at any moment, none of its processes is left after 3 s without a further command, no file is corrupt, and the next start works.",
  run: async ({ log, random, size }) => {
    const rounds = size === "large" ? 100 : 2
    const violations: Array<string> = []
    let orphans = 0
    let atShutdown = 0
    const one = async (round: number) => {
      const mark = newMark()
      const here = machine("kills")
      const directory = join(here.directory, "config", "mcp-supervisor")
      mkdirSync(directory, { recursive: true })
      writeFileSync(join(directory, "config.json"), JSON.stringify({ mcp: stubborn(mark) }))
      const isShutdown = round % 3 === 1
      const after = random.between(0, 1_500)
      log(`round ${round}: kill -9 ${after} ms after the ${isShutdown ? "beginning of the shutdown" : "start"}`)
      if (isShutdown) {
        atShutdown += 1
        const { child } = await serve(here)
        child.kill("SIGTERM")
        await pause(after)
        child.kill("SIGKILL")
      } else {
        const child = await here.spawn(["serve", "--port", "0", "--json"])
        await pause(after)
        child.kill("SIGKILL")
      }
      const left = await awaitNoProcess(mark, guardBudget)
      orphans += left.length
      if (left.length > 0) violations.push("processes are left 3 s after the kill")
      violations.push(...corruptFiles(here.stateDir))
      const started = await here.run(["start", "--port", "0"])
      if (started.code !== 0)
        violations.push(`the next start exits with ${started.code}: ${started.stderr.slice(-200)}`)
      const stopped = await here.run(["stop"])
      if (stopped.code !== 0)
        violations.push(`the stop after it exits with ${stopped.code}: ${stopped.stderr.slice(-200)}`)
      const later = await awaitNoProcess(mark, guardBudget)
      if (later.length > 0) violations.push("processes are left after the next start and stop")
      for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
      here.remove()
    }
    for (let round = 0; round < rounds; round += 2) await Promise.all([one(round), one(round + 1)])
    return {
      figures: { kills: rounds, "at shutdown": atShutdown, "orphans after 3 s": orphans },
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
