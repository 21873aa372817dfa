// What the servers written by hand say.

const textOnly = { type: "object", properties: { text: { type: "string" } }, required: ["text"] }

/** It says that it only reads, which is true: a client may send it again when it does not know what became of a call. */
const echo = { name: "echo", inputSchema: textOnly, annotations: { readOnlyHint: true } }

const another = (_, index) => ({
  name: `tool_${index + 1}`,
  description: `Tool number ${index + 1} of this server. It is there to be listed, with a description as long as they usually are.`,
  inputSchema: textOnly
})

/** The answer to a message as JSON, if it wants one, of a server with so many tools. */
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
