/** One interface for both ways to run a supervisor: the library in a separate program, and the daemon with its API. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { ServerSnapshot } from "../../src/domain/server/ServerSnapshot.js"
import { bundle } from "../live/support/bundle.js"
import { type Machine, machine } from "./machine.js"

export interface Called {
  /** `ok`, or the tag of the error. */
  readonly outcome: string
  readonly text?: string | undefined
  readonly ms: number
}

export interface Figures {
  readonly rss: number
  readonly heap: number
  readonly files: number
  readonly handles: number
  readonly fibers: number
  readonly events: number
  readonly unhandled: number
}

/** The leftovers after the end. */
export interface Closed {
  readonly ms: number
  /** Sentences about leftovers. */
  readonly left: ReadonlyArray<string>
  readonly peakMegabytes: number
}

export type Command =
  | { readonly do: "servers" | "tools" | "figures" | "close" }
  | { readonly do: "connect" | "disconnect" | "restart"; readonly server: string }
  | { readonly do: "reconcile"; readonly servers: Entries }
  | {
      readonly do: "call"
      readonly server: string
      readonly tool: string
      readonly args?: Record<string, unknown>
    }

export type Entries = Readonly<Record<string, object>>

export interface Surface {
  readonly pid: number
  readonly servers: () => Promise<ReadonlyArray<ServerSnapshot>>
  /** The number of tools of all servers. */
  readonly tools: () => Promise<number>
  readonly call: (server: string, tool: string, args?: Record<string, unknown>) => Promise<Called>
  readonly connect: (server: string) => Promise<unknown>
  readonly disconnect: (server: string) => Promise<unknown>
  /** Replaces the servers. */
  readonly reconcile: (servers: Entries) => Promise<unknown>
  readonly figures: () => Promise<Partial<Figures>>
  readonly close: () => Promise<Closed>
}

/** The peak memory of a process, in MB. */
export const peakOf = (pid: number): number => {
  try {
    return Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024)
  } catch {
    return 0
  }
}

export const openFilesOf = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

/** The running processes whose command line or environment contains a mark. */
export const processesWith = (mark: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        const state = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "")[0]
        return state !== "Z" && state !== "X" && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(mark)
      } catch {
        return false
      }
    })

