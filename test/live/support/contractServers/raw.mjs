// A server without any SDK, which does what it is told: `node raw.mjs '{"revision": "2024-11-05", …}'`
import { createInterface } from "node:readline"
import { setTimeout as wait } from "node:timers/promises"

const options = {
  revision: "2025-11-25",
  capabilities: {},
  /** How many tools there are besides the useful ones, and how many fit on a page. */
  moreTools: 0,
  pageSize: 4,
  /** What to name the page after each page; by default "" and then numbers. */
  cursor: undefined,
  /** Methods that are not known, whatever the capabilities say. */
  unknown: [],
  /** Whether several messages go out as one. */
  batch: false,
  ...JSON.parse(process.argv[2] ?? "{}")
}

const journal = (entry) => process.stderr.write(`@journal ${JSON.stringify(entry)}\n`)
const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const notification = (method, params) => ({ jsonrpc: "2.0", method, ...(params === undefined ? {} : { params }) })
const notify = (method, params) => write(notification(method, params))
const text = (words) => ({ content: [{ type: "text", text: words }] })

const asked = new Map()
let askedCount = 0
const ask = (method, params) => {
  askedCount += 1
  const id = askedCount
  write({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })
  return new Promise((resolve) => asked.set(id, resolve))
}

class RpcError extends Error {
  constructor(code, message) {
    super(message)
    this.code = code
  }
}

const question = {
  ...(options.revision >= "2025-11-25" ? { mode: "form" } : {}),
  requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] }
}

const running = new Map()

const tools = {
  echo: (args) => text(args.text),
  fail: () => ({ ...text("it did not work"), isError: true }),
  steps: async ({ count, interval = 0 }, { id, token }) => {
    const report = (progress) =>
      notification("notifications/progress", {
        progressToken: token,
        progress,
        total: count,
        message: `step ${progress}`
      })
    if (options.batch) {
      const reports = Array.from({ length: count }, (_, index) => report(index + 1))
      write([...reports, { jsonrpc: "2.0", id, result: text(`${count} steps`) }])
      return undefined
    }
    for (let progress = 1; progress <= count; progress += 1) {
      write(report(progress))
      await wait(interval)
    }
    return text(`${count} steps`)
  },
  wait: (_, { id }) => {
    journal({ event: "waiting" })
    return new Promise((resolve) => running.set(id, () => resolve(undefined)))
  },
  log: (args) => {
    notify("notifications/message", { level: args.level, logger: "contract", data: args.text })
    return text("logged")
  },
  change_tools: () => {
    notify("notifications/tools/list_changed")
    return text("changed")
  },
  touch_note: () => {
    notify("notifications/resources/updated", { uri: "note://1" })
    return text("touched")
  },
  elicit: async ({ message }) => {
    const { action, content } = await ask("elicitation/create", { ...question, message })
    return text(`${action} ${content?.name}`)
  },
  sample: async () => {
    const messages = [{ role: "user", content: { type: "text", text: "2 + 2?" } }]
    return text((await ask("sampling/createMessage", { messages, maxTokens: 10 })).content.text)
  },
  roots: async () => text((await ask("roots/list")).roots.map((root) => root.uri).join()),
  ping: async () => {
    await ask("ping")
    return text("the client is there")
  }
}

const toolNames = [...Object.keys(tools), ...Array.from({ length: options.moreTools }, (_, index) => `more_${index}`)]

const listTools = ({ cursor } = {}) => {
  const page = cursor === undefined ? 0 : Number(cursor || 1)
  const from = page * options.pageSize
  const listed = toolNames.slice(from, from + options.pageSize)
  const next = page === 0 ? "" : String(page + 1)
  return {
    tools: listed.map((name) => ({ name, inputSchema: { type: "object" } })),
    ...(from + options.pageSize < toolNames.length ? { nextCursor: options.cursor ?? next } : {})
  }
}

const methods = {
  initialize: () => ({
    protocolVersion: options.revision,
    capabilities: options.capabilities,
    serverInfo: { name: "contract-raw", version: "1.0.0" },
    instructions: "Be kind."
  }),
  ping: () => ({}),
  "tools/list": listTools,
  "tools/call": ({ arguments: args, name, _meta: meta }, id) => {
    if (!Object.hasOwn(tools, name)) throw new RpcError(-32602, `there is no tool ${name}`)
    return tools[name](args, { id, token: meta?.progressToken })
  },
  "resources/list": () => ({ resources: [{ uri: "note://1", name: "note" }] }),
  "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "note://{number}", name: "notes" }] }),
  "resources/read": () => ({ contents: [{ uri: "note://1", text: "a note" }] }),
  "resources/subscribe": () => ({}),
  "resources/unsubscribe": () => ({}),
  "prompts/list": () => ({ prompts: [{ name: "greet", arguments: [{ name: "name", required: true }] }] }),
  "prompts/get": ({ arguments: args }) => ({
    messages: [{ role: "user", content: { type: "text", text: `Greet ${args.name}` } }]
  }),
  "completion/complete": ({ argument }) => ({
    completion: { values: ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(argument.value)) }
  }),
  "logging/setLevel": () => ({})
}

const answer = async ({ id, method, params }) => {
  try {
    if (!Object.hasOwn(methods, method) || options.unknown.includes(method)) {
      throw new RpcError(-32601, `method ${method} is not known`)
    }
    const result = await methods[method](params, id)
    if (result !== undefined) write({ jsonrpc: "2.0", id, result })
  } catch (error) {
    write({ jsonrpc: "2.0", id, error: { code: error.code ?? -32603, message: error.message } })
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line)
  const { id, method, params } = message
  if (method === undefined) {
    asked.get(id)?.(message.result)
    continue
  }
  if (id !== undefined) void answer(message)
  if (method === "notifications/cancelled") {
    journal({ event: "aborted" })
    running.get(params.requestId)?.()
    running.delete(params.requestId)
  }
}
