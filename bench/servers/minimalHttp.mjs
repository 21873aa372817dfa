// A hand-written server over streamable HTTP. The first argument selects its responses: JSON, without a stream for notifications, or
// event streams, with one. The second argument is JSON: the number of servers (`count`), their port if it is fixed (`port`), and the
// number of tools of each (`tools`).
import { randomUUID } from "node:crypto"
import { answering } from "./answer.mjs"
import { listen } from "./listen.mjs"

const streams = process.argv[2] === "sse"
const options = JSON.parse(process.argv[3] ?? "{}")
const answer = answering(options.tools)

const post = (sessions, request, response) => {
  let body = ""
  request.setEncoding("utf8")
  request.on("data", (chunk) => {
    body += chunk
  })
  request.on("end", () => {
    const message = JSON.parse(body)
    const text = answer(message)
    if (text === undefined) return response.writeHead(202).end()
    if (message.method === "initialize") {
      const id = randomUUID()
      sessions.add(id)
      response.setHeader("mcp-session-id", id)
    }
    if (!streams) return response.writeHead(200, { "content-type": "application/json" }).end(text)
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`event: message\ndata: ${text}\n\n`)
  })
}

const makeHandler = () => {
  const sessions = new Set()
  return (request, response) => {
    const id = request.headers["mcp-session-id"]
    const isKnown = id === undefined || sessions.has(id)
    if (isKnown && request.method === "POST") return post(sessions, request, response)
    request.resume()
    if (!isKnown) return response.writeHead(404).end()
    if (request.method === "DELETE") {
      sessions.delete(id)
      return response.writeHead(200).end()
    }
    if (!streams) return response.writeHead(405).end()
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
  }
}

await listen(makeHandler, options)
