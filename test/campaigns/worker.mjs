// A good server on stdio that answers with the tag it was given, after a while, and counts what it was asked and told.
import { createInterface } from "node:readline"

let calls = 0
let cancels = 0
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })
const schema = { type: "object" }

createInterface(process.stdin).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === "notifications/cancelled") cancels += 1
  if (id === undefined) return
  const info = {
    protocolVersion: "2025-11-25",
    capabilities: { tools: {} },
    serverInfo: { name: "worker", version: "1" }
  }
  if (method === "initialize") return send({ id, result: info })
  if (method === "tools/list")
    return send({ id, result: { tools: ["echo", "never", "counts"].map((name) => ({ name, inputSchema: schema })) } })
  if (method !== "tools/call") return send({ id, result: {} })
  if (params.name === "counts") return send({ id, result: text(JSON.stringify({ calls, cancels })) })
  calls += 1
  if (params.name === "never") return
  const { ms = 0, tag } = params.arguments
  if (ms === 0) return send({ id, result: text(tag) })
  setTimeout(() => send({ id, result: text(tag) }), ms)
})
process.stdin.on("end", () => process.exit(0))
