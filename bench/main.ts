/**
 * Our sessions against the SDK's own client on the same servers: `npm run bench`, see README.md beside this.
 *
 * Only this file goes through vite-node. What is measured runs in processes of plain node, ours from the build: that is
 * what users run, and vite-node makes every import of another module slower.
 */
import { existsSync } from "node:fs"
import { loadavg } from "node:os"
import { resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { parseArgs } from "node:util"
import { type Child, start } from "./child.js"
import { machine, type Row, summary, table } from "./report.js"

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    /** Where the build is. */
    dist: { type: "string", default: fileURLToPath(new URL("../dist", import.meta.url)) },
    /** Only servers whose description holds this text. */
    only: { type: "string", default: "" },
    /** Writes a profile of each contender into this directory. */
    profile: { type: "string" }
  }
})

const effort = options.quick
  ? { rounds: 3, warmUp: 2000, sequential: 100, inFlight: 200, heapRounds: 1, connections: 50 }
  : { rounds: 7, warmUp: 4000, sequential: 200, inFlight: 400, heapRounds: 3, connections: 100 }

/** Our own end, and with us that of everything we started, whatever hangs. */
setTimeout(() => {
  console.error("this takes too long")
  process.exit(1)
}, 280_000).unref()

const callers = 64

interface Place {
  readonly name: string
  readonly kind: "stdio" | "http"
  readonly module: string
  readonly parameters: ReadonlyArray<string>
}

const places: ReadonlyArray<Place> = [
  { name: "stdio, by hand", kind: "stdio", module: "servers/minimalStdio.mjs", parameters: [] },
  { name: "stdio, SDK v1", kind: "stdio", module: "servers/sdkStdio.mjs", parameters: [] },
  { name: "HTTP with JSON, by hand", kind: "http", module: "servers/minimalHttp.mjs", parameters: ["json"] },
  { name: "HTTP with JSON, SDK v1", kind: "http", module: "servers/sdkHttp.mjs", parameters: ["json"] },
  { name: "HTTP with SSE, by hand", kind: "http", module: "servers/minimalHttp.mjs", parameters: ["sse"] },
  { name: "HTTP with SSE, SDK v1", kind: "http", module: "servers/sdkHttp.mjs", parameters: ["sse"] }
]

const targets = {
  stdio: { p50: 0.8, perSecond: 2 },
  http: { p50: 0.6, perSecond: 2 },
  heap: 1.3
}

const names = ["ours", "sdk"] as const

type Name = (typeof names)[number]

interface Figures {
  readonly calls: number
  readonly p50: number
  readonly perSecond: number
  /** Microseconds of our own processor time per call. */
  readonly cpu: number
}

const dist = `${pathToFileURL(resolve(options.dist)).href}/`

/** Everything that runs. */
const children = new Set<Child>()

const started = async (...parameters: Parameters<typeof start>): Promise<Child> => {
  const child = await start(...parameters)
  children.add(child)
  return child
}

const ended = async (child: Child): Promise<void> => {
  children.delete(child)
  await child.end()
}

const profiling = (name: Name, place: Place): ReadonlyArray<string> =>
  options.profile === undefined
    ? []
    : [
        "--cpu-prof",
        `--cpu-prof-dir=${resolve(options.profile)}`,
        `--cpu-prof-name=${`${name} ${place.name}`.replace(/\W+/g, "-")}.cpuprofile`
      ]

/** Both take turns, and it is not always the same one that begins. */
const inTurns = async (rounds: number, turn: (name: Name) => Promise<void>): Promise<void> => {
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) await turn(name)
  }
}

const serverOf = async (place: Place): Promise<{ readonly target: object; readonly end: () => Promise<void> }> => {
  if (place.kind === "stdio") {
    const file = fileURLToPath(new URL(place.module, import.meta.url))
    return { target: { command: process.execPath, args: [file, ...place.parameters] }, end: async () => {} }
  }
  const server = await started(place.module, place.parameters)
  return { target: server.first as { readonly url: string }, end: () => ended(server) }
}