/** Waits until no such process is left. Returns the ones that are. */
export const awaitNoProcess = async (mark: string, budget: number): Promise<ReadonlyArray<number>> => {
  const end = Date.now() + budget
  for (;;) {
    const left = processesWith(mark)
    if (left.length === 0 || Date.now() > end) return left
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

const timed = async <A extends object>(promise: Promise<A>): Promise<A & { readonly ms: number }> => {
  const begin = performance.now()
  return { ...(await promise), ms: Math.round(performance.now() - begin) }
}

const within = <A>(budget: number, what: string, promise: Promise<A>): Promise<A> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<A>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took more than ${budget} ms`)), budget)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The maximum time of an end, with reserve for a busy machine. */
const closeBudget = 15_000

interface Embedding {
  readonly child: ChildProcess
  readonly perform: <A>(command: Command) => Promise<A>
  /** Fails if the program exits before. */
  readonly ready: Promise<unknown>
  readonly exited: Promise<unknown>
}

/** Starts the program of a library user, without waiting. */
export const embed = async (
  here: Machine,
  servers: Entries,
  nodeOptions: ReadonlyArray<string> = []
): Promise<Embedding> => {
  const file = join(here.directory, "servers.json")
  writeFileSync(file, JSON.stringify(servers))
  const host = await bundle("../../hostile/libraryHost.ts")
  const child = spawn(process.execPath, [...nodeOptions, host, here.stateDir, file], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  child.stdin.on("error", () => {})
  const waiting = new Map<number, (result: unknown) => void>()
  createInterface(child.stdout).on("line", (line) => {
    const { id, result } = JSON.parse(line) as { readonly id: number; readonly result: unknown }
    waiting.get(id)?.(result)
    waiting.delete(id)
  })
  const awaitAnswer = <A>(id: number) => new Promise<A>((resolve) => waiting.set(id, resolve as never))
  let last = 0
  const perform = <A>(command: Command): Promise<A> => {
    const id = ++last
    child.stdin.write(`${JSON.stringify({ id, ...command })}\n`)
    return awaitAnswer(id)
  }
  const exited = once(child, "exit")
  const ready = within(
    30_000,
    "the start",
    Promise.race([awaitAnswer(0), exited.then(() => Promise.reject(new Error("it ended")))])
  )
  // not every caller waits for it
  ready.catch(() => {})
  return { child, perform, ready, exited }
}

/** The program of a library user. */
export const library = async (
  servers: Entries,
  mark: string,
  nodeOptions: ReadonlyArray<string> = []
): Promise<Surface> => {
  const here = machine(mark)
  const { child, exited, perform, ready } = await embed(here, servers, nodeOptions)
  await ready
  return {
    pid: child.pid!,
    servers: () => perform({ do: "servers" }),
    tools: () => perform({ do: "tools" }),
    call: (server, tool, args = {}) => timed(perform<Omit<Called, "ms">>({ do: "call", server, tool, args })),
    connect: (server) => perform({ do: "connect", server }),
    disconnect: (server) => perform({ do: "disconnect", server }),
    reconcile: (servers) => perform({ do: "reconcile", servers }),
    figures: () => perform({ do: "figures" }),
    close: async () => {
      const peakMegabytes = peakOf(child.pid!)
      const left: Array<string> = []
      const begin = performance.now()
      const closing = perform<{ readonly before: Figures; readonly after: Figures }>({ do: "close" })
      const figures = await within(closeBudget, "the shutdown", closing).catch((error: Error) => error.message)
      const ms = Math.round(performance.now() - begin)
      if (typeof figures === "string") left.push(figures)
      else left.push(...differences(figures.before, figures.after))
      await within(5_000, "the end of the program after the shutdown", exited).catch((error: Error) =>
        left.push(error.message)
      )
      child.kill("SIGKILL")
      const processes = await awaitNoProcess(mark, 1_000)
      if (processes.length > 0) left.push(`${processes.length} processes are left: ${processes}`)
      for (const pid of processes) process.kill(pid, "SIGKILL")
      here.remove()
      return { ms, left, peakMegabytes }
    }
  }
}

/** Sockets that a client keeps for the next request, and the event reader of the host. */
const spare = 10

const differences = (before: Figures, after: Figures): ReadonlyArray<string> => [
  ...(after.unhandled > 0 ? [`${after.unhandled} unhandled rejections`] : []),
  ...(after.files > before.files + spare ? [`${after.files} open files, ${before.files} before`] : []),
  ...(after.fibers > before.fibers + spare ? [`${after.fibers} fibers, ${before.fibers} before`] : [])
]

/** The daemon on a separate machine, through its API. */
export const daemon = async (servers: Entries, mark: string): Promise<Surface> => {
  const here = machine(mark)
  const directory = join(here.directory, "config", "mcp-supervisor")
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, "config.json"), JSON.stringify({ mcp: servers }))
  const { child, address } = await serve(here)
  const request = await requester(here, address)
  const text = (body: { readonly content?: ReadonlyArray<{ readonly text?: string }> }) => body.content?.[0]?.text
  return {
    pid: child.pid!,
    servers: async () => (await request("GET", "/servers")).body as ReadonlyArray<ServerSnapshot>,
    tools: async () => ((await request("GET", "/tools")).body as { readonly length?: number }).length ?? -1,
    call: (server, tool, args = {}) =>
      timed(
        request("POST", `/tools/${encodeURIComponent(tool)}/call`, {
          server,
          arguments: args,
          options: { waitForReady: 3_000 }
        }).then(({ body, status }) =>
          status === 200 ? { outcome: "ok", text: text(body) } : { outcome: body?.error?.tag ?? `status ${status}` }
        )
      ),
    connect: (server) => request("POST", `/mcp/${server}/connect`),
    disconnect: (server) => request("POST", `/mcp/${server}/disconnect`),
    reconcile: (servers) => {
      writeFileSync(join(directory, "config.json"), JSON.stringify({ mcp: servers }))
      return request("POST", "/reload")
    },
    figures: async () => ({ files: openFilesOf(child.pid!) }),
    close: async () => {
      const peakMegabytes = peakOf(child.pid!)
      const left: Array<string> = []
      const log = join(here.stateDir, "supervisor.log")
      const begin = performance.now()
      const { code, stderr } = await here.run(["stop"])
      const ms = Math.round(performance.now() - begin)
      if (code !== 0) left.push(`stop exits with ${code}: ${stderr.trim()}`)
      await within(5_000, "the end of the daemon after stop", ended(child)).catch((error: Error) =>
        left.push(error.message)
      )
      child.kill("SIGKILL")
      if (existsSync(log) && /unhandled|please report/i.test(readFileSync(log, "utf8")))
        left.push("the log has an unexpected failure")
      const processes = await awaitNoProcess(mark, 1_000)
      if (processes.length > 0) left.push(`${processes.length} processes are left: ${processes}`)
      for (const pid of processes) process.kill(pid, "SIGKILL")
      here.remove()
      return { ms, left, peakMegabytes }
    }
  }
}

const ended = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
}

/** Starts the daemon in the foreground and waits for its address. */
export const serve = async (here: Machine): Promise<{ readonly child: ChildProcess; readonly address: string }> => {
  const child = await here.spawn(["serve", "--port", "0", "--json"])
  let stderr = ""
  child.stderr.on("data", (part: Buffer) => {
    stderr = (stderr + part.toString()).slice(-2_000)
  })
  const line = await within(
    30_000,
    "the start of the daemon",
    new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).once("line", resolve)
      child.once("exit", (code) => reject(new Error(`the daemon ended with ${code}: ${stderr}`)))
    })
  )
  return { child, address: (JSON.parse(line) as { readonly address: string }).address }
}

export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly raw: string
  /** The response of the route, if it is JSON. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** Sends a request to the API of a daemon with its token. */
export const requester = async (here: Machine, address: string) => {
  const token = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
  return async (method: string, path: string, body?: unknown): Promise<Response> => {
    const response = await fetch(`${address}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const raw = await response.text()
    const isJson = (response.headers.get("content-type") ?? "").startsWith("application/json")
    return {
      status: response.status,
      headers: response.headers,
      raw,
      body: isJson && raw !== "" ? JSON.parse(raw) : undefined
    }
  }
}
