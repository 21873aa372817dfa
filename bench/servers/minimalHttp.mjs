// A server over streamable HTTP with one tool, written by hand. It answers as it is told: with JSON, and then it has nothing
// to say unasked, or with a stream of events, and then it also keeps one open for that.
import { randomUUID } from "node:crypto"
import { answer } from "./answer.mjs"
import { listen } from "./listen.mjs"

const streams = process.argv[2] === "sse"

const post = (request, response) => {
  let body = ""
  request.setEncoding("utf8")
  request.on("data", (chunk) => {
    body += chunk
  })
  request.on("end", () => {
    const message = JSON.parse(body)
    const text = answer(message)
    if (text === undefined) return response.writeHead(202).end()
    if (message.method === "initialize") response.setHeader("mcp-session-id", randomUUID())
    if (!streams) return response.writeHead(200, { "content-type": "application/json" }).end(text)
    response.writeHead(200, { "content-type": "text/event-stream" }).end(`event: message\ndata: ${text}\n\n`)
  })
}

listen((request, response) => {
  if (request.method === "POST") return post(request, response)
  request.resume()
  if (request.method === "DELETE") return response.writeHead(200).end()
  if (!streams) return response.writeHead(405).end()
  response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()
})
