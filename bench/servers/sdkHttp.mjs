// A server over streamable HTTP, built with the SDK. It takes the arguments of `minimalHttp.mjs`, without `tools`.
import { randomUUID } from "node:crypto"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import { listen } from "./listen.mjs"
import { makeServer } from "./sdkTools.mjs"

const enableJsonResponse = process.argv[2] !== "sse"

const open = async (sessions) => {
  const transport = new StreamableHTTPServerTransport({
    enableJsonResponse,
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport)
  })
  await makeServer().connect(transport)
  return transport
}

const makeHandler = () => {
  const sessions = new Map()
  return async (request, response) => {
    const id = request.headers["mcp-session-id"]
    const transport = id === undefined ? await open(sessions) : sessions.get(id)
    if (transport === undefined) return response.writeHead(404).end()
    await transport.handleRequest(request, response)
  }
}

await listen(makeHandler, JSON.parse(process.argv[3] ?? "{}"))