/** Code gets faster with the number of calls, not with time; but on a busy machine we do not wait for ever. */
const warmUp = async (contender: Child): Promise<void> => {
  for (let calls = 0, turns = 0; calls < effort.warmUp && turns < 12; turns += 1) {
    calls += ((await contender.ask("run", turns % 2 === 0 ? callers : 1, 250)) as Figures).calls
  }
}

const measureCalls = async (place: Place): Promise<ReadonlyArray<Row>> => {
  const server = await serverOf(place)
  const contenders = {} as Record<Name, Child>
  const sequential: Record<Name, Array<Figures>> = { ours: [], sdk: [] }
  const inFlight: Record<Name, Array<Figures>> = { ours: [], sdk: [] }
  for (const name of names) {
    contenders[name] = await started("contenders/process.mjs", [name, dist], profiling(name, place))
    await contenders[name].ask("open", server.target)
    await warmUp(contenders[name])
  }
  await inTurns(effort.rounds, async (name) => {
    sequential[name].push((await contenders[name].ask("run", 1, effort.sequential)) as Figures)
  })
  await inTurns(effort.rounds, async (name) => {
    inFlight[name].push((await contenders[name].ask("run", callers, effort.inFlight)) as Figures)
  })
  for (const name of names) {
    await contenders[name].ask("end")
    await ended(contenders[name])
  }
  await server.end()

  const row = (
    figures: Record<Name, ReadonlyArray<Figures>>,
    figure: keyof Figures,
    rest: Omit<Row, "server" | "ours" | "sdk">
  ): Row => ({
    ...rest,
    server: place.name,
    ours: figures.ours.map((each) => each[figure]),
    sdk: figures.sdk.map((each) => each[figure])
  })
  const target = targets[place.kind]
  return [
    row(sequential, "p50", { measure: "one call after the other", unit: "p50 ms", better: "less", target: target.p50 }),
    row(inFlight, "perSecond", {
      measure: `${callers} in flight`,
      unit: "calls/s",
      better: "more",
      target: target.perSecond
    }),
    row(inFlight, "cpu", { measure: `${callers} in flight`, unit: "client µs CPU/call", better: "less" })
  ]
}

const measureHeap = async (place: Place): Promise<Row> => {
  const server = await serverOf(place)
  const bytes: Record<Name, Array<number>> = { ours: [], sdk: [] }
  await inTurns(effort.heapRounds, async (name) => {
    const contender = await started("contenders/process.mjs", [name, dist], ["--expose-gc"])
    bytes[name].push(Number(await contender.ask("heapPerConnection", server.target, effort.connections)) / 1024)
    await contender.ask("end")
    await ended(contender)
  })
  await server.end()
  return {
    server: place.name,
    measure: `one of ${effort.connections} connections`,
    unit: "kB heap",
    better: "less",
    target: targets.heap,
    ours: bytes.ours,
    sdk: bytes.sdk
  }
}

const main = async (): Promise<void> => {
  if (!existsSync(options.dist)) throw new Error(`there is no build in ${options.dist}: npm run build`)
  const wanted = places.filter(({ name }) => name.includes(options.only))
  const from = Date.now()
  const load = loadavg()
  const rows: Array<Row> = []
  for (const place of wanted) {
    process.stderr.write(`${place.name} ...\n`)
    rows.push(...(await measureCalls(place)))
  }
  if (options.profile === undefined) {
    for (const place of wanted.filter(({ module }) => module === "servers/minimalHttp.mjs")) {
      process.stderr.write(`${place.name}, heap ...\n`)
      rows.push(await measureHeap(place))
    }
  }
  const loads = [load, loadavg()].map(([one]) => one!.toFixed(1)).join(" before, ")
  console.log(`${machine()}, load average ${loads} after, ${Math.round((Date.now() - from) / 1000)} s\n`)
  console.log(`${table(rows)}\n\n${summary(rows)}`)
}

try {
  await main()
} finally {
  await Promise.all([...children].map(ended))
}
