// The responses of the hand-written servers.

const textOnly = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }

/** Annotated as read-only, so a client may repeat a call whose outcome is unknown. */
const echo = { name: "echo", inputSchema: textOnly, annotations: { readOnlyHint: true } }

const another = (_, index) => ({
  name: `tool_${index + 1}`,
  description: `Tool number ${index + 1} of this server. It is there to be listed, with a description as long as they usually are.`,
  inputSchema: textOnly
})

/** The response to a message as JSON, if it needs one, from a server with a number of tools. */
export const answering = (count = 1) => {
  const tools = [echo, ...Array.from({ length: count - 1 }, another)]
  const results = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "minimal", version: "1.0.0" }
    }),
    "tools/list": () => ({ tools }),
    "tools/call": (params) => ({ content: [{ type: "text", text: params.arguments.text }] }),
    ping: () => ({})
  }
  return ({ id, method, params }) => {
    if (id === undefined || method === undefined) return undefined
    const result = Object.hasOwn(results, method) ? results[method](params) : undefined
    return JSON.stringify(
      result === undefined
        ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
        : { jsonrpc: "2.0", id, result }
    )
  }
}
