import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { machine } from "../hostile/machine.js"
import { newMark } from "../hostile/observe.js"
import { awaitNoProcess, processesWith, requester, serve } from "../hostile/surface.js"
import { type Campaign, counted, pause } from "./campaign.js"
import { worker } from "./support.js"

interface Snapshot {
  readonly name: string
  readonly pid?: number
  readonly generation: number
}

export const configChurn: Campaign = {
  name: "config-churn",
  guarantee:
    "However a config file is written, no call is lost, no server is restarted that did not change, and the last edit is applied.",
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
    const ways: ReadonlyArray<() => void> = [
      () => writeFileSync(file, whole),
      // empty or missing for a while would be an edit to apply, so these are whole again at once
      () => writeFileSync(file, ""),
      () => writeFileSync(file, whole.slice(0, random.between(1, whole.length - 1))),
      () => writeFileSync(file, `${whole}\n// the same again\n`),
      () => rmSync(file, { force: true }),
      () => {
        writeFileSync(`${file}.new`, whole)
        renameSync(`${file}.new`, file)
      },
      () => {
        renameSync(directory, other)
        mkdirSync(directory)
        writeFileSync(file, whole)
        rmSync(other, { recursive: true })
      }
    ]
    const edit = async () => {
      while (Date.now() < end) {
        random.pick(ways)()
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
    await Promise.all([edit(), ...[0, 1, 2, 3].map(use)])

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
    return { figures: { edits, calls }, violations: counted(violations) }
  }
}
