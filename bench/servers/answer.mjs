// What the servers written by hand say.

const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "minimal", version: "1.0.0" }
  }),
  "tools/list": () => ({
    tools: [
      { name: "echo", inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] } }
    ]
  }),
  "tools/call": (params) => ({ content: [{ type: "text", text: params.arguments.text }] }),
  ping: () => ({})
}

/** The answer to a message as JSON, if it wants one. */
export const answer = ({ id, method, params }) => {
  if (id === undefined || method === undefined) return undefined
  const result = Object.hasOwn(results, method) ? results[method](params) : undefined
  return JSON.stringify(
    result === undefined
      ? { jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } }
      : { jsonrpc: "2.0", id, result }
  )
}
