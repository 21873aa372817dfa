// An HTTP server that parses requests correctly and lets a handler write any bytes as the response.
import { createServer } from "node:net"

/** One request on a connection, with functions to respond. */
const exchange = (socket, head, body) => {
  const [requestLine, ...lines] = head.split("\r\n")
  const [method, path] = requestLine.split(" ")
  const headers = Object.fromEntries(lines.map((line) => [line.split(":")[0].toLowerCase(), line.split(": ")[1]]))
  const write = (text, encoding = "latin1") => socket.writable && socket.write(text, encoding)
  const respond = (status, headers = {}, body = "") => {
    const bytes = typeof body === "string" ? Buffer.from(body) : body
    const all = { "content-length": bytes.length, ...headers }
    const head = Object.entries(all).flatMap(([name, value]) =>
      [value]
        .flat()
        .filter((each) => each !== undefined)
        .map((each) => `${name}: ${each}\r\n`)
    )
    socket.cork()
    write(`HTTP/1.1 ${status} Some Reason\r\n${head.join("")}\r\n`)
    if (socket.writable) socket.write(bytes)
    socket.uncork()
  }
  return {
    method,
    path,
    headers,
    message: body.length === 0 ? {} : JSON.parse(body.toString()),
    socket,
    write,
    respond,
    json: (text, more = {}) => respond(200, { "content-type": "application/json", ...more }, text),
    /** Begins a response that ends with the connection. */
    begin: (type, more = {}) => {
      const head = Object.entries({ "content-type": type, connection: "close", ...more })
      write(`HTTP/1.1 200 OK\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`)
    }
  }
}

/** Listens on a free port of loopback. `accept` takes over a whole connection by returning true. */
export const listen = (handle, accept = () => false) =>
  new Promise((resolve) => {
    const server = createServer({ noDelay: true }, (socket) => {
      socket.on("error", () => {})
      if (accept(socket)) return
      let buffer = Buffer.alloc(0)
      socket.on("data", (chunk) => {
        buffer = Buffer.concat([buffer, chunk])
        for (;;) {
          const end = buffer.indexOf("\r\n\r\n")
          if (end === -1) return
          const head = buffer.subarray(0, end).toString("latin1")
          const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
          if (buffer.length < end + 4 + length) return
          const body = buffer.subarray(end + 4, end + 4 + length)
          buffer = buffer.subarray(end + 4 + length)
          handle(exchange(socket, head, body))
        }
      })
    })
    server.listen(0, "127.0.0.1", () => resolve(server.address().port))
  })
