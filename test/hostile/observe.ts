/** Runs hostile servers beside a correct one and reports the outcome of each. */
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Expected, Mode } from "./modes.js"
import type { Called, Closed, Entries, Surface } from "./surface.js"

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

export type Transport = "stdio" | "http"

/** One hostile server in a supervisor. */
export interface Subject extends Mode {
  readonly transport: Transport
}

export interface Observed {
  readonly subject: Subject
  readonly status: string
  readonly errorTag: string | undefined
  readonly tools: number
  readonly call: Called | undefined
}

export interface Observation {
  readonly each: ReadonlyArray<Observed>
  /** The durations of calls to the correct server meanwhile, and the failed calls. */
  readonly good: ReadonlyArray<Called>
  /** The number of tools in the catalog; -1 if it could not be read. */
  readonly tools: number
  readonly closed: Closed
}

export const nameOf = ({ name, transport }: Subject): string => `${transport}-${name}`

/** A mark on the command line of every process of one run. */
export const newMark = (): string => `hostile-${randomUUID()}`

/** The program that serves all modes over HTTP. It exits when its stdin ends. */
export const httpServers = async () => {
  const child = spawn(process.execPath, [here("./http.mjs")], { stdio: ["pipe", "pipe", "inherit"] })
  const line = await new Promise<string>((resolve) => createInterface(child.stdout).once("line", resolve))
  const { port } = JSON.parse(line) as { readonly port: number }
  /** The bytes that floods wrote, by mode. */
  const poured = async () =>
    (await (await fetch(`http://127.0.0.1:${port}/poured`)).json()) as Readonly<Record<string, number>>
  return { port, poured, end: () => void child.kill("SIGKILL") }
}

const limits = {
  timeout: { start: 20_000, connect: 20_000, list: 20_000, call: 15_000, total: 20_000 },
  // the first failure is the outcome
  restart: { maxRestarts: 0 },
  health: false
}

export const entryOf = (
  { name, restart, size = 1, transport, timeout }: Subject,
  mark: string,
  port: number
): object => ({
  ...(transport === "stdio"
    ? { command: process.execPath, args: [here("./stdio.mjs"), name, String(size), mark] }
    : { type: "http", url: `http://127.0.0.1:${port}/${name}/${size}`, protocol: "legacy" }),
  ...limits,
  timeout: { ...limits.timeout, ...timeout },
  restart: restart ?? limits.restart
})

export const goodEntry = (mark: string): object => ({
  ...limits,
  command: process.execPath,
  args: [here("./stdio.mjs"), "good", "1", mark]
})

export const entriesOf = (subjects: ReadonlyArray<Subject>, mark: string, port: number): Entries => ({
  good: goodEntry(mark),
  ...Object.fromEntries(subjects.map((subject) => [nameOf(subject), entryOf(subject, mark, port)]))
})

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until a server has a first outcome: connected, failed, or waiting for the user. */
const outcomeOf = async (surface: Surface, names: ReadonlySet<string>, budget: number): Promise<void> => {
  const end = Date.now() + budget
  const waiting = new Set(names)
  while (waiting.size > 0 && Date.now() < end) {
    for (const { name, restarts, status } of await surface.servers())
      if (status.status !== "connecting" || restarts > 1) waiting.delete(name)
    await pause(50)
  }
}

/** Calls the correct server again and again until told to stop. */
export const callingGood = (surface: Surface, every = 50) => {
  const calls: Array<Called> = []
  const over = new AbortController()
  const loop = (async () => {
    while (!over.signal.aborted) {
      calls.push(await surface.call("good", "it").catch((error) => ({ outcome: String(error), ms: 0 })))
      await pause(every)
    }
  })()
  return {
    calls,
    stop: async () => {
      over.abort()
      await loop
      return calls
    }
  }
}

/** Starts all servers at once, calls each, calls the correct one meanwhile, and shuts down. */
export const observe = async (
  open: (servers: Entries, mark: string) => Promise<Surface>,
  subjects: ReadonlyArray<Subject>
): Promise<Observation> => {
  const mark = newMark()
  const http = await httpServers()
  try {
    const surface = await open(entriesOf(subjects, mark, http.port), mark)
    await outcomeOf(surface, new Set(["good"]), 20_000)
    const calling = callingGood(surface)
    await outcomeOf(surface, new Set(subjects.map(nameOf)), 30_000)
    const settled = new Map((await surface.servers()).map((snapshot) => [snapshot.name, snapshot]))
    const each = await Promise.all(
      subjects.map(async (subject): Promise<Observed> => {
        const name = nameOf(subject)
        const snapshot = settled.get(name)
        const status = snapshot?.status.status ?? "missing"
        const call = status === "connected" ? await surface.call(name, "it", subject.args?.() ?? {}) : undefined
        const errorTag = snapshot?.status.status === "failed" ? snapshot.status.errorTag : undefined
        return { subject, status, errorTag, tools: snapshot?.tools ?? 0, call }
      })
    )
    const good = await calling.stop()
    const tools = await surface.tools().catch(() => -1)
    return { each, good, tools, closed: await surface.close() }
  } finally {
    http.end()
  }
}

const fits = (allowed: ReadonlyArray<string> | undefined, found: string) => allowed?.includes(found) ?? true

/** The differences to the catalogue, as sentences. */
export const violations = (
  { closed, each, good, tools }: Observation,
  bounds: { readonly megabytes: number; readonly goodMs: number; readonly closeMs: number }
): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const { call, errorTag, status, subject, tools } of each) {
    const { call: calls, errorTags, status: statuses, tools: count }: Expected = subject.expected
    const name = nameOf(subject)
    if (!fits(statuses, status)) found.push(`${name} is ${status} (${errorTag}), not ${statuses.join(" or ")}`)
    if (errorTag !== undefined && !fits(errorTags, errorTag)) found.push(`${name} failed with ${errorTag}`)
    if (count !== undefined && status === "connected" && tools !== count)
      found.push(`${name} has ${tools} tools, not ${count}`)
    if (call !== undefined && !fits(calls, call.outcome))
      found.push(`a call to ${name} ends with ${call.outcome}, not ${calls?.join(" or ")}`)
  }
  if (good.length === 0) found.push("the good server was never called")
  for (const { outcome } of good.filter(({ outcome }) => outcome !== "ok")) found.push(`the good server: ${outcome}`)
  const slowest = Math.max(...good.map(({ ms }) => ms))
  if (slowest > bounds.goodMs) found.push(`the good server took ${slowest} ms`)
  if (tools < 1) found.push("the catalog could not be read")
  if (closed.peakMegabytes > bounds.megabytes) found.push(`the supervisor had ${closed.peakMegabytes} MB`)
  if (closed.ms > bounds.closeMs) found.push(`the shutdown took ${closed.ms} ms`)
  return [...found, ...closed.left]
}
