// A server on stdio that sends too much: `node oversizedServer.mjs MODE [N]`. Every mode has the harmless tool `fine`.
import { createInterface } from "node:readline"

const [, , mode, count = "0"] = process.argv
const n = Number(count)
const object = { type: "object" }
const fine = { name: "fine", inputSchema: object }
/** Arrays, one within the other. Written as text: `JSON.stringify` cannot. */
const deep = "[".repeat(n) + "]".repeat(n)
const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message }).replaceAll('"deep"', deep)}\n`)
const answer = (id, result) => write({ id, result })
const text = (value) => ({ content: [{ type: "text", text: String(value) }] })
const megabyte = "x".repeat(1 << 20)

let pages = 0
let grown = false

/** Pages of 1 MiB, `n` of each kind. */
const page = (id, params, member, entry) => {
  const at = Number(params?.cursor ?? 0)
  pages += 1
  answer(id, { [member]: [entry(at)], ...(at + 1 < n ? { nextCursor: String(at + 1) } : {}) })
}

const lists = {
  "tools/list": (id, params) => {
    if (mode === "pages") {
      return page(id, params, "tools", (at) => ({ name: `t${at}`, description: megabyte, inputSchema: object }))
    }
    if (mode === "value-pages") return rawPage(id, params, "[],".repeat(450_000))
    if (mode === "object-pages") return rawPage(id, params, objects())
    if (mode === "values") return answerRaw(id, `{"tools":[{"name":"fine","inputSchema":{"x":[${"[],".repeat(n)}0]}}]}`)
    if (mode === "grow" && grown) {
      return page(id, params, "tools", (at) => ({ name: `t${at}`, description: megabyte, inputSchema: object }))
    }
    const tools = [fine, ...["call", "read", "progress", "notify", "ask", "grow"].map((name) => ({ ...fine, name }))]
    if (mode === "deep-schema") tools.push({ name: "nested", inputSchema: { ...object, properties: "deep" } })
    answer(id, { tools })
  },
  "resources/list": (id, params) => {
    if (mode === "pages") {
      return page(id, params, "resources", (at) => ({ uri: `a:${at}`, name: "r", description: megabyte }))
    }
    answer(id, { resources: mode === "deep-schema" ? [{ uri: "a:b", name: "r", _meta: { x: "deep" } }] : [] })
  },
  "resources/templates/list": (id) => answer(id, { resourceTemplates: [] }),
  "prompts/list": (id) => answer(id, { prompts: [{ name: "p" }] })
}

/** Objects without a key in common: they take more memory than others. */
const objects = () => Array.from({ length: 80_000 }, (_, index) => `{"${index.toString(36)}":0},`).join("")

const rawPage = (id, params, values) => {
  const at = Number(params?.cursor ?? 0)
  const next = at + 1 < n ? `,"nextCursor":"${at + 1}"` : ""
  answerRaw(id, `{"tools":[{"name":"t${at}","inputSchema":{"type":"object","x":[${values}0]}}]${next}}`)
}

const answerRaw = (id, result) =>
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`)

const longTools = {
  call: (id) => answer(id, text("x".repeat(n))),
  notify: (id) => {
    write({ method: "notifications/resources/updated", params: { extra: "x".repeat(n), uri: "a:b" } })
    answer(id, text("done"))
  },
  ask: (id) => {
    const content = { type: "image", data: "x".repeat(n), mimeType: "image/png" }
    const params = { messages: [{ role: "user", content }], maxTokens: 1 }
    write({ params, method: "sampling/createMessage", id: "question" })
    waiting = (reply) => answer(id, text(JSON.stringify(reply.error ?? reply.result)))
  }
}

const tools = {
  call: (id) => answer(id, { ...text("here"), structuredContent: { x: "deep" } }),
  progress: (id, { _meta }) => {
    const { progressToken } = _meta
    write({ method: "notifications/progress", params: { progressToken, progress: 1, extra: "deep" } })
    answer(id, text("done"))
  },
  notify: (id) => {
    write({ method: "notifications/resources/updated", params: { uri: "a:b", extra: "deep" } })
    write({ method: "notifications/resources/updated", params: { uri: "a:c" } })
    answer(id, text("done"))
  },
  ask: (id) => {
    write({ id: "question", method: "sampling/createMessage", params: { messages: "deep", maxTokens: 1 } })
    waiting = (reply) => answer(id, text(JSON.stringify(reply.error ?? reply.result)))
  },
  grow: (id) => {
    grown = true
    answer(id, text("done"))
    write({ method: "notifications/tools/list_changed" })
  },
  fine: (id) => answer(id, text(pages))
}

let waiting = () => {}

createInterface({ input: process.stdin }).on("line", (line) => {
  const message = JSON.parse(line)
  const { id, method, params } = message
  if (method === undefined) return waiting(message)
  if (id === undefined) return
  if (method === "initialize") {
    const extra = mode === "deep-info" ? { extra: "deep" } : {}
    const capabilities = { tools: { listChanged: true }, resources: {}, prompts: {}, experimental: { extra } }
    const serverInfo = { name: mode === "long-info" ? "n".repeat(n) : "oversized", version: "1.0.0" }
    const instructions = mode === "long-instructions" ? { instructions: "i".repeat(n) } : {}
    return answer(id, { protocolVersion: params.protocolVersion, capabilities, serverInfo, ...instructions })
  }
  if (method === "tools/call") {
    const long = mode === "long" ? longTools[params.name] : undefined
    return (long ?? tools[params.name] ?? tools.fine)(id, params)
  }
  if (method === "resources/read") return answer(id, { contents: [{ uri: "a:b", text: "x", extra: "deep" }] })
  if (method === "prompts/get") return answer(id, { messages: [], extra: "deep" })
  const list = lists[method]
  if (list !== undefined) return list(id, params)
  answer(id, {})
})
