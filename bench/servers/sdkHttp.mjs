import { randomUUID } from "node:crypto"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { listen } from "./listen.mjs"
import { makeServer } from "./sdkTools.mjs"

const enableJsonResponse = process.argv[2] !== "sse"
const sessions = new Map()

const open = async () => {
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse,
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport)
  })
  await makeServer().connect(transport)
  return transport
}

listen(async (request, response) => {
  const id = request.headers["mcp-session-id"]
  const transport = id === undefined ? await open() : sessions.get(id)
  if (transport === undefined) return response.writeHead(404).end()
  await transport.handleRequest(request, response)
})
