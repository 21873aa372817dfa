import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Client, type ClientOptions } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { assert, onTestFinished } from "vitest"

export interface ServerCommand {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

const repositoryRoot = fileURLToPath(new URL("../../../", import.meta.url))

const nodeServer = (file: string): ServerCommand => ({ command: process.execPath, args: [`examples/servers/${file}`] })

export const greetServer = nodeServer("greet.mjs")
export const todoServer = nodeServer("todo.mjs")
export const clockServer = nodeServer("clock.mjs")
export const websearchServer: ServerCommand = { command: "python3", args: ["examples/servers/websearch.py"] }

export const pythonIsInstalled = spawnSync("python3", ["--version"]).status === 0

/** What both client generations need to start a server. */
export const stdioParameters = ({ command, args }: ServerCommand) => ({ command, args: [...args], cwd: repositoryRoot })

const assertProcessIsGone = (pid: number) =>
  assert.throws(() => process.kill(pid, 0), "ESRCH", `process ${pid} is still there`)

/** Closes the connection when the test is over, and fails the test if that leaves the server running. */
export const closeAtEndOfTest = (
  client: { readonly close: () => Promise<void> },
  transport: { readonly pid: number | null }
) =>
  onTestFinished(async () => {
    const { pid } = transport
    await client.close()
    if (pid !== null) {
      assertProcessIsGone(pid)
    }
  })

/** Starts the server and connects to it; the end of the test closes the connection. */
export const connectClient = async (server: ServerCommand, options: ClientOptions = {}) => {
  const client = new Client({ name: "example-servers-test", version: "1.0.0" }, options)
  const transport = new StdioClientTransport(stdioParameters(server))
  closeAtEndOfTest(client, transport)
  await client.connect(transport)
  return client
}

export interface RpcMessage {
  readonly id?: number | string | null
  readonly method?: string
  readonly params?: Record<string, unknown>
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string }
}

/** Starts the server and speaks to it line by line, with no SDK in between. */
export const startRaw = ({ command, args }: ServerCommand, env: Record<string, string> = {}) => {
  const child = spawn(command, args, { cwd: repositoryRoot, env: { ...process.env, ...env } })
  const outputLines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let errorOutput = ""
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errorOutput += chunk
  })
  const ended = new Promise<{ readonly code: number | null; readonly signal: string | null }>((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code, signal) => resolve({ code, signal }))
  })
  onTestFinished(async () => {
    child.kill("SIGKILL")
    await ended
    if (child.pid !== undefined) {
      assertProcessIsGone(child.pid)
    }
  })

  const sendLine = (line: string | Uint8Array) => {
    child.stdin.write(line)
    child.stdin.write("\n")
  }
  const send = (message: Record<string, unknown>) => sendLine(JSON.stringify({ jsonrpc: "2.0", ...message }))
  const receive = async (): Promise<RpcMessage> => {
    const line = await outputLines.next()
    if (line.done === true) {
      throw new Error(`The server ended before it answered. Its stderr: ${errorOutput}`)
    }
    return JSON.parse(line.value)
  }

  return {
    send,
    sendLine,
    receive,
    /** For conversations in which the next message from the server is the answer. */
    ask: (message: Record<string, unknown>) => {
      send(message)
      return receive()
    },
    initialize: async () => {
      const clientInfo = { name: "example-servers-test", version: "1.0.0" }
      send({
        id: "initialize",
        method: "initialize",
        params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }
      })
      const answer = await receive()
      send({ method: "notifications/initialized" })
      return answer
    },
    endInput: () => child.stdin.end(),
    ended,
    errorOutput: () => errorOutput
  }
}

/** A queue whose reader waits for what is not there yet. */
export const makeInbox = <A>() => {
  const items: Array<A> = []
  const readers: Array<(item: A) => void> = []
  return {
    put: (item: A) => {
      const reader = readers.shift()
      if (reader === undefined) {
        items.push(item)
      } else {
        reader(item)
      }
    },
    take: () =>
      new Promise<A>((resolve) => {
        const item = items.shift()
        if (item === undefined) {
          readers.push(resolve)
        } else {
          resolve(item)
        }
      }),
    size: () => items.length
  }
}
