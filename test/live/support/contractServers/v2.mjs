// A server on the SDK's second generation: `node v2.mjs stdio | http  legacy | dual | modern`
import { randomUUID } from "node:crypto"
import { createServer as createHttpServer } from "node:http"
import { Readable } from "node:stream"
import {
  completable,
  createMcpHandler,
  inputRequired,
  McpServer,
  WebStandardStreamableHTTPServerTransport
} from "@modelcontextprotocol/server"
import { serveStdio, StdioServerTransport } from "@modelcontextprotocol/server/stdio"
import { z } from "zod"
import { capabilities, note, page, question, sampling, text, tools } from "./tools.mjs"

/** What is told to all who listen, where each request has a server of its own. */
let shared

const create = () => {
  const server = new McpServer({ name: "contract-v2", version: "1.0.0" }, { capabilities, instructions: "Be kind." })

  const callerOf = ({ mcpReq }) => {
    const ask = (request, read) => {
      const answer = mcpReq.inputResponses?.answer
      return answer === undefined ? inputRequired({ inputRequests: { answer: request } }) : text(read(answer))
    }
    return {
      signal: mcpReq.signal,
      progress: (progress) => {
        const params = { ...progress, progressToken: mcpReq._meta.progressToken }
        return mcpReq.notify({ method: "notifications/progress", params })
      },
      log: (level, data) => mcpReq.log(level, data, "contract"),
      toolsChanged: () => (shared === undefined ? server.sendToolListChanged() : shared.toolsChanged()),
      updated: (uri) =>
        shared === undefined ? server.server.sendResourceUpdated({ uri }) : shared.resourceUpdated(uri),
      ping: () => mcpReq.send({ method: "ping" }),
      elicit: (message) =>
        ask(inputRequired.elicit({ ...question, message }), ({ action, content }) => `${action} ${content?.name}`),
      sample: () => ask(inputRequired.createMessage(sampling), ({ content }) => content.text),
      roots: () => ask(inputRequired.listRoots(), ({ roots }) => roots.map((root) => root.uri).join())
    }
  }

  for (const [name, { input, run }] of Object.entries(tools)) {
    server.registerTool(name, { inputSchema: z.object(input) }, (args, context) => run(args, callerOf(context)))
  }
  server.registerResource("note", note, {}, () => ({ contents: [{ uri: note, text: "a note" }] }))
  server.registerPrompt(
    "greet",
    {
      argsSchema: z.object({
        name: completable(z.string(), (value) => ["Ada", "Alan", "Grace"].filter((name) => name.startsWith(value)))
      })
    },
    ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}` } }] })
  )
  // the SDK has all tools on one page
  server.server.setRequestHandler("tools/list", ({ params }) => page(params?.cursor))
  return server
}

const withSubscriptions = (server) => {
  server.server.setRequestHandler("resources/subscribe", () => ({}))
  server.server.setRequestHandler("resources/unsubscribe", () => ({}))
  return server
}

const listen = (answer) => {
  const http = createHttpServer((request, response) => {
    pass(answer, request, response).catch((error) => response.destroy(error))
  })
  http.listen(0, "127.0.0.1")
}

/** Hands a request of Node to a handler of the web. */
const pass = async (answer, request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = chunks.length === 0 ? undefined : Buffer.concat(chunks)
  const gone = new AbortController()
  response.on("close", () => gone.abort())
  const answered = await answer(
    new Request(`http://${request.headers.host}${request.url}`, {
      method: request.method,
      headers: request.headers,
      signal: gone.signal,
      ...(body === undefined ? {} : { body })
    })
  )
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body === null) return response.end()
  response.flushHeaders()
  const stream = Readable.fromWeb(answered.body)
  // the caller is gone, and the stream with it
  stream.on("error", () => {})
  response.on("close", () => stream.destroy())
  return stream.pipe(response)
}

const sessions = new Map()

const overSessions = async (request) => {
  const known = sessions.get(request.headers.get("mcp-session-id"))
  if (known !== undefined) return known.handleRequest(request)
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport)
  })
  await withSubscriptions(create()).connect(transport)
  return transport.handleRequest(request)
}

const serveHandler = (options) => {
  const handler = createMcpHandler(create, options)
  shared = handler.notify
  listen((request) => handler.fetch(request))
}

const serve = {
  stdio: {
    legacy: () => withSubscriptions(create()).connect(new StdioServerTransport()),
    dual: () => serveStdio(({ era }) => (era === "legacy" ? withSubscriptions(create()) : create())),
    modern: () => serveStdio(create, { legacy: "reject" })
  },
  http: {
    legacy: () => listen(overSessions),
    dual: () => serveHandler({}),
    modern: () => serveHandler({ legacy: "reject" })
  }
}

const [transport, era] = process.argv.slice(2)
await serve[transport][era]()
