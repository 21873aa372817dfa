/**
 * Decides the responses of a scripted server.
 *
 * For HTTP it runs in the process of the test; for stdio its source is sent to the server's process. So it must not use
 * anything outside of the function.
 */
import type { CommonStep, Rule, Script } from "./model.js"

export interface ClientMessage {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Sends messages to the client, and runs the steps that only one kind of server has. */
export interface Port<Step> {
  readonly send: (message: Readonly<Record<string, unknown>>) => Promise<void>
  readonly act: (step: Exclude<Step, Exclude<CommonStep, { readonly step: "write" | "close" }>>) => Promise<void>
}

export interface Engine<Step> {
  /** The steps of the rule that matches an event, if there is one. */
  readonly find: (on: string, message?: ClientMessage) => ReadonlyArray<Step> | undefined
  /** Records a message. Returns true if it is a response to a request of the server. */
  readonly note: (message: ClientMessage) => boolean
  readonly run: (steps: ReadonlyArray<Step>, port: Port<Step>, message?: ClientMessage) => Promise<void>
  readonly setRules: (rules: ReadonlyArray<Rule<Step>>) => void
}

export function makeEngine<Step extends { readonly step: string }>(
  script: Script<Step>,
  sleep: (ms: number) => Promise<void>
): Engine<Step> {
  const received: Array<unknown> = []
  const unanswered = new Set<ClientMessage>()
  const questions = new Map<string, (answer: unknown) => void>()
  let lastQuestion = 0
  let rules: Array<{ readonly rule: Rule<Step>; seen: number }> = []

  const setRules = (given: ReadonlyArray<Rule<Step>>) => {
    rules = given.map((rule) => ({ rule, seen: 0 }))
  }
  setRules(script.rules ?? [])

  const isRequest = (message: ClientMessage | undefined) => message?.method !== undefined && message.id !== undefined

  const find = (on: string, message?: ClientMessage) => {
    let found: ReadonlyArray<Step> | undefined
    for (const each of rules) {
      const { rule } = each
      if (rule.on !== on && !(rule.on === "*" && isRequest(message))) continue
      const where = Object.entries(rule.where ?? {})
      if (!where.every(([key, value]) => JSON.stringify(message?.params?.[key]) === JSON.stringify(value))) continue
      each.seen++
      if (found === undefined && (rule.nth === undefined || rule.nth === each.seen)) found = rule.do
    }
    return found
  }

  const named = (list: ReadonlyArray<unknown> | undefined, key: string, rest: (name: string) => object) =>
    list?.map((item) => (typeof item === "string" ? { [key]: item, ...rest(item) } : item))

  const lists: Readonly<Record<string, ReadonlyArray<unknown> | undefined>> = {
    tools: named(script.tools, "name", () => ({ inputSchema: { type: "object" } })),
    resources: named(script.resources, "uri", (uri) => ({ name: uri })),
    resourceTemplates: named(script.resourceTemplates, "uriTemplate", (uri) => ({ name: uri })),
    prompts: named(script.prompts, "name", () => ({}))
  }

  const capabilities = () =>
    script.capabilities ?? {
      logging: {},
      ...(lists.tools && { tools: { listChanged: true } }),
      ...((lists.resources ?? lists.resourceTemplates) && { resources: { subscribe: true, listChanged: true } }),
      ...(lists.prompts && { prompts: { listChanged: true } })
    }

  const serverInfo = script.serverInfo ?? { name: "scripted", version: "1.0.0" }
  // The first revision without a handshake. Revisions are dates and compare as text.
  const modern = (script.protocolVersion ?? "") >= "2026-07-28"

  const error = (code: number, message: string, data?: unknown) => ({ error: { code, message, data } })

  const page = (list: string, params: ClientMessage["params"]) => {
    const items = lists[list]
    if (items === undefined) return error(-32601, "Method not found")
    const from = Number(params?.cursor ?? 0)
    const to = from + (script.pageSize ?? items.length)
    const nextCursor = to < items.length ? String(to) : undefined
    return { result: { [list]: items.slice(from, to), nextCursor } }
  }

  const entry = (list: string, key: string, value: unknown, code: number, result: unknown) =>
    lists[list]?.some((item) => (item as Readonly<Record<string, unknown>> | null)?.[key] === value)
      ? { result }
      : error(code, "Unknown: " + String(value))

  const usual = ({ method, params }: ClientMessage): Readonly<Record<string, unknown>> => {
    switch (method) {
      case "initialize": {
        const requested = params?.protocolVersion
        const supported = [script.protocolVersion]
        if (modern) return error(-32022, "Unsupported protocol version", { supported, requested })
        const protocolVersion = script.protocolVersion ?? requested
        const { instructions } = script
        return { result: { protocolVersion, capabilities: capabilities(), serverInfo, instructions } }
      }
      case "server/discover": {
        if (!modern) return error(-32601, "Method not found")
        const supportedVersions = [script.protocolVersion]
        const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo }
        const { instructions } = script
        return { result: { supportedVersions, capabilities: capabilities(), instructions, _meta } }
      }
      case "tools/list":
        return page("tools", params)
      case "resources/list":
        return page("resources", params)
      case "resources/templates/list":
        return page("resourceTemplates", params)
      case "prompts/list":
        return page("prompts", params)
      case "tools/call": {
        const content = [{ type: "text", text: params?.name }]
        return entry("tools", "name", params?.name, -32602, { content })
      }
      case "resources/read": {
        const contents = [{ uri: params?.uri, text: params?.uri }]
        return entry("resources", "uri", params?.uri, -32002, { contents })
      }
      case "prompts/get":
        return entry("prompts", "name", params?.name, -32602, { messages: [] })
      case "completion/complete":
        return { result: { completion: { values: [] } } }
      case "ping":
      case "logging/setLevel":
      case "resources/subscribe":
      case "resources/unsubscribe":
        return { result: {} }
      default:
        return error(-32601, "Method not found")
    }
  }

