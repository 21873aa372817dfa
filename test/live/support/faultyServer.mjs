// A small MCP server on stdio that does what its arguments say, good or bad. Plain node, so that it starts at once.
import { spawn } from "node:child_process"
import { closeSync, writeSync } from "node:fs"

const flags = new Set(process.argv.slice(2))
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })

if (flags.has("ignore-term")) process.on("SIGTERM", () => {})
if (flags.has("ignore-eof")) setInterval(() => {}, 1000)
if (flags.has("grandchild")) spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" })
if (flags.has("stubborn-grandchild")) {
  const program = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"
  spawn(process.execPath, ["-e", program], { stdio: "inherit" })
}
if (flags.has("exit-at-start")) {
  process.stderr.write("no config found\n")
  process.exit(3)
}
if (flags.has("banner")) process.stdout.write("Welcome!\n{ not json\n[1, 2]\n\n")
if (flags.has("null-error")) send({ id: null, error: { code: -32600, message: "what was that?" } })

const tools = {
  echo: ({ value }) => text(value),
  pid: () => text(process.pid),
  environment: () => text(JSON.stringify(process.env)),
  big: ({ bytes }) => text("x".repeat(bytes)),
  secret: () => {
    throw Object.assign(new Error(`denied for ${process.env.TOKEN}`), { data: { token: [process.env.TOKEN] } })
  },
  whisper: ({ line }) => {
    process.stderr.write(`${line}\n`)
    return text("whispered")
  },
  chatter: async ({ bytes }) => {
    const line = `${"y".repeat(99)}\n`
    for (let left = bytes; left > 0; left -= line.length * 1000) {
      if (!process.stderr.write(line.repeat(1000)))
        await new Promise((resolve) => process.stderr.once("drain", resolve))
    }
    return text("done")
  },
  noise: ({ lines }) => {
    for (let index = 0; index < lines; index += 1) process.stdout.write(`progress bar ${index}\n`)
    return text("done")
  },
  crash: () => {
    writeSync(2, "fatal: out of luck\n")
    process.exit(7)
  },
  "half-answer": () => {
    writeSync(1, '{"jsonrpc":"2.0","id":')
    process.exit(8)
  },
  "close-input": () => {
    closeSync(0)
    setInterval(() => {}, 1000)
    return text("I no longer listen")
  },
  "close-output": () => {
    setInterval(() => {}, 1000)
    closeSync(1)
  },
  "leave-child": () => {
    spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" })
    setTimeout(() => process.exit(0), 50)
  },
  endless: () => {
    process.stdout.write("x".repeat(1024 * 1024))
    const more = () => void process.stdout.write("x".repeat(1024 * 1024), more)
    more()
  },
  "stop-reading": () => {
    process.stdin.pause()
    return text("paused")
  },
  silent: () => undefined,
  ping: () =>
    new Promise((resolve) => {
      awaited.set("ping-1", resolve)
      send({ id: "ping-1", method: "ping" })
    }).then((answer) => text(JSON.stringify(answer.result))),
  progress: async ({ steps, every, end }, token) => {
    for (let step = 1; step <= steps; step += 1) {
      await new Promise((resolve) => setTimeout(resolve, every))
      send({ method: "notifications/progress", params: { progressToken: token, progress: step, total: steps } })
    }
    return end === false ? undefined : text("done")
  },
  cancelled: () => text(JSON.stringify(cancelled))
}

const awaited = new Map()
const cancelled = []

const handle = async (message) => {
  const { id, method, params } = message
  if (method === undefined) return awaited.get(id)?.(message)
  if (method === "notifications/cancelled") return cancelled.push(params.requestId)
  if (id === undefined) return
  if (method === "initialize") {
    if (flags.has("hang")) return
    const serverInfo = { name: "faulty", version: "1.0.0" }
    return send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo } })
  }
  if (method === "ping") return send({ id, result: {} })
  if (method === "tools/list") {
    const listed = Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } }))
    return send({ id, result: { tools: listed } })
  }
  if (method === "tools/call") {
    try {
      const result = await tools[params.name](params.arguments, params._meta.progressToken)
      if (result !== undefined) send({ id, result })
    } catch (error) {
      send({ id, error: { code: -32000, message: error.message, data: error.data } })
    }
    return
  }
  send({ id, error: { code: -32601, message: "unknown method" } })
}

let buffer = ""
process.stdin.setEncoding("utf8")
process.stdin.on("data", (chunk) => {
  buffer += chunk
  const lines = buffer.split("\n")
  buffer = lines.pop()
  for (const line of lines) if (line !== "") void handle(JSON.parse(line))
})
process.stdin.on("error", () => {})
