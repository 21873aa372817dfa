/** Runs endless floods beside a correct server, calls that server meanwhile, and stops each flood. */
import { readFileSync } from "node:fs"
import type { FloodBounds } from "./bounds.js"
import { entryOf, callingGood, goodEntry, httpServers, nameOf, newMark, pause, type Subject } from "./observe.js"
import { type Called, type Closed, type Entries, peakOf, processesWith, type Surface } from "./surface.js"

/** The result of a flooding server. */
export interface Poured {
  readonly subject: Subject
  readonly status: string
  readonly error: string
  readonly errorTag: string | undefined
  /** The bytes that it wrote. */
  readonly bytes: number
}

export interface Flooded {
  readonly floods: ReadonlyArray<Poured>
  readonly good: ReadonlyArray<Called>
  /** The time to stop the flooding servers. */
  readonly stopMs: number
  readonly megabytes: number
}

export interface Floods {
  readonly quiet: ReadonlyArray<Called>
  readonly each: ReadonlyArray<Flooded>
  /** The shutdown while the last group flooded again. */
  readonly closed: Closed
}

/** The 99th percentile. */
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

/** The maximum time of a stop before the next flood begins. */
const patience = 12_000

/** The bytes that the processes of a local server have written so far. */
const writtenBy = ({ name }: Subject, mark: string): number => {
  let bytes = 0
  for (const pid of processesWith(mark)) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").includes(name)) continue
      bytes += Number(/wchar: (\d+)/.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1] ?? 0)
    } catch {
      // it has already exited
    }
  }
  return bytes
}

/** The bytes of remote servers by mode. Some floods begin at the end of their session, which another request reports. */
const pouredBy = async (
  group: ReadonlyArray<Subject>,
  poured: () => Promise<Readonly<Record<string, number>>>
): Promise<Readonly<Record<string, number>>> => {
  const remote = group.filter(({ transport }) => transport === "http")
  const end = Date.now() + 2_000
  for (;;) {
    const bytes = await poured()
    if (remote.every(({ name }) => (bytes[name] ?? 0) >= leastBytes) || Date.now() > end) return bytes
    await pause(20)
  }
}

/** The minimum number of bytes of a flood. */
const leastBytes = 64 * 1024

/** Runs groups of floods, one group after the other, each for a number of milliseconds. */
export const flood = async (
  open: (servers: Entries, mark: string) => Promise<Surface>,
  groups: ReadonlyArray<ReadonlyArray<Subject>>,
  duration: number
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
    const begin = async (group: ReadonlyArray<Subject>) => {
      await limit(Promise.all(group.map((each) => surface.connect(nameOf(each)))), patience)
      // some floods begin with a call
      for (const each of group) void surface.call(nameOf(each), "it").catch(() => {})
    }
    const each: Array<Flooded> = []
    for (const group of groups) {
      await begin(group)
      const calling = callingGood(surface, 20)
      await pause(duration)
      const good = (await limit(calling.stop(), patience)) ?? [...calling.calls, { outcome: "no answer", ms: patience }]
      const snapshots = new Map((await surface.servers()).map((snapshot) => [snapshot.name, snapshot.status]))
      const written = new Map(group.map((subject) => [subject, writtenBy(subject, mark)]))
      const since = performance.now()
      await limit(Promise.all(group.map((subject) => surface.disconnect(nameOf(subject)))), patience)
      const stopMs = Math.round(performance.now() - since)
      const poured = await pouredBy(group, http.poured)
      const floods = group.map((subject): Poured => {
        const status = snapshots.get(nameOf(subject))
        return {
          subject,
          status: status?.status ?? "missing",
          error: status?.status === "failed" ? status.error : "",
          errorTag: status?.status === "failed" ? status.errorTag : undefined,
          bytes: (subject.transport === "http" ? poured[subject.name] : written.get(subject)) ?? 0
        }
      })
      each.push({ floods, good, stopMs, megabytes: peakOf(surface.pid) })
    }
    await begin(groups.at(-1) ?? [])
    await pause(Math.min(duration, 300))
    return { quiet, each, closed: await surface.close() }
  } finally {
    http.end()
  }
}

/** The violations, as sentences. */
export const floodViolations = (
  { closed, each }: Pick<Floods, "closed" | "each">,
  bounds: FloodBounds
): ReadonlyArray<string> => [
  ...each.flatMap(({ floods, good, megabytes, stopMs }) => {
    const what = floods.map(({ subject }) => nameOf(subject)).join(", ")
    const failed = good.filter(({ outcome }) => outcome !== "ok")
    const slowest = p99(good)
    return [
      ...floods.flatMap(unlikely),
      ...(failed.length > 0
        ? [`${what}: ${failed.length} calls to the good server failed: ${failed[0]!.outcome}`]
        : []),
      ...(good.length === 0 ? [`${what}: the good server was never called`] : []),
      ...(slowest > bounds.goodMs ? [`${what}: a call to the good server took ${slowest} ms`] : []),
      ...(stopMs > bounds.stopMs ? [`${what}: the stop took ${stopMs} ms`] : []),
      ...(megabytes > bounds.megabytes ? [`${what}: the supervisor had ${megabytes} MB`] : [])
    ]
  }),
  ...(closed.ms > bounds.stopMs ? [`the shutdown during a flood took ${closed.ms} ms`] : []),
  ...(closed.peakMegabytes > bounds.megabytes ? [`the supervisor had ${closed.peakMegabytes} MB at last`] : []),
  ...closed.left
]

/** A flooding server keeps running, or has failed because it exceeded a limit. A server that did not flood proves nothing. */
const unlikely = ({ bytes, error, errorTag, status, subject }: Poured): ReadonlyArray<string> => {
  const wasEnded = status === "failed" && errorTag === "ConnectionClosed" && /more than \d/.test(error)
  if (status !== "connected" && !wasEnded) return [`${nameOf(subject)} is ${status} (${errorTag}: ${error})`]
  // the process of a stopped server is gone, and its count of bytes with it
  return bytes >= leastBytes || (wasEnded && subject.transport === "stdio")
    ? []
    : [`${nameOf(subject)} wrote only ${bytes} bytes`]
}
