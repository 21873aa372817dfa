import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { z } from "zod"

/** A server built with the SDK's first version, like most servers. */
export const makeServer = () => {
  const server = new McpServer({ name: "sdk-v1", version: "1.0.0" })
  const description = { inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } }
  server.registerTool("echo", description, ({ text }) => ({ content: [{ type: "text", text }] }))
  return server
}
