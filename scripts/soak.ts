/**
 * Runs a supervisor under calls, kills and config changes, and draws its memory, descriptors, fibers and events:
 *
 *     npm run soak -- --minutes 10 --out soak.svg
 *
 * Exits with 1 if memory, descriptors or fibers grow after the first quarter, or if any process is left at the end.
 */
import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { randomOf } from "../test/campaigns/campaign.js"
import { worker } from "../test/campaigns/support.js"
import { newMark } from "../test/hostile/observe.js"
import { library } from "../test/hostile/surface.js"
import { record } from "./reliability.js"
import { chart, growthPerHour, type Panel, type Sample } from "./soakChart.js"

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    seed: { type: "string", default: "1" },
    out: { type: "string", default: "soak.svg" },
    record: { type: "boolean", default: false }
  }
})

const minutes = Number(values.minutes)
const seed = Number(values.seed)
if (!(minutes > 0) || Number.isNaN(seed)) {
  console.error("--minutes takes a number above 0, --seed a number")
  process.exit(2)
}

const random = randomOf(seed)
const mark = newMark()
const names = ["a", "b", "c", "d", "e"]
const entry = { ...worker(mark), restart: { base: 50, cap: 500, maxRestarts: "none" } }
const surface = await library(Object.fromEntries(names.map((name) => [name, entry])), mark, ["--expose-gc"])
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

const begin = performance.now()
const seconds = () => (performance.now() - begin) / 1000
const isOver = () => seconds() > minutes * 60

let calls = 0
let kills = 0
let changes = 0
const wrong: Array<string> = []

const call = async (caller: number) => {
  while (!isOver()) {
    const tag = `${caller}-${calls++}`
    const { outcome, text } = await surface.call(random.pick(names), "echo", { tag, ms: random.between(0, 5) })
    if (outcome === "ok" && text !== tag) wrong.push("a call got the answer of another")
  }
}

const kill = async () => {
  while (!isOver()) {
    await pause(random.between(500, 1_500))
    const { pid } = random.pick(await surface.servers())
    if (pid === undefined) continue
    try {
      process.kill(pid, "SIGKILL")
      kills += 1
    } catch {
      // it has already exited
    }
  }
}

/** Adds and removes a server, and changes another one. */
const change = async () => {
  for (let count = 0; !isOver(); count++) {
    await pause(random.between(500, 1_500))
    const servers = Object.fromEntries(names.map((name) => [name, entry]))
    const guest = count % 2 === 0 ? { guest: entry } : {}
    const changed = { e: { ...entry, env: { COUNT: String(count) } } }
    await surface.reconcile({ ...servers, ...guest, ...changed })
    changes += 1
  }
}

const samples: Array<Sample> = []
const measure = async () => {
  while (!isOver()) {
    const { events = 0, fibers = 0, files = 0, heap = 0, rss = 0 } = await surface.figures()
    const megabytes = (bytes: number) => Math.round(bytes / 1024 / 1024)
    samples.push({ at: seconds(), values: { rss: megabytes(rss), heap: megabytes(heap), files, fibers, events } })
    await pause(Math.min(2_000, Math.max(250, minutes * 100)))
  }
}

await Promise.all([measure(), kill(), change(), ...Array.from({ length: 8 }, (_, caller) => call(caller))])
const closed = await surface.close()

const panels: ReadonlyArray<Panel> = [
  { measure: "rss", title: "Memory of the process (RSS, MB)" },
  { measure: "heap", title: "Heap that is held, after garbage collection (MB)" },
  { measure: "files", title: "Open file descriptors" },
  { measure: "fibers", title: "Fibers" },
  { measure: "events", title: "Events published" }
]
const title = `A supervisor for ${minutes} min: ${calls} calls, ${kills} kills, ${changes} config changes (seed ${seed})`
writeFileSync(values.out, chart(title, panels, samples))

/** The first quarter is the warm-up: code is compiled, and the event log fills. */
const warmUp = minutes * 15
const isLongEnough = minutes >= 3

/** The allowed growth after the warm-up. */
const allowed: Readonly<Record<string, number>> = { heap: 10, files: 15, fibers: 60 }
for (const [measure, most] of Object.entries(allowed)) {
  const grown = Math.round((growthPerHour(samples, measure, warmUp) / 60) * minutes * 0.75)
  if (isLongEnough && grown > most) wrong.push(`${measure} grew by ${grown} after the warm-up`)
}
wrong.push(...closed.left)

const slope = Math.round(growthPerHour(samples, "heap", warmUp))
const fine = isLongEnough
  ? `nothing grows by more than ${allowed.heap} MB, ${allowed.files} descriptors or ${allowed.fibers} fibers`
  : "too short to tell whether anything grows (3 min at least)"
const verdict = wrong.length === 0 ? fine : `WRONG: ${[...new Set(wrong)].join("; ")}`
const signed = `${slope >= 0 ? "+" : ""}${slope}`
console.log(
  `${verdict}; slope of the held memory after the warm-up ${signed} MB an hour, peak ${closed.peakMegabytes} MB; ${values.out}`
)
if (values.record)
  record([
    {
      name: "soak",
      seed,
      size: `${minutes} min`,
      seconds: Math.round(seconds()),
      figures: {
        calls,
        kills,
        changes,
        "held MB an hour": slope,
        "peak MB": closed.peakMegabytes,
        "shutdown ms": closed.ms
      },
      violations: [...new Set(wrong)]
    }
  ])
process.exit(wrong.length === 0 ? 0 : 1)
