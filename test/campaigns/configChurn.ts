import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Machine, machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, processesWith, requester, serve } from "../hostile/surface.js"
import { type Campaign, counted, pause } from "./campaign.js"
import { worker } from "./support.js"

interface Snapshot {
  readonly name: string
  readonly pid?: number
  readonly generation: number
}

/** An edit of a file, and how many milliseconds the file may stay like this. */
interface Way {
  readonly act: () => void
  readonly longest: number
}

/** After 250 ms, an empty or missing file counts as an edit. */
const shortly = 40

/** An invalid file may stay. */
const long = 500

/** Blocks this process: a timer would take longer on a busy machine. */
const hold = (ms: number) => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** Counts the files that the daemon has read and rejected, until told to stop. */
const countRejections = async (here: Machine, address: string) => {
  const token = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
  const over = new AbortController()
  const { body } = await fetch(`${address}/events`, {
    headers: { authorization: `Bearer ${token}` },
    signal: over.signal
  })
  let count = 0
  const reading = (async () => {
    let rest = ""
    for await (const part of body!.pipeThrough(new TextDecoderStream())) {
      const events = (rest + part).split("\n\n")
      rest = events.pop()!
      count += events.filter((event) => event.includes('"ConfigRejected"')).length
    }
  })().catch(() => {})
  return {
    count: () => count,
    stop: async () => {
      over.abort()
      await reading
    }
  }
}

export const configChurn: Campaign = {
  name: "config-churn",
  guarantee:
    "In whatever way a config file is written, no call is lost, no unchanged server is restarted, and the last edit is applied.",
  run: async ({ random, seconds }) => {
    const mark = newMark()
    const here = machine("churn")
    const directory = join(here.directory, "config", "mcp-supervisor")
    const file = join(directory, "config.json")
    const other = join(here.directory, "config", "elsewhere")
    mkdirSync(directory, { recursive: true })
    const names = ["a", "b", "c"]
    const textWith = (more: object) =>
      JSON.stringify(
        { mcp: { ...Object.fromEntries(names.map((name) => [name, worker(mark)])), ...more } },
        undefined,
        2
      )
    const whole = textWith({})
    writeFileSync(file, whole)
    const { address, child } = await serve(here)
    const request = await requester(here, address)
    const snapshots = async () => (await request("GET", "/servers")).body as ReadonlyArray<Snapshot>
    const call = (server: string, tag: string) =>
      request("POST", "/tools/echo/call", { server, arguments: { tag }, options: { waitForReady: 20_000 } })
    for (const name of names) await call(name, "first")
    const before = await snapshots()

    const violations: Array<string> = []
    const end = Date.now() + seconds * 1000
    let edits = 0
    let calls = 0
    let broken = 0
    const ways: ReadonlyArray<Way> = [
      { act: () => writeFileSync(file, whole), longest: 0 },
      { act: () => writeFileSync(file, ""), longest: shortly },
      { act: () => rmSync(file, { force: true }), longest: shortly },
      { act: () => writeFileSync(file, whole.slice(0, random.between(1, whole.length - 3))), longest: long },
      { act: () => writeFileSync(file, whole.replace('"mcp":', '"mcp" nonsense')), longest: long },
      { act: () => writeFileSync(file, `${whole}\n// the same again\n`), longest: long },
      {
        act: () => {
          writeFileSync(`${file}.new`, whole)
          renameSync(`${file}.new`, file)
        },
        longest: 0
      },
      {
        act: () => {
          renameSync(directory, other)
          mkdirSync(directory)
          writeFileSync(file, whole)
          rmSync(other, { recursive: true })
        },
        longest: 0
      }
    ]
    const edit = async () => {
      while (Date.now() < end) {
        const { act, longest } = random.pick(ways)
        act()
        if (longest > 0 && random.chance(0.15)) {
          broken += 1
          if (longest === long) await pause(random.between(50, long))
          else hold(random.between(5, longest))
        }
        writeFileSync(file, whole)
        edits += 1
        await pause(random.between(0, 8))
      }
    }
    const use = async (caller: number) => {
      while (Date.now() < end) {
        const tag = `${caller}-${calls++}`
        const { body, status } = await call(random.pick(names), tag)
        if (status !== 200) violations.push(`a call was lost: ${body?.error?.tag ?? status}`)
        else if (body.content[0].text !== tag) violations.push("a call got the answer of another")
      }
    }
    const rejections = await countRejections(here, address)
    await Promise.all([edit(), ...[0, 1, 2, 3].map(use)])
    writeFileSync(file, whole.slice(0, -10))
    broken += 1
    const refusal = Date.now() + 10_000
    while (rejections.count() === 0 && Date.now() < refusal) await pause(20)
    const rejected = rejections.count()
    await rejections.stop()
    if (rejected === 0) violations.push(`none of ${broken} broken files was read and refused`)
    for (const name of names) {
      const { status } = await call(name, "broken")
      if (status !== 200) violations.push(`a call was lost while the file was broken: ${status}`)
    }
    if (calls < seconds) violations.push(`only ${calls} calls were made`)

    writeFileSync(file, textWith({ last: worker(mark) }))
    const isSeen = async () => (await snapshots()).some(({ name }) => name === "last")
    const patience = Date.now() + 10_000
    while (!(await isSeen()) && Date.now() < patience) await pause(50)
    if (!(await isSeen())) violations.push("the last edit was not applied within 10 s")
    const after = new Map((await snapshots()).map((each) => [each.name, each]))
    for (const { generation, name, pid } of before) {
      const now = after.get(name)
      if (now?.pid !== pid || now?.generation !== generation)
        violations.push(`${name} did not change, but was restarted`)
    }
    const stopped = await here.run(["stop"])
    if (stopped.code !== 0) violations.push(`stop exits with ${stopped.code}: ${stopped.stderr.slice(-200)}`)
    const left = await awaitNoProcess(mark, 2_000)
    if (left.length > 0) violations.push(`${left.length} processes are left`)
    child.kill("SIGKILL")
    for (const pid of processesWith(mark)) process.kill(pid, "SIGKILL")
    here.remove()
    return {
      figures: { edits, "left broken": broken, "read and refused": rejected, calls },
      violations: counted(violations)
    }
  }
}
