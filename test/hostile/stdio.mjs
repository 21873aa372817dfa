// A server on stdio with one misbehaviour: node stdio.mjs MODE SIZE. Plain Node without dependencies, so that it starts fast. Other
// modes are payloads, see payloads.mjs. The expected outcomes are in modes.ts.
import { spawn } from "node:child_process"
import { closeSync, writeSync } from "node:fs"
import { answersOf, good, greeting, payloads } from "./payloads.mjs"

const [, , mode = "good", given = "1"] = process.argv
const size = Number(given)

const stay = () => setInterval(() => {}, 1000)

/** Writes all bytes, however often the pipe is full. */
const write = (text, fd = 1) => {
  let bytes = typeof text === "string" ? Buffer.from(text) : text
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes))
    } catch (error) {
      if (error.code === "EPIPE") process.exit(0)
      if (error.code !== "EAGAIN") throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }
  }
}
const send = (message) => write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`)
const answer = (id, result) => write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`)

/** Writes a text as long as it is read, and yields to the event loop. */
const pour = (text, fd = 1) => {
  const stream = fd === 1 ? process.stdout : process.stderr
  const more = () => {
    while (stream.write(text));
    stream.once("drain", more)
  }
  more()
}
const chunk = (line) => `${line}\n`.repeat(Math.ceil(65_536 / (line.length + 1)))
const note = (method, params) => JSON.stringify({ jsonrpc: "2.0", method, params })
const ask = (method, params) => JSON.stringify({ jsonrpc: "2.0", id: "q", method, params })
const log = { level: "info", data: "again" }
const sampling = { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 }

/** Stops reading and floods. Its input stays in the pipe. */
const pourDeaf = (line) => {
  process.stdin.pause()
  pour(chunk(line))
}

/** The test finds each child by the mark on the command line of its parent. */
const child = (program, options = {}) => spawn(process.execPath, ["-e", program, process.argv[4] ?? ""], options)
const endless = "for(const s of ['SIGTERM','SIGHUP'])process.on(s,()=>{});setTimeout(()=>{},180000)"

const answers = answersOf(mode, size)
const replies = { initialize: "initialize", "tools/list": "list", "tools/call": "call" }

/** The response of a correct server to a message. */
const usual = ({ id, method, params }) => {
  if (id === undefined || method === undefined) return
  if (method === "ping") return answer(id, "{}")
  const reply = replies[method]
  if (reply === undefined) return send({ id, error: { code: -32601, message: "unknown method" } })
  answer(id, answers[reply](params))
}

/** A correct server whose responses go through a function. */
const rewriting = (rewrite) => ({
  message: (message) => {
    const reply = replies[message.method]
    if (reply === undefined) return usual(message)
    rewrite(message.id, good[reply](message.params), message)
  }
})

/** Replaces the default behaviour for one method. */
const at = (method, act) => ({ message: (message) => (message.method === method ? act(message) : usual(message)) })

/** Runs a function after the first list was sent. */
const afterList = (act) => {
  let done = false
  return {
    message: (message) => {
      usual(message)
      if (message.method !== "tools/list" || done) return
      done = true
      setTimeout(act, 50)
    }
  }
}

/** Writes a few lines around each response. */
const around = (before, after = "") => ({
  message: (message) => {
    write(before)
    usual(message)
    write(after)
  }
})

