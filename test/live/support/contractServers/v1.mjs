// A server on the SDK's first generation: `node v1.mjs stdio | http | json | sse`
import { randomUUID } from "node:crypto"
import { createServer as createHttpServer } from "node:http"
import { completable } from "@modelcontextprotocol/sdk/server/completable.js"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js"
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  EmptyResultSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema
} from "@modelcontextprotocol/sdk/types.js"
import { z } from "zod"
import { capabilities, note, page, question, sampling, text, tools } from "./tools.mjs"

const create = () => {
  const server = new McpServer({ name: "contract-v1", version: "1.0.0" }, { capabilities, instructions: "Be kind." })

  const callerOf = ({ _meta: meta, sendNotification, sendRequest, signal }) => ({
    signal,
    progress: (progress) =>
      sendNotification({
        method: "notifications/progress",
        params: { ...progress, progressToken: meta.progressToken }
      }),
    log: (level, data) => server.sendLoggingMessage({ level, logger: "contract", data }),
    toolsChanged: () => server.sendToolListChanged(),
    updated: (uri) => server.server.sendResourceUpdated({ uri }),
    ping: () => sendRequest({ method: "ping" }, EmptyResultSchema),
    elicit: async (message) => {
      const answer = await sendRequest(
        { method: "elicitation/create", params: { ...question, message } },
        ElicitResultSchema
      )
      return text(`${answer.action} ${answer.content?.name}`)
    },
    sample: async () => {
      const answer = await sendRequest(
        { method: "sampling/createMessage", params: sampling },
        CreateMessageResultSchema
      )
      return text(answer.content.text)
    },
    roots: async () => {
      const answer = await sendRequest({ method: "roots/list" }, ListRootsResultSchema)
      return text(answer.roots.map((root) => root.uri).join())
    }
  })

  for (const [name, { input, run }] of Object.entries(tools)) {
    server.registerTool(name, { inputSchema: input }, (args, extra) => run(args, callerOf(extra)))
  }
  server.registerResource("note", note, {}, () => ({ contents: [{ uri: note, text: "a note" }] }))
  server.registerPrompt(
    "greet",
    {
      argsSchema: {
        name: completable(z.string(), (value) => ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(value)))
      }
    },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }] })
  )
  // the SDK has all tools on one page
  server.server.setRequestHandler(ListToolsRequestSchema, ({ params }) => page(params?.cursor))
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
  return server
}

const listen = (handle) => {
  const http = createHttpServer((request, response) => {
    handle(request, response).catch((error) => response.destroy(error))
  })
  http.listen(0, "127.0.0.1")
}

const bodyOf = async (request) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString("utf8"))
}

const sessions = new Map()

const serve = {
  stdio: () => create().connect(new StdioServerTransport()),
  http: () =>
    listen(async (request, response) => {
      const known = sessions.get(request.headers["mcp-session-id"])
      if (known !== undefined) return known.handleRequest(request, response)
      if (request.method !== "POST") return response.writeHead(400).end()
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => sessions.set(id, transport)
      })
      await create().connect(transport)
      return transport.handleRequest(request, response)
    }),
  json: () =>
    listen(async (request, response) => {
      if (request.method !== "POST") return response.writeHead(405).end()
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true })
      await create().connect(transport)
      return transport.handleRequest(request, response, await bodyOf(request))
    }),
  sse: () =>
    listen(async (request, response) => {
      const url = new URL(request.url, "http://127.0.0.1")
      if (request.method === "GET" && url.pathname === "/sse") {
        const transport = new SSEServerTransport("/messages", response)
        sessions.set(transport.sessionId, transport)
        return create().connect(transport)
      }
      const known = sessions.get(url.searchParams.get("sessionId"))
      if (known === undefined) return response.writeHead(404).end()
      return known.handlePostMessage(request, response)
    })
}

await serve[process.argv[2]]()
