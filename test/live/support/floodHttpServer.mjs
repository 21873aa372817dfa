// A server on HTTP that floods its client over a stream of events. It writes its URL to stdout, and ends with its input.
//
//   node floodHttpServer.mjs WHERE MODE [deaf]
//
// WHERE  push: the stream for what a server says unasked; call: the answer to the call of the tool "flood";
//        sse: the stream of the older transport, from the first list on
// MODE   what is written, see below; "bytes" goes out in chunks of one byte, "json" as one JSON text, "unread" with the status
//        202, where only the status counts
// The tool "slow" answers after 100 ms.
// deaf   takes our answers, but does not answer the request that brings them
import { createServer } from "node:http"

const [where = "", mode = "", ...flags] = process.argv.slice(2)
const event = (message) => `data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`

const modes = {
  blank: "\n",
  returns: "\r",
  comments: ": still there\n",
  fields: "unknown: field\n\n",
  garbage: "data: garbage\n\n",
  log: event({ method: "notifications/message", params: { level: "info", data: "a line of the log" } }),
  "list-changed": event({ method: "notifications/tools/list_changed" }),
  ping: event({ id: "q", method: "ping" }),
  "roots-list": event({ id: "q", method: "roots/list" }),
  // one event that does not end
  "data-lines": "data:\n",
  "field-lines": "x\n",
  named: "event: foo\ndata: x\n\n",
  large: event({ method: "notifications/message", params: { level: "info", data: "y".repeat(30_000_000) } }),
  bytes: chunks("x"),
  json: chunks(" "),
  unread: "x"
}

/** What one byte looks like that is a chunk of its own. */
function chunks(byte) {
  return `1\r\n${byte}\r\n`
}

/** Modes that write their chunks themselves, and what comes before. */
const begins = { bytes: "data: ", json: "{" }

const flood = (response) => {
  const block = modes[mode].repeat(Math.max(1, Math.floor(65_536 / modes[mode].length)))
  if (mode in begins) response.write(begins[mode])
  const stream = mode in begins ? response.socket : response
  const more = () => {
    if (stream.destroyed) return
    if (stream.write(block)) setImmediate(more)
    else stream.once("drain", more)
  }
  // what was written to the response goes first
  setImmediate(more)
}

const answerTo = ({ method, params }) => {
  if (method === "initialize") {
    const serverInfo = { name: "flood", version: "1.0.0" }
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo }
  }
  if (method === "tools/list") {
    return { tools: ["echo", "flood"].map((name) => ({ name, inputSchema: { type: "object" } })) }
  }
  return method === "tools/call" ? { content: [{ type: "text", text: "called" }] } : {}
}

const head = (response) => {
  if (mode === "unread") return response.writeHead(202, { "content-type": "text/plain" })
  return response.writeHead(200, { "content-type": mode === "json" ? "application/json" : "text/event-stream" })
}
let stream

const get = (response) => {
  if (where === "call") return response.writeHead(405).end()
  stream = head(response)
  if (where === "sse") response.write("event: endpoint\ndata: /messages\n\n")
  else flood(response)
}

const post = (message, response) => {
  const { id, method, params } = message
  if (method === undefined && flags.includes("deaf")) return
  if (where !== "sse" && method === "server/discover") {
    const error = { code: -32601, message: "unknown method" }
    return json(response, { id, error }, 400)
  }
  if (method === undefined || id === undefined) return response.writeHead(202).end()
  const answer = { id, result: answerTo(message) }
  if (where === "sse") {
    response.writeHead(202).end()
    stream.write(event(answer))
    if (method === "tools/list") flood(stream)
  } else if (where === "call" && method === "tools/call" && params.name === "flood") {
    flood(head(response))
  } else if (method === "tools/call" && params.name === "slow") {
    setTimeout(() => json(response, answer), 100)
  } else {
    json(response, answer)
  }
}

const json = (response, message, status = 200) =>
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ jsonrpc: "2.0", ...message }))

const server = createServer((request, response) => {
  const chunks = []
  request.on("data", (chunk) => chunks.push(chunk))
  request.on("end", () => {
    if (request.method === "GET") return get(response)
    if (request.method !== "POST" || (where === "sse" && request.url === "/mcp")) return response.writeHead(405).end()
    post(JSON.parse(Buffer.concat(chunks).toString()), response)
  })
})
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${server.address().port}/mcp\n`))
process.stdin.on("end", () => process.exit(0)).resume()
