// A server on stdio that floods its client: handshake and tools as they should be, then one kind of message without pause.
//
//   node floodServer.mjs MODE [now] [deaf] [stubborn]
//
// now       floods from the handshake on, not from the call of the tool "flood"
// deaf      does not read its input any more once it floods: our answers wait
// stubborn  ignores the end of its input, and SIGTERM
//
// What is written comes from the modes below. A pipe that is full is waited for, as every program does.
import { once } from "node:events"
import { writeSync } from "node:fs"

const [mode = "", ...flags] = process.argv.slice(2)
const has = (flag) => flags.includes(flag)
const line = (message) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`
const notification = (method, params) => line({ method: `notifications/${method}`, params })
const request = (method, params, id = "q") => line({ id, method, params })
const sample = { messages: [{ role: "user", content: { type: "text", text: "hello?" } }], maxTokens: 10 }
const question = { message: "really?", requestedSchema: { type: "object", properties: {} } }

/** What one kind of flood writes, and where to. */
const modes = {
  blank: { text: "\n" },
  spaces: { text: "   \t  \r\n" },
  garbage: { text: "garbage, garbage, garbage\n" },
  braces: { text: "{ not a message\n" },
  objects: { text: "{}\n" },
  long: { text: `${"x".repeat(1_000_000)}\n` },
  log: { text: notification("message", { level: "info", data: "a line of the log" }) },
  "list-changed": { text: notification("tools/list_changed") },
  updated: { text: notification("resources/updated", { uri: "file:///x" }) },
  unknown: { text: notification("nobody/knows", { value: 1 }) },
  progress: { text: (token) => notification("progress", { progressToken: token, progress: 1 }) },
  cancel: { text: request("sampling/createMessage", sample) + notification("cancelled", { requestId: "q" }) },
  ping: { text: request("ping") },
  "roots-list": { text: request("roots/list") },
  sampling: { text: request("sampling/createMessage", sample) },
  elicitation: { text: request("elicitation/create", question) },
  "unknown-request": { text: request("no/such/method") },
  answers: { text: line({ id: 12345678, result: { content: [] } }) },
  batch: { text: `[${Array.from({ length: 1000 }, () => request("ping").trim()).join()}]\n` },
  large: { text: notification("message", { level: "info", data: "y".repeat(1_000_000) }) },
  huge: { text: notification("message", { level: "info", data: "y".repeat(30_000_000) }) },
  "huge-request": { text: request("sampling/createMessage", { ...sample, metadata: { x: "y".repeat(30_000_000) } }) },
  "huge-answer": { text: line({ id: 12345678, result: { x: "y".repeat(30_000_000) } }) },
  dense: { text: notification("nobody/knows", { values: Array.from({ length: 300_000 }, () => ({ k: 1, j: "yy" })) }) },
  stderr: { text: "a line of the log\n", to: process.stderr },
  "stderr-blank": { text: "\n", to: process.stderr },
  "stderr-endless": { text: "z".repeat(100), to: process.stderr }
}

const chosen = modes[mode]
if (chosen === undefined) {
  writeSync(2, `no such mode: ${mode}; one of ${Object.keys(modes).join(", ")}\n`)
  process.exit(2)
}
if (has("stubborn")) {
  process.on("SIGTERM", () => {})
  setInterval(() => {}, 1000)
}
// a client that goes away breaks the pipes
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => process.exit(1))

const say = (message) => process.stdout.write(line(message))
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })
let flooding = false

const flood = async (token) => {
  if (flooding) return
  flooding = true
  if (has("deaf")) process.stdin.pause()
  const { text: piece, to = process.stdout } = chosen
  const each = typeof piece === "function" ? piece(token) : piece
  const block = each.repeat(Math.max(1, Math.floor(65_536 / each.length)))
  while (true) {
    if (to.write(block)) await new Promise((resolve) => setImmediate(resolve))
    else await once(to, "drain")
  }
}

const tools = {
  echo: ({ value }) => text(value),
  flood: (_, token) => {
    void flood(token)
    // the call that reports progress goes on as long as the flood
    return mode === "progress" ? undefined : text("from now on")
  }
}

const answer = ({ id, method, params }) => {
  if (method === "initialize") {
    const serverInfo = { name: "flood", version: "1.0.0" }
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {}, logging: {} }, serverInfo }
  }
  if (method === "tools/list") {
    return { tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" } })) }
  }
  if (method === "tools/call") return tools[params.name](params.arguments ?? {}, params._meta?.progressToken)
  return id === undefined ? undefined : {}
}

let buffer = ""
process.stdin.setEncoding("utf8")
process.stdin.on("data", (chunk) => {
  buffer += chunk
  const lines = buffer.split("\n")
  buffer = lines.pop()
  for (const each of lines) {
    const message = JSON.parse(each)
    if (message.method === undefined) continue
    const result = answer(message)
    if (message.id !== undefined && result !== undefined) say({ id: message.id, result })
    if (message.method === "notifications/initialized" && has("now")) void flood("call-1")
  }
})
process.stdin.on("end", () => {
  if (!has("stubborn")) process.exit(0)
})
