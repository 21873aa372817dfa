// Servers over HTTP with one misbehaviour each: node http.mjs prints {"port"}, and http://127.0.0.1:PORT/MODE/SIZE is the
// server of that mode. Other modes are payloads, see payloads.mjs. The expected outcomes are in modes.ts.
import { gzipSync } from "node:zlib"
import { answersOf, good } from "./payloads.mjs"
import { listen } from "./rawServer.mjs"

const replies = { initialize: "initialize", "tools/list": "list", "tools/call": "call" }
const megabyte = Buffer.alloc(1024 * 1024, "x")
const zeros = gzipSync(Buffer.alloc(16 * 1024 * 1024))

const result = (id, text) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${text}}`
const resultOf = ({ message }) => result(message.id, good[replies[message.method]]?.(message.params) ?? "{}")
const event = (text) => `data: ${text}\n\n`
const listChanged = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'

/** The behaviour of a correct legacy server with a session. */
const usual = (answers) => (each) => {
  const { json, message, method, respond } = each
  if (method === "GET") return respond(405)
  if (method === "DELETE") return respond(200)
  if (message.id === undefined || message.method === undefined) return respond(202)
  if (message.method === "ping") return json(result(message.id, "{}"))
  const reply = replies[message.method]
  if (reply === undefined)
    return respond(
      400,
      { "content-type": "application/json" },
      `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"error":{"code":-32601,"message":"unknown method"}}`
    )
  const session = reply === "initialize" ? { "mcp-session-id": "session-1" } : {}
  json(result(message.id, answers[reply](message.params)), session)
}
const well = usual(good)

const isCall = ({ message }) => message.method === "tools/call"
const isGreeting = ({ message }) => message.method === "initialize" || message.method === "server/discover"
const isPush = ({ method }) => method === "GET"

/** Replaces the default behaviour for matching requests. */
const at = (fits, act) => () => (each) => (fits(each) ? act(each) : well(each))
const sized = (fits, act) => (size) => (each) => (fits(each) ? act(each, size) : well(each))
const atCall = (act) => at(isCall, act)
const atGreeting = (act) => at(isGreeting, act)

/** The bytes of floods by mode: a test requests them at /poured. */
const poured = {}

/** Writes the same bytes until the reader closes, at most a number of times. */
const pour = ({ path, socket }, bytes, times = Number.POSITIVE_INFINITY, end = () => {}) => {
  const [, mode] = path.split("/")
  let written = 0
  const more = () => {
    while (written < times && socket.writable) {
      written++
      poured[mode] = (poured[mode] ?? 0) + bytes.length
      if (!socket.write(bytes)) return void socket.once("drain", more)
    }
    if (socket.writable) end()
  }
  more()
}

/** Writes byte by byte. */
const drip = ({ socket }, text, every = 1) => {
  let index = 0
  const timer = setInterval(() => {
    if (!socket.writable || index >= text.length) return void clearInterval(timer)
    socket.write(text[index++])
  }, every)
}

const sse = "text/event-stream"

/** A response as an event stream that a function writes. */
const asStream = (write) =>
  at(
    ({ message }) => message.method in replies,
    (each) => {
      each.begin(sse, isGreeting(each) ? { "mcp-session-id": "session-1" } : {})
      write(each, resultOf(each))
      each.socket.end()
    }
  )

/** A response with a body and other headers. */
const withHeaders = (headers) =>
  at(
    ({ message }) => message.method in replies,
    (each) => each.json(resultOf(each), headers(each))
  )

const session = (id) => withHeaders(() => ({ "mcp-session-id": id }))
const retryAfter = (value, status = 503) => atGreeting(({ respond }) => respond(status, { "retry-after": value }))
const gzip =
  (bytes, status = 200, type = "application/json") =>
  (each, times = 1) => {
    const { write } = each
    write(`HTTP/1.1 ${status} OK\r\ncontent-type: ${type}\r\ncontent-encoding: gzip\r\nconnection: close\r\n\r\n`)
    // members of one gzip file: each is small when compressed and 16 MiB after
    pour(each, bytes, times, () => each.socket.end())
  }
const bomb = (fits, status, type) => sized(fits, (each, size) => gzip(zeros, status, type)(each, size))
const raw = (fits, text) => at(fits, ({ socket, write }) => [write(text), socket.end()])

const sessions = new Map()

const modes = {
  good: () => well,

  // --- slow and endless
  silent: () => () => {},
  "silent-call": atCall(() => {}),
  drip: atCall((each) => {
    const body = resultOf(each)
    drip(each, `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  }),
  "drip-without-end": atCall((each) => {
    each.begin("application/json")
    drip(each, " ".repeat(100_000), 50)
  }),
  "endless-json": sized(isCall, (each, size) => {
    each.begin("application/json")
    pour(each, megabyte, size)
  }),
  "endless-event": sized(isCall, (each, size) => {
    each.begin(sse)
    each.write("data: ")
    pour(each, megabyte, size)
  }),
  "endless-event-lines": sized(isCall, (each, size) => {
    each.begin(sse)
    pour(each, Buffer.from(`data: ${"x".repeat(1000)}\n`.repeat(1024)), size)
  }),
  "comment-flood": atCall((each) => {
    each.begin(sse)
    pour(each, ": still here\n\n".repeat(4096))
  }),
  "event-flood": atCall((each) => {
    each.begin(sse)
    pour(
      each,
      event('{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}').repeat(512)
    )
  }),
  "garbage-event-flood": atCall((each) => {
    each.begin(sse)
    pour(each, event("garbage").repeat(4096))
  }),
  "progress-then-answer": sized(isCall, (each, size) => {
    const token = each.message.params._meta?.progressToken
    const progress = (value) =>
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(token)},"progress":${value}}}`
    each.begin(sse)
    for (let value = 0; value < size; value++) each.write(event(progress(value)))
    each.write(event(resultOf(each)))
    each.socket.end()
  }),

  // --- bodies
  garbage: atCall(({ json }) => json("not json at all")),
  "garbage-greeting": atGreeting(({ json }) => json("not json at all")),
  html: atCall(({ respond }) => respond(200, { "content-type": "text/html" }, "<html><body>Welcome</body></html>")),
  "html-greeting": atGreeting(({ respond }) => respond(200, { "content-type": "text/html" }, "<html></html>")),
  "no-content-type": atCall((each) => each.respond(200, {}, resultOf(each))),
  "odd-content-type": atCall((each) => each.json(resultOf(each), { "content-type": "application/json;;; charset==" })),
  "empty-body": atCall(({ json }) => json("")),
  "empty-stream": atCall(({ respond }) => respond(200, { "content-type": sse })),
  "body-array": atCall((each) => each.json(`[${resultOf(each)}]`)),
  "foreign-id": atCall(({ json }) => json(result(987_654, good.call()))),
  "string-ids": at(
    ({ message }) => message.method in replies,
    (each) => each.json(result(String(each.message.id), good[replies[each.message.method]]()))
  ),
  "null-id": atCall(({ json }) => json(result(null, good.call()))),
  "neither-result-nor-error": atCall(({ json, message }) =>
    json(`{"jsonrpc":"2.0","id":${JSON.stringify(message.id)}}`)
  ),
  "both-result-and-error": atCall(({ json, message }) =>
    json(
      `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"content":[]},"error":{"code":1,"message":"both"}}`
    )
  ),
  "two-answers": asStream((each, text) => each.write(event(text) + event(text))),
  "invalid-utf8": atCall((each) =>
    each.json(
      Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":'),
        Buffer.from(JSON.stringify(each.message.id)),
        Buffer.from(',"result":{"content":[{"type":"text","text":"'),
        Buffer.from([0xff, 0xc0]),
        Buffer.from('"}]}}')
      ])
    )
  ),

  // --- event streams
  "sse-crlf": asStream((each, text) => each.write(`data: ${text}\r\n\r\n`)),
  "sse-cr": asStream((each, text) => each.write(`data: ${text}\r\r`)),
  "sse-bom": asStream((each, text) => each.write(`\uFEFFdata: ${text}\n\n`, "utf8")),
  "sse-without-last-newline": atCall((each) => {
    each.begin(sse)
    each.write(`data: ${resultOf(each)}`)
    each.socket.end()
  }),
  "sse-many-lines": asStream((each, text) => each.write(`data: ${text.slice(0, 1)}\ndata: ${text.slice(1)}\n\n`)),
  "sse-other-event-type": atCall((each) => {
    each.begin(sse)
    each.write(`event: other\ndata: ${resultOf(each)}\n\n`)
    each.socket.end()
  }),
  "sse-retry-zero": asStream((each, text) => each.write(`retry: 0\nid: 1\n${event(text)}`)),
  "sse-id-with-nul": asStream((each, text) => each.write(`id: a\0b\n${event(text)}`)),
  "sse-byte-by-byte": atCall((each) => {
    each.begin(sse)
    drip(each, event(resultOf(each)))
  }),
  "sse-answer-and-no-end": atCall((each) => {
    each.begin(sse)
    each.write(event(resultOf(each)))
  }),
  "sse-ends-early": atCall((each) => {
    each.begin(sse)
    each.socket.end()
  }),
  "sse-resume-without-end": atCall((each) => {
    each.begin(sse)
    each.write("id: 1\nretry: 1\ndata: \n\n")
    each.socket.end()
  }),

  // --- redirects
  "redirect-circle": at(
    () => true,
    ({ path, respond }) => respond(307, { location: path })
  ),
  "redirect-elsewhere": at(
    () => true,
    ({ respond }) => respond(307, { location: "http://127.0.0.1:9/mcp" })
  ),
  "redirect-endless": (() => {
    let count = 0
    return () =>
      ({ path, respond }) =>
        respond(307, { location: `${path.replace(/\?.*/, "")}?${count++}` })
  })(),
  "redirect-nowhere": at(
    () => true,
    ({ respond }) => respond(302)
  ),
  "redirect-to-a-file": at(
    () => true,
    ({ respond }) => respond(302, { location: "file:///etc/passwd" })
  ),
  "redirect-garbage": at(
    () => true,
    ({ respond }) => respond(302, { location: "http://[::" })
  ),

  // --- statuses
  "retry-after-year-9999": retryAfter("Fri, 31 Dec 9999 23:59:59 GMT"),
  "retry-after-huge": retryAfter("100000000000000"),
  "retry-after-negative": retryAfter("-5"),
  "retry-after-zero": retryAfter("0", 429),
  "retry-after-1970": retryAfter("Thu, 01 Jan 1970 00:00:00 GMT"),
  "retry-after-garbage": retryAfter("soon", 429),
  "rate-limited-call": atCall(({ respond }) => respond(429, { "retry-after": "3600" })),
  "status-204": atCall(({ socket, write }) => [write("HTTP/1.1 204 No Content\r\n\r\n"), socket.end()]),
  "status-202": atCall(({ respond }) => respond(202)),
  "status-401": atCall(({ respond }) => respond(401)),
  "status-401-greeting": atGreeting(({ respond }) => respond(401)),
  "status-403": atCall(({ respond }) => respond(403)),
  "status-404": atCall(({ respond }) => respond(404)),
  "status-404-greeting": at(
    () => true,
    ({ respond }) => respond(404)
  ),
  "status-500": atCall(({ respond }) => respond(500, {}, "x".repeat(100_000))),
  "status-500-greeting": at(
    () => true,
    ({ respond }) => respond(500)
  ),
  "status-999": raw(isCall, "HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n"),
  "status-101": raw(isCall, "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"),
  "status-102-flood": atCall((each) => pour(each, "HTTP/1.1 102 Processing\r\n\r\n".repeat(1000))),
  flapping: (() => {
    let turn = 0
    return at(isCall, (each) => (turn++ % 2 === 0 ? each.respond(503) : well(each)))
  })(),

  // --- session ids
  "session-changing": withHeaders(() => ({ "mcp-session-id": `session-${Math.random()}` })),
  "session-latin1": session("s\u00e9ssion"),
  "session-doubled": withHeaders(() => ({ "mcp-session-id": ["one", "two"] })),
  "session-long": session("s".repeat(12_000)),
  "session-empty": session(""),
  "session-control-characters": session("a\tb"),
  "session-lost-once": (size) => (each) => {
    const key = `lost-${size}`
    if (!isCall(each) || sessions.has(key)) return well(each)
    sessions.set(key, true)
    each.respond(404)
  },

  // --- connections
  "half-open": atCall(({ socket }) => socket.pause()),
  reset: atCall(({ socket }) => socket.resetAndDestroy()),
  "reset-greeting": at(
    () => true,
    ({ socket }) => socket.resetAndDestroy()
  ),
  "reset-in-body": atCall((each) => {
    each.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
    setTimeout(() => each.socket.resetAndDestroy(), 20)
  }),
  "close-without-answer": atCall(({ socket }) => socket.end()),
  "content-length-too-long": atCall((each) => {
    each.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100000\r\n\r\n${resultOf(each)}`)
    each.socket.end()
  }),
  "content-length-too-short": atCall((each) => {
    each.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\n\r\n${resultOf(each)}`)
    each.socket.end()
  }),
  "content-length-garbage": raw(isCall, "HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n{}"),
  "content-length-twice": raw(isCall, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"),
  "http-1.0": atCall((each) => {
    each.write(`HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n${resultOf(each)}`)
    each.socket.end()
  }),
  "not-http": raw(() => true, "SSH-2.0-OpenSSH_9.9\r\n"),
  "chunked-garbage": raw(
    isCall,
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n"
  ),
  "chunked-without-end": atCall((each) => {
    const body = resultOf(each)
    each.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n")
    each.write(`${body.length.toString(16)}\r\n${body}\r\n`)
  }),
  "headers-of-a-megabyte": atCall((each) => each.json(resultOf(each), { "x-long": "x".repeat(1024 * 1024) })),
  "headers-without-end": atCall((each) => {
    each.write("HTTP/1.1 200 OK\r\n")
    pour(each, "x-more: again\r\n".repeat(1000))
  }),
  "trailing-flood": atCall((each) => {
    each.json(resultOf(each))
    pour(each, megabyte, 64)
  }),

  // --- gzip
  "gzip-bomb-json": bomb(isCall, 200, "application/json"),
  "gzip-bomb-stream": bomb(isCall, 200, sse),
  "gzip-bomb-202": bomb(({ message }) => message.method === "notifications/initialized", 202, "text/plain"),
  "gzip-bomb-500": bomb(isCall, 500, "text/plain"),
  "gzip-bomb-greeting": bomb(isGreeting, 200, "application/json"),
  "gzip-truncated": atCall((each) => gzip(gzipSync(resultOf(each)).subarray(0, -12))(each)),
  "gzip-corrupt": atCall((each) => gzip(Buffer.from("this is not gzip"))(each)),
  "unknown-encoding": atCall((each) => each.json(resultOf(each), { "content-encoding": "zip" })),

  // --- the stream for server messages, and the end
  "push-flood": at(isPush, (each) => {
    each.begin(sse)
    pour(each, event(listChanged).repeat(512))
  }),
  "push-garbage-flood": at(isPush, (each) => {
    each.begin(sse)
    pour(each, event("garbage").repeat(4096))
  }),
  "push-endless-line": at(isPush, (each) => {
    each.begin(sse)
    each.write("data: ")
    pour(each, megabyte)
  }),
  "push-ping-flood": at(isPush, (each) => {
    each.begin(sse)
    pour(each, event('{"jsonrpc":"2.0","id":"q","method":"ping"}').repeat(512))
  }),
  "push-closes-at-once": at(isPush, (each) => {
    each.begin(sse)
    each.socket.end()
  }),
  "push-hangs": at(isPush, () => {}),
  "delete-hangs": at(
    ({ method }) => method === "DELETE",
    () => {}
  ),
  "delete-500": at(
    ({ method }) => method === "DELETE",
    ({ respond }) => respond(500)
  ),
  "delete-flood": at(
    ({ method }) => method === "DELETE",
    (each) => {
      each.begin("text/plain")
      pour(each, megabyte)
    }
  )
}

if (process.argv[2] === "--modes") {
  process.stdout.write(`${JSON.stringify({ modes: Object.keys(modes) })}\n`)
} else {
  /** One handler for each path, so that its state belongs to one server. */
  const handlers = new Map()
  const handlerOf = (path) => {
    const [, mode, size = "1"] = path.replace(/\?.*/, "").split("/")
    const key = `${mode}/${size}`
    if (!handlers.has(key)) handlers.set(key, modes[mode]?.(Number(size)) ?? usual(answersOf(mode, Number(size))))
    return handlers.get(key)
  }
  const port = await listen((each) =>
    each.path === "/poured" ? each.json(JSON.stringify(poured)) : handlerOf(each.path)(each)
  )
  process.stdout.write(`${JSON.stringify({ port })}\n`)
  // it exits with the program that started it
  process.stdin.on("end", () => process.exit(0)).resume()
}
