/**
 * Measures the program: its start, requests to its API, and its event stream.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { Agent, type IncomingMessage, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { effort, options } from "./options.js"
import { stdioTarget } from "./processes.js"
import type { Row, Section } from "./report.js"
import { inTurns } from "./rounds.js"

const { calls, requests, rounds } = effort.program

const targets = { start: 2.5 }

/** Without extra certificates: reading them takes Node longer than to start. */
const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env

interface Running {
  readonly env: NodeJS.ProcessEnv
  readonly socket: string
  readonly port: number
  readonly token: string
  readonly end: () => Promise<void>
}

const bin = join(options.dist, "bin", "mcp-supervisor.js")

/** A supervisor with one server in its own directories. */
const serve = async (): Promise<Running> => {
  const directory = mkdtempSync(join(tmpdir(), "mcp-bench-"))
  const config = join(directory, "config.json")
  writeFileSync(config, JSON.stringify({ mcp: { one: stdioTarget("servers/minimalStdio.mjs") } }))
  const env = {
    ...inherited,
    MCP_SUPERVISOR_STATE_DIR: join(directory, "state"),
    MCP_SUPERVISOR_CONFIG: config,
    XDG_CONFIG_HOME: directory
  }
  const child = spawn(process.execPath, [bin, "serve", "--port", "0", "--json"], {
    env,
    cwd: directory,
    stdio: ["ignore", "pipe", "ignore"]
  })
  const kill = () => void child.kill("SIGKILL")
  process.once("exit", kill)
  const { address, socket } = JSON.parse(await firstLine(child)) as {
    readonly address: string
    readonly socket: string
  }
  const token = readFileSync(join(directory, "state", "control-token"), "utf8").trim()
  return {
    env: { ...env, PWD: directory },
    socket,
    port: Number(new URL(address).port),
    token,
    end: async () => {
      const exited = new Promise((resolve) => child.once("exit", resolve))
      child.kill("SIGTERM")
      await exited
      process.off("exit", kill)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}

const firstLine = (child: ChildProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    createInterface(child.stdout!).once("line", resolve)
    child.once("exit", (code) => reject(new Error(`serve ended with ${code}`)))
  })

const starts = {
  node: ["-e", "0"],
  "--help": [bin, "--help"],
  completions: [bin, "completions", "bash"],
  "list --json": [bin, "list", "--json"],
  list: [bin, "list"]
} as const

const measureStart = async (): Promise<ReadonlyArray<Row>> => {
  const running = await serve()
  try {
    const names = Object.keys(starts) as Array<keyof typeof starts>
    const figures = await inTurns(rounds, names, async (name) => {
      const from = performance.now()
      const { status } = spawnSync(process.execPath, starts[name], { env: running.env, cwd: tmpdir() })
      if (status !== 0) throw new Error(`${name} ended with ${status}`)
      return performance.now() - from
    })
    return names.slice(1).map((name) => ({
      server: "",
      measure: `start of ${name}`,
      unit: "ms",
      better: "less",
      who: "program",
      figures: figures[name],
      than: { who: "node -e 0", figures: figures.node },
      // the last request loads the client's code
      target: name === "list" ? undefined : { ratio: targets.start }
    }))
  } finally {
    await running.end()
  }
}

type Way = "socket" | "TCP"

const asker = ({ port, socket, token }: Running, way: Way) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const where = way === "socket" ? { socketPath: socket } : { host: "127.0.0.1", port }
  const open = (
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {}
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST"
      const all = { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers }
      const sent = request({ ...where, agent, path, method, headers: all }, resolve)
      sent.on("error", reject)
      sent.end(body === undefined ? undefined : JSON.stringify(body))
    })
  return {
    open,
    ask: async (path: string, body?: unknown): Promise<string> => {
      const answer = await open(path, body)
      let text = ""
      for await (const chunk of answer) text += chunk
      if (answer.statusCode !== 200) throw new Error(`${path}: ${text}`)
      return text
    },
    end: () => agent.destroy()
  }
}

const measureApi = async (): Promise<ReadonlyArray<Row>> => {
  const running = await serve()
  const [socket, tcp] = [asker(running, "socket"), asker(running, "TCP")]
  try {
    const [tool] = JSON.parse(await waitForTools(socket))
    const questions = {
      "GET /mcp over the socket": () => socket.ask("/mcp"),
      "GET /mcp over TCP": () => tcp.ask("/mcp"),
      "a tool call over the socket": () => socket.ask(`/tools/${tool.name}/call`, { arguments: { text: "x" } })
    }
    const names = Object.keys(questions) as Array<keyof typeof questions>
    const latency = await inTurns(rounds, names, async (name) => {
      const from = performance.now()
      for (let count = 0; count < requests; count += 1) await questions[name]()
      return (performance.now() - from) / requests
    })
    await Promise.all(
      Array.from({ length: 16 }, async () => {
        for (let count = 0; count < calls / 16; count += 1)
          await socket.ask(`/tools/${tool.name}/call`, { arguments: { text: "x" } })
      })
    )
    const figures = await inTurns(rounds, ["events"], () => eventsPerSecond(socket))
    const row = { server: "", better: "less", who: "control API" } as const
    return [
      ...names.map((name) => ({ ...row, measure: name, unit: "ms", figures: latency[name] })),
      { ...row, better: "more", measure: "events replayed", unit: "per s", figures: figures.events }
    ]
  } finally {
    socket.end()
    tcp.end()
    await running.end()
  }
}

type Asker = ReturnType<typeof asker>

const waitForTools = async (asked: Asker): Promise<string> => {
  while (true) {
    const found = await asked.ask("/tools")
    if (found !== "[]") return found
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Reads all kept events as one stream. */
const eventsPerSecond = async (asked: Asker): Promise<number> => {
  const { epoch, latest } = await position(asked)
  const from = performance.now()
  const answer = await asked.open("/events", undefined, { "last-event-id": `${epoch}-0` })
  const last = `id: ${epoch}-${latest}\n`
  let text = ""
  for await (const chunk of answer) {
    text = (text + chunk).slice(-4096 - String(chunk).length)
    if (text.includes(last)) break
  }
  answer.destroy()
  return (latest / (performance.now() - from)) * 1000
}

/** Sends an unknown event id: the response contains the epoch and the latest number. */
const position = async (asked: Asker): Promise<{ readonly epoch: string; readonly latest: number }> => {
  const answer = await asked.open("/events", undefined, { "last-event-id": "0-0" })
  let text = ""
  for await (const chunk of answer) {
    text += chunk
    const [, epoch, latest] = /^id: (\w+)-(\d+)$/m.exec(text) ?? []
    if (epoch !== undefined) {
      answer.destroy()
      return { epoch, latest: Number(latest) }
    }
  }
  throw new Error("the event stream ended")
}

export const program: Section = {
  name: "program",
  parts: [
    { name: "CLI start", measure: measureStart },
    { name: "control API", measure: measureApi }
  ]
}
