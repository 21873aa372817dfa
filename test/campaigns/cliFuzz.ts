import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, processesWith } from "../hostile/surface.js"
import { type Campaign, counted } from "./campaign.js"
import { worker } from "./support.js"

/** Commands that end by themselves. */
const commands =
  `list status add remove enable disable connect disconnect restart reload test tools call resources read prompts
  prompt auth logout debug logs events stop config import trust completions help nonsense`.split(/\s+/)

const words = [
  "",
  " ",
  "\u202e",
  "x".repeat(5_000),
  "[".repeat(2_000),
  ...`a b nothing a/echo a_echo - -- é __proto__ ../.. / {} {"tag":"x"} { [] null "text" bash zsh cursor list global project
    --help --json --standalone --nonsense --config --cwd --state-dir --url http://127.0.0.1:9/ --command true --env K=V
    --header H=V --scope k=v = 0 -1 1e9`.split(/\s+/)
]

/** Valid command lines, so that more than the parser is tested. */
const sensible = [
  ["list"],
  ["status", "a"],
  ["status", "b"],
  ["tools", "a"],
  ["call", "a/echo", '{"tag":"x"}'],
  ["call", "a/nothing", "{}"],
  ["test", "a"],
  ["config"],
  ["disable", "a"],
  ["add", "c", "--command", "true"],
  ["remove", "a"]
]

/** Commands that report problems of a server or a tool on stdout, with an exit code for a failure. */
const reports = new Set(["status", "test", "debug", "call"])

const isJson = (text: string) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export const cliFuzz: Campaign = {
  name: "cli-fuzz",
  guarantee:
    "Every command line ends with an exit code from 0 to 3, prints valid JSON with --json, reports errors on stderr and nothing else on stdout, and never prints a stack trace.",
  run: async ({ isOver, log, random, size }) => {
    const total = size === "large" ? 300 : 24
    const mark = newMark()
    const here = machine("cli")
    const directory = join(here.directory, "config", "mcp-supervisor")
    mkdirSync(directory, { recursive: true })
    const config = JSON.stringify({ mcp: { a: worker(mark), b: { ...worker(mark), enabled: false } } })
    const violations: Array<string> = []
    const codes = new Map<number | null, number>()
    const one = async () => {
      const line = random.chance(0.2)
        ? [...random.pick(sensible)]
        : [random.pick(commands), ...Array.from({ length: random.between(0, 4) }, () => random.pick(words))]
      if (random.chance(0.5)) line.push("--json")
      writeFileSync(join(directory, "config.json"), config)
      const shown = line.map((word) => JSON.stringify(word.slice(0, 40))).join(" ")
      log(shown)
      const { code, signal, stderr, stdout } = await here.run(line, { limit: 40_000 })
      codes.set(code, (codes.get(code) ?? 0) + 1)
      if (code === null || code > 3) violations.push(`${shown}: ended with ${code ?? signal}`)
      if (/\n\s+at \S+ \(?\S+:\d+:\d+|please report/.test(stderr + stdout)) violations.push(`${shown}: a stack trace`)
      const isAsked = line.includes("--json") && !line.includes("--help") && !line.includes("--")
      if (isAsked && stdout.trim() !== "" && !["completions", "help"].includes(line[0]!))
        if (!isJson(stdout) && !stdout.trim().split("\n").every(isJson)) violations.push(`${shown}: no JSON`)
      if (code !== null && code > 0) {
        const isReport = reports.has(line[0]!) && stdout.trim() !== ""
        if (stdout !== "" && !isReport)
          violations.push(`${shown}: failed with ${code}, but prints ${JSON.stringify(stdout.slice(0, 100))}`)
        if (stderr.trim() === "" && !isReport) violations.push(`${shown}: failed with ${code} and says nothing`)
      }
    }
    for (let count = 0; count < total && !isOver(); count += 4) await Promise.all([one(), one(), one(), one()])
    await here.run(["stop"])
    const left = await awaitNoProcess(mark, 5_000)
    if (left.length > 0) violations.push(`${left.length} processes are left`)
    for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
    here.remove()
    const ran = [...codes.values()].reduce((sum, count) => sum + count, 0)
    // mostly random words, some of them valid command lines
    if (ran > 0 && (codes.get(0) ?? 0) === 0) violations.push(`none of ${ran} command lines succeeded`)
    const figures = Object.fromEntries([...codes].sort().map(([code, count]) => [`exit ${code}`, count]))
    return { figures: { commands: ran, ...figures }, violations: counted(violations) }
  }
}