const modes = {
  good: () => ({}),

  // --- ids
  "answer-before-request": () => {
    for (let id = 0; id < 10; id++) answer(id, good.initialize())
    return {}
  },
  "duplicate-answers": () => rewriting((id, result) => [answer(id, result), answer(id, result)]),
  "wrong-ids": () => rewriting((id, result) => answer(id + 1000, result)),
  "null-ids": () => rewriting((_, result) => answer(null, result)),
  "float-ids": () => rewriting((id, result) => answer(id + 0.5, result)),
  "string-ids": () => rewriting((id, result) => answer(String(id), result)),
  "no-ids": () => rewriting((_, result) => write(`{"jsonrpc":"2.0","result":${result}}\n`)),

  // --- forms of responses
  "both-result-and-error": () =>
    at("tools/call", ({ id }) => send({ id, result: { content: [] }, error: { code: 1, message: "both" } })),
  "neither-result-nor-error": () => at("tools/call", ({ id }) => send({ id })),
  "error-text": () => at("tools/call", ({ id }) => send({ id, error: "it broke" })),
  "error-without-code": () => at("tools/call", ({ id }) => send({ id, error: { message: "it broke" } })),
  "error-with-big-data": () =>
    at("tools/call", ({ id }) => send({ id, error: { code: -1, message: "x".repeat(size * 1024), data: ["y"] } })),
  "wrong-jsonrpc": () =>
    rewriting((id, result) => write(`{"jsonrpc":"1.0","id":${JSON.stringify(id)},"result":${result}}\n`)),
  "no-jsonrpc": () => rewriting((id, result) => write(`{"id":${JSON.stringify(id)},"result":${result}}\n`)),
  batches: () =>
    rewriting((id, result) => write(`[{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}]\n`)),
  "pretty-printed": () =>
    rewriting((id, result) =>
      write(`{\n  "jsonrpc": "2.0",\n  "id": ${JSON.stringify(id)},\n  "result": ${result}\n}\n`)
    ),
  "initialize-error": () => at("initialize", ({ id }) => send({ id, error: { code: -32000, message: "not today" } })),
  "list-error": () => at("tools/list", ({ id }) => send({ id, error: { code: -32000, message: "not today" } })),
  "two-initialize-answers": () =>
    at("initialize", ({ id }) => {
      answer(id, good.initialize())
      answer(id, JSON.stringify(greeting({ protocolVersion: "2024-11-05" })))
    }),

  // --- exits
  "exit-at-start": () => process.exit(3),
  "exit-at-initialize": () => at("initialize", () => process.exit(3)),
  "exit-after-initialize": () =>
    at("initialize", (message) => {
      usual(message)
      process.exit(3)
    }),
  "exit-at-initialized": () => at("notifications/initialized", () => process.exit(3)),
  "exit-at-list": () => at("tools/list", () => process.exit(3)),
  "exit-at-call": () => at("tools/call", () => process.exit(3)),
  "exit-well-at-call": () => at("tools/call", () => process.exit(0)),
  "exit-in-an-answer": () =>
    at("tools/call", ({ id }) => {
      write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"res`)
      process.exit(3)
    }),
  "killed-at-call": () => at("tools/call", () => process.kill(process.pid, "SIGKILL")),
  "close-stdout-at-start": () => [stay(), closeSync(1)],
  "close-stdout-at-list": () => at("tools/list", () => [stay(), closeSync(1)]),
  "close-stdout-at-call": () => at("tools/call", () => [stay(), closeSync(1)]),
  "close-stdin-after-list": () => afterList(() => [stay(), closeSync(0)]),

  // --- silence
  silent: () => ({ message: () => {} }),
  "silent-list": () => at("tools/list", () => {}),
  "silent-call": () => at("tools/call", () => {}),
  "silent-ping": () => at("ping", () => {}),
  "not-reading": () => afterList(() => [stay(), process.stdin.pause()]),

  // --- bytes
  "line-without-end-at-start": () => {
    for (let megabyte = 0; megabyte < size; megabyte++) write("x".repeat(1024 * 1024))
    return {}
  },
  "line-without-end-at-call": () =>
    at("tools/call", () => {
      for (let megabyte = 0; megabyte < size; megabyte++) write("x".repeat(1024 * 1024))
    }),
  "byte-by-byte": () =>
    rewriting((id, result) => {
      for (const byte of `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`) write(byte)
    }),
  crlf: () => rewriting((id, result) => write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\r\n`)),
  bom: () => {
    write("\uFEFF")
    return {}
  },
  "invalid-utf8": () =>
    at("tools/call", ({ id }) => {
      write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"content":[{"type":"text","text":"`)
      write(Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]))
      write('"}]}}\n')
    }),
  "nul-bytes": () => around("\0\0\0\n"),
  "line-separators": () =>
    at("tools/call", ({ id }) => send({ id, result: { content: [{ type: "text", text: "a\u2028b\u2029c" }] } })),
  banner: () => around("Welcome!\n{ not json\n[1, 2]\n\n"),
  "deep-lines": () => around(`${"[".repeat(size)}${"]".repeat(size)}\n`),

  // --- floods of a number of messages, then a correct server
  "notifications-before-answer": () =>
    at("tools/call", (message) => {
      const line = `${note("notifications/message", log)}\n`
      for (let sent = 0; sent < size; sent += 100) write(line.repeat(100))
      usual(message)
    }),
  "unknown-notifications": () => around(`${note("notifications/unheard-of", { x: 1 })}\n`.repeat(size)),
  "progress-before-answer": () =>
    at("tools/call", (message) => {
      const progressToken = message.params._meta?.progressToken
      for (let progress = 0; progress < size; progress++)
        send({ method: "notifications/progress", params: { progressToken, progress } })
      usual(message)
    }),
  "progress-backwards": () =>
    at("tools/call", (message) => {
      const progressToken = message.params._meta?.progressToken
      for (const progress of [5, 3, -1, null, "x", 1e308])
        send({ method: "notifications/progress", params: { progressToken, progress } })
      usual(message)
    }),
  "progress-for-others": () => around(`${note("notifications/progress", { progressToken: 987, progress: 1 })}\n`),
  "late-progress": () =>
    at("tools/call", (message) => {
      usual(message)
      const progressToken = message.params._meta?.progressToken
      send({ method: "notifications/progress", params: { progressToken, progress: 1 } })
    }),
  "cancels-our-call": () =>
    at("tools/call", (message) => {
      send({ method: "notifications/cancelled", params: { requestId: message.id } })
      usual(message)
    }),
  "asks-what-we-do-not-offer": () =>
    at("tools/call", (message) => {
      for (const method of ["elicitation/create", "sampling/createMessage", "no/such/method", "initialize"])
        send({ id: method, method, params: {} })
      usual(message)
    }),
  "asks-with-our-ids": () =>
    at("tools/call", (message) => {
      send({ id: message.id, method: "ping" })
      usual(message)
    }),
  "vanishing-tools": () => {
    let listed = 0
    return at("tools/list", (message) => {
      if (listed++ === 0) return usual(message)
      answer(message.id, '{"tools":[]}')
    })
  },

  // --- endless floods, which begin after the first list
  "newline-flood": () => afterList(() => pour("\n".repeat(65_536))),
  "garbage-flood": () => afterList(() => pour(chunk("garbage"))),
  "brace-flood": () => afterList(() => pour(chunk("{ not json"))),
  "array-flood": () => afterList(() => pour(chunk("[]"))),
  "notification-flood": () => afterList(() => pour(chunk(note("notifications/message", log)))),
  "list-changed-flood": () => afterList(() => pour(chunk(note("notifications/tools/list_changed")))),
  "progress-flood": () =>
    afterList(() => pour(chunk(note("notifications/progress", { progressToken: 1, progress: 1 })))),
  "answer-flood": () => afterList(() => pour(chunk('{"jsonrpc":"2.0","id":1,"result":{}}'))),
  "ping-flood": () => afterList(() => pour(chunk(ask("ping")))),
  "ping-flood-deaf": () => afterList(() => pourDeaf(ask("ping"))),
  "roots-flood-deaf": () => afterList(() => pourDeaf(ask("roots/list"))),
  "sampling-flood-deaf": () => afterList(() => pourDeaf(ask("sampling/createMessage", sampling))),
  "unknown-request-flood-deaf": () => afterList(() => pourDeaf(ask("no/such/method"))),
  "stderr-flood": () => afterList(() => pour(chunk("a line of stderr"), 2)),
  "stderr-line-without-end": () => afterList(() => pour("x".repeat(65_536), 2)),

  // --- processes
  "ignores-eof": () => [stay(), {}].at(-1),
  "ignores-eof-and-signals": () => {
    stay()
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => {})
    return {}
  },
  grandchild: () => [child(endless, { stdio: "ignore" }), {}].at(-1),
  "grandchild-holds-stdout": () => [child(endless, { stdio: "inherit" }), {}].at(-1),
  "grandchild-in-a-session-of-its-own": () => {
    child(endless, { stdio: "ignore", detached: true }).unref()
    return {}
  },
  "grandchild-after-exit": () =>
    at("tools/call", () => {
      child(endless, { stdio: "inherit", detached: true }).unref()
      setTimeout(() => process.exit(0), 50)
    })
}

if (mode === "--modes") {
  write(`${JSON.stringify({ modes: Object.keys(modes), payloads: Object.keys(payloads) })}\n`)
  process.exit(0)
}

const behaviour = modes[mode]?.() ?? {}
const handle = behaviour.message ?? usual

let buffer = ""
process.stdin.setEncoding("utf8")
process.stdin.on("data", (part) => {
  const lines = (buffer + part).split("\n")
  buffer = lines.pop()
  for (const line of lines) if (line !== "") handle(JSON.parse(line))
})
process.stdin.on("error", () => {})
process.stdout.on("error", () => process.exit(0))
process.stderr.on("error", () => {})
// if the test is killed, the server exits, too
setTimeout(() => process.exit(9), 180_000).unref()
