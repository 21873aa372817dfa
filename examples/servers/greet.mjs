// The smallest useful MCP server: one tool, no state.
import { McpServer } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { z } from "zod"

const createServer = () => {
  const server = new McpServer({ name: "greet", version: "1.0.0" })

  server.registerTool(
    "greet",
    {
      title: "Greet",
      description: "Greets somebody by name",
      inputSchema: z.object({ name: z.string().describe("Who to greet") }),
      annotations: { readOnlyHint: true, openWorldHint: false }
    },
    ({ name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }] })
  )

  return server
}

// stdout belongs to the protocol, so problems go to stderr
serveStdio(createServer, { onerror: console.error })
