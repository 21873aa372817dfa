// A server on stdio whose words are nested deeper than a stack is high: `node deepServer.mjs legacy | modern`
import { createInterface } from "node:readline"

const modern = process.argv[2] === "modern"
const deep = "[".repeat(50_000) + "]".repeat(50_000)
const complete = modern ? { resultType: "complete" } : {}
const text = (value) => ({ ...complete, content: [{ type: "text", text: value }] })
const send = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message }).replace('"deep"', deep)}\n`)

const tools = {
  error: (id) => send({ id, error: { code: -32000, message: "too deep", data: "deep" } }),
  log: (id) => {
    send({ method: "notifications/message", params: { level: "info", data: "deep" } })
    send({ id, result: text("done") })
  },
  structured: (id) => send({ id, result: { ...text("here"), structuredContent: "deep" } }),
  whole: (id) => send({ id, result: "deep" })
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === "tools/call") return (tools[params.name] ?? (() => send({ id, result: text("done") })))(id)
  const serverInfo = { name: "nested", version: "1.0.0" }
  const capabilities = { tools: {} }
  if (method === "initialize" && !modern) {
    return send({ id, result: { protocolVersion: params.protocolVersion, capabilities, serverInfo } })
  }
  if (method === "initialize") {
    const data = { supported: ["2026-07-28"], requested: params.protocolVersion }
    return send({ id, error: { code: -32022, message: "Unsupported protocol version", data } })
  }
  if (method === "server/discover" && modern) {
    const lasting = { ttlMs: 0, cacheScope: "private" }
    const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo }
    return send({ id, result: { ...complete, supportedVersions: ["2026-07-28"], capabilities, ...lasting, _meta } })
  }
  send({ id, error: { code: -32601, message: "unknown method" } })
})