  /** The default response. In the modern era every result has a type, and some have a lifetime. */
  const usually = (request: ClientMessage): Readonly<Record<string, unknown>> => {
    const reply = usual(request)
    if (!modern || reply.result === undefined) return reply
    const lasting = /\/(list|discover|read)$/.test(request.method ?? "") && { ttlMs: 0, cacheScope: "private" }
    return { result: { resultType: "complete", ...lasting, ...(reply.result as object) } }
  }

  /** Replaces placeholders. */
  const fill = (value: unknown, message: ClientMessage | undefined, answer: unknown): unknown => {
    if (Array.isArray(value)) return value.map((each) => fill(each, message, answer))
    if (typeof value !== "object" || value === null) return value
    const { $ } = value as { readonly $?: unknown }
    if ($ === "params") return message?.params
    if ($ === "answer") return answer
    if ($ === "received") return received
    if (typeof $ === "number") return "x".repeat($)
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, fill(each, message, answer)]))
  }

  const run = async (steps: ReadonlyArray<Step>, port: Port<Step>, message?: ClientMessage) => {
    let answer: unknown
    const reply = (body: (request: ClientMessage) => Readonly<Record<string, unknown>>) => {
      // On a resumed stream, the oldest pending request is answered.
      const request = isRequest(message) ? message : unanswered.values().next().value
      if (request === undefined) return undefined
      unanswered.delete(request)
      return port.send({ jsonrpc: "2.0", id: request.id, ...body(request) })
    }
    for (const each of steps) {
      const step = each as Step | CommonStep
      switch (step.step) {
        case "answer": {
          const { result } = step as Extract<CommonStep, { step: "answer" }>
          await reply((request) =>
            result === undefined ? usually(request) : { result: fill(result, request, answer) }
          )
          break
        }
        case "error": {
          const { code, data, message } = step as Extract<CommonStep, { step: "error" }>
          await reply(() => error(code, message, data))
          break
        }
        case "sleep":
          await sleep((step as Extract<CommonStep, { step: "sleep" }>).ms)
          break
        case "notify": {
          const { method, params } = step as Extract<CommonStep, { step: "notify" }>
          await port.send({ jsonrpc: "2.0", method, params: fill(params, message, answer) })
          break
        }
        case "progress": {
          const { step: _, ...report } = step as Extract<CommonStep, { step: "progress" }>
          const progressToken = (message?.params?._meta as { readonly progressToken?: unknown } | undefined)
            ?.progressToken
          if (progressToken === undefined) break
          await port.send({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken, ...report } })
          break
        }
        case "ask": {
          const { method, params } = step as Extract<CommonStep, { step: "ask" }>
          const id = "ask-" + ++lastQuestion
          const answered = new Promise((resolve) => questions.set(id, resolve))
          await port.send({ jsonrpc: "2.0", id, method, params: fill(params, message, answer) ?? {} })
          answer = await answered
          break
        }
        default:
          await port.act(step as Parameters<typeof port.act>[0])
      }
    }
  }

  const note = (message: ClientMessage) => {
    received.push(message)
    if (isRequest(message)) unanswered.add(message)
    if (message.method !== undefined) return false
    questions.get(String(message.id))?.(message)
    return true
  }

  return { find, note, run, setRules }
}
