/**
 * Records the commands of the README's picture with the built program, and writes them to `docs/picture.json`. Times, durations and
 * process ids are replaced by fixed ones, so that a new recording differs only if the output of the program does.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { Recorded } from "./picture.js"

const fromRoot = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url))

const home = mkdtempSync(join(tmpdir(), "picture-"))
const { PATH } = process.env
const env = { PATH, HOME: home, TERM: "xterm-256color", MCP_SUPERVISOR_STATE_DIR: join(home, "state") }

const spawned = (program: string, words: ReadonlyArray<string>): string => {
  const { status, stderr, stdout } = spawnSync(program, words, { cwd: home, env, encoding: "utf8" })
  if (status !== 0) throw new Error(`${program} ${words.join(" ")} ended with ${status}: ${stderr}`)
  return stdout
}

const bin = fromRoot("dist/bin/mcp-supervisor.js")

const inPipe = (words: ReadonlyArray<string>): string => spawned(process.execPath, [bin, ...words])

const onTerminal = (words: ReadonlyArray<string>): string =>
  spawned("python3", [fromRoot("test/live/support/terminal.py"), "100", "40", "[]", process.execPath, bin, ...words])

const linesOf = (output: string): ReadonlyArray<string> =>
  output
    // What a spinner draws is erased before the output follows.
    // oxlint-disable-next-line no-control-regex
    .replace(/^[^\n]*\r\u001b\[2K/gm, "")
    .replaceAll("\r", "")
    .trimEnd()
    .split("\n")

/** Replaces process ids in the order of their appearance. */
const fixedPids = new Map<string, number>()

const fixed = (line: string, seconds = 6): string =>
  line
    .replace(/(?<=pid )\d+/g, (pid) => {
      if (!fixedPids.has(pid)) fixedPids.set(pid, 4301 + fixedPids.size)
      return String(fixedPids.get(pid))
    })
    .replace(/(?<=for )\d+ s\b/g, `${seconds} s`)
    .replace(/(?<=after )\d+ ms\b/g, "12 ms")

/** Milliseconds after the first shown event. */
const eventTimes = [0, 35, 58, 578, 610, 935]

const fixedTime = (line: string, index: number): string =>
  line.replace(/^\S+/, `07:12:${(31.558 + eventTimes[index]! / 1000).toFixed(3)}`)

const call = (name: string, comment?: string): Recorded => ({
  command: `mcp-supervisor call greet_greet '{"name":"${name}"}'`,
  ...(comment === undefined ? {} : { comment }),
  output: linesOf(onTerminal(["call", "greet_greet", `{"name":"${name}"}`]))
})

const record = (): ReadonlyArray<Recorded> => {
  inPipe(["start", "--demo", "--port", "0"])
  while (/◌/.test(inPipe(["list"])));
  const list = linesOf(onTerminal(["list"])).map((line) => fixed(line))
  const first = call("Ada")
  const [, pid = ""] = /^pid +(\d+)/m.exec(inPipe(["status", "greet"])) ?? []
  process.kill(Number(pid), "SIGKILL")
  const second = call("Bob", "waits for the restart")
  const events = inPipe(["events"]).trimEnd().split("\n").slice(-eventTimes.length)
  const restarted = inPipe(["list"])
    .split("\n")
    .filter((line) => line.includes("greet"))
  return [
    { command: "mcp-supervisor list", output: list },
    first,
    { command: `kill -9 ${fixedPids.get(pid)}`, comment: "greet crashes", output: [] },
    second,
    { command: "mcp-supervisor list | grep greet", output: restarted.map((line) => fixed(line, 1)) },
    {
      command: `mcp-supervisor events | tail -${eventTimes.length}`,
      output: events.map((line, index) => fixedTime(fixed(line), index))
    }
  ]
}

try {
  writeFileSync(fromRoot("docs/picture.json"), `${JSON.stringify(record(), null, 2)}\n`)
  console.log("wrote docs/picture.json")
} finally {
  inPipe(["stop"])
  rmSync(home, { recursive: true, force: true })
}
