// Loaded before any server that runs on Node: has it tell what it receives, a line of stderr for each thing.
import { Server } from "node:http"

const journal = (entry) => process.stderr.write(`@journal ${JSON.stringify(entry)}\n`)

const received = (text) => {
  if (text.trim() === "") return
  const message = JSON.parse(text)
  for (const { id, method, params } of Array.isArray(message) ? message : [message]) {
    if (method !== undefined) journal({ event: "received", method, id, params })
  }
}

/** Sees what a stream gets, without reading from it. */
const spy = (stream, see) => {
  const { push } = stream
  stream.push = (chunk, encoding) => {
    see(chunk)
    return push.call(stream, chunk, encoding)
  }
}

let rest = ""
spy(process.stdin, (chunk) => {
  const lines = `${rest}${chunk ?? "\n"}`.split("\n")
  rest = lines.pop()
  for (const line of lines) received(line)
})

const { emit } = Server.prototype
Server.prototype.emit = function (event, ...values) {
  if (event === "listening") journal({ event: "listening", port: this.address().port })
  if (event === "request") {
    const [request, response] = values
    const { method } = request
    let body = ""
    journal({ event: "http", method })
    spy(request, (chunk) => {
      if (chunk !== null) body += chunk
      else received(body)
    })
    response.on("close", () => journal({ event: "http closed", method }))
  }
  return emit.call(this, event, ...values)
}

journal({ event: "started", pid: process.pid })
