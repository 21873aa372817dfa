/** Floods without end beside a good server: it is called meanwhile, and each flood is stopped. */
import { entryOf, callingGood, goodEntry, httpServers, nameOf, newMark, pause, type Subject } from "./observe.js"
import type { Called, Closed, Entries, Surface } from "./surface.js"

export interface Flooded {
  readonly names: ReadonlyArray<string>
  readonly good: ReadonlyArray<Called>
  /** How long it took to end the flooding servers. */
  readonly stopMs: number
  readonly megabytes: number
}

export interface Floods {
  readonly quiet: ReadonlyArray<Called>
  readonly each: ReadonlyArray<Flooded>
  readonly closed: Closed
}

/** The value that 99 of 100 do not exceed. */
export const p99 = (calls: ReadonlyArray<Called>): number => {
  const sorted = calls.map(({ ms }) => ms).toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.99))] ?? 0
}

const limit = <A>(promise: Promise<A>, ms: number): Promise<A | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** So long a stop may take at most before the next flood begins. */
const patience = 12_000

/** Runs groups of floods, one group after the other, each for so many milliseconds. */
export const flood = async (
  open: (servers: Entries, mark: string) => Promise<Surface>,
  groups: ReadonlyArray<ReadonlyArray<Subject>>,
  duration: number,
  memoryOf: (pid: number) => number
): Promise<Floods> => {
  const mark = newMark()
  const http = await httpServers()
  try {
    const off = groups
      .flat()
      .map((each) => [nameOf(each), { ...entryOf(each, mark, http.port), enabled: false }] as const)
    const surface = await open({ good: goodEntry(mark), ...Object.fromEntries(off) }, mark)
    await surface.call("good", "it")
    const before = callingGood(surface, 5)
    await pause(Math.min(duration, 1_000))
    const quiet = await before.stop()
    const each: Array<Flooded> = []
    for (const group of groups) {
      const names = group.map(nameOf)
      await limit(Promise.all(names.map((name) => surface.connect(name))), patience)
      // some floods begin with a call
      for (const name of names) void surface.call(name, "it").catch(() => {})
      const calling = callingGood(surface, 20)
      await pause(duration)
      const good = (await limit(calling.stop(), patience)) ?? [...calling.calls, { outcome: "no answer", ms: patience }]
      const begin = performance.now()
      await limit(Promise.all(names.map((name) => surface.disconnect(name))), patience)
      const stopMs = Math.round(performance.now() - begin)
      each.push({ names, good, stopMs, megabytes: memoryOf(surface.pid) })
    }
    return { quiet, each, closed: await surface.close() }
  } finally {
    http.end()
  }
}

export interface Bounds {
  /** For a call to the good server. */
  readonly goodMs: number
  readonly stopMs: number
  readonly megabytes: number
}

/** What does not hold, as sentences. */
export const floodViolations = (
  { closed, each }: Pick<Floods, "closed" | "each">,
  bounds: Bounds
): ReadonlyArray<string> => [
  ...each.flatMap(({ good, megabytes, names, stopMs }) => {
    const what = names.join(", ")
    const failed = good.filter(({ outcome }) => outcome !== "ok")
    const slowest = p99(good)
    return [
      ...(failed.length > 0
        ? [`${what}: ${failed.length} calls to the good server failed: ${failed[0]!.outcome}`]
        : []),
      ...(good.length === 0 ? [`${what}: the good server was never called`] : []),
      ...(slowest > bounds.goodMs ? [`${what}: a call to the good server took ${slowest} ms`] : []),
      ...(stopMs > bounds.stopMs ? [`${what}: the stop took ${stopMs} ms`] : []),
      ...(megabytes > bounds.megabytes ? [`${what}: the supervisor had ${megabytes} MB`] : [])
    ]
  }),
  ...closed.left
]
