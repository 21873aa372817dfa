import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, FiberId, type Scope } from "effect"
import { assertTag } from "../../support/assertTag.js"
import { notes, type Place, place } from "../support/cli.js"
import type { Seen, Task } from "../support/floodHost.js"
import { live } from "../support/live.js"
import { program } from "../support/program.js"
import * as Raw from "../support/rawHttp.js"
import { connect, eventually, faulty, local, textOf } from "../support/session.js"
import { awaitStatus, live as supervised, shellServer, supervise, temporaryDirectory } from "../support/supervised.js"

const fixture = (file: string) => fileURLToPath(new URL(`../support/${file}`, import.meta.url))

/** A process that floods, see floodServer.mjs. */
const flooding = (...args: ReadonlyArray<string>) => ({
  command: process.execPath,
  args: [fixture("floodServer.mjs"), ...args]
})

/** A flood over HTTP, see floodHttpServer.mjs. */
const floodingHttp = (
  ...args: ReadonlyArray<string>
): Effect.Effect<{ readonly url: string; readonly type: "http" | "sse" }, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(process.execPath, [fixture("floodHttpServer.mjs"), ...args])),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  ).pipe(
    Effect.flatMap((child) =>
      Effect.async<string>((resume) => {
        child.stdout.once("data", (chunk: Buffer) => resume(Effect.succeed(String(chunk).trim())))
      })
    ),
    Effect.map((url) => ({ url, type: args[0] === "sse" ? ("sse" as const) : ("http" as const) }))
  )

/** A supervisor in a separate process, with a correct server and these, for one second of flood. */
const endure = (floods: Task["floods"], rest: Partial<Task> = {}) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const file = join(directory, "task.json")
    const good = { command: process.execPath, args: [faulty] }
    const task: Task = { stateDir: join(directory, "state"), good, floods, during: 1000, ...rest }
    writeFileSync(file, JSON.stringify(task))
    const host = yield* program("./floodHost.ts", file)
    return JSON.parse(yield* host.line((line) => line.startsWith("{"))) as Seen
  })

/** The 99th percentile of the time of a call without load on an idle machine, in ms. */
const idleP99 = 10

/**
 * The limits for other servers and the program during a flood. The times only distinguish "blocked" from "not blocked", and
 * grow with the time of a call before the flood: other work on the machine slows down both.
 */
const assertUnharmed = ({ close, flooded, memory, quiet }: Seen, megabytes = 300) => {
  const slowdown = Math.max(1, quiet.p99 / idleP99)
  assert.strictEqual(flooded.failed, 0)
  assert.isAbove(flooded.calls, 5)
  assert.isBelow(flooded.max, 2000 * slowdown)
  assert.isBelow(memory, megabytes)
  assert.isBelow(close, 5000 * slowdown)
}

const isStray = ({ error }: { readonly error: string }) => /more than 100000 lines that are no messages/.test(error)

describe("servers that write without pause", () => {
  supervised(
    "local ones do not affect other servers",
    Effect.gen(function* () {
      const modes = ["blank", "garbage", "braces", "log", "progress", "large", "stderr"]
      assertUnharmed(yield* endure(Object.fromEntries(modes.map((mode) => [mode, flooding(mode)]))))
    })
  )

  supervised(
    "remote ones do not affect other servers",
    Effect.gen(function* () {
      const floods = {
        comments: yield* floodingHttp("push", "comments"),
        log: yield* floodingHttp("call", "log"),
        older: yield* floodingHttp("sse", "list-changed")
      }
      assertUnharmed(yield* endure(floods))
    })
  )

  supervised(
    "their requests affect no other server and no memory, also if responses are not read or never sent",
    Effect.gen(function* () {
      const floods = {
        ping: flooding("ping"),
        batch: flooding("batch"),
        roots: flooding("roots-list"),
        unread: flooding("ping", "deaf"),
        unknown: flooding("unknown-request", "deaf"),
        http: yield* floodingHttp("push", "ping", "deaf"),
        sampling: flooding("sampling")
      }
      assertUnharmed(yield* endure(floods, { silentHandlers: true }))
    })
  )

  supervised(
    "remote ones that send single bytes, or an event that does not end, do not fill the memory",
    Effect.gen(function* () {
      const floods = {
        bytes: yield* floodingHttp("push", "bytes"),
        json: yield* floodingHttp("call", "json"),
        lines: yield* floodingHttp("push", "data-lines"),
        fields: yield* floodingHttp("push", "field-lines")
      }
      assertUnharmed(yield* endure(floods, { during: 4000 }))
    })
  )

  supervised(
    "with messages that are long and answer nothing fill no memory",
    Effect.gen(function* () {
      const groups: ReadonlyArray<Task["floods"]> = [
        { huge: flooding("huge"), dense: flooding("dense") },
        { late: flooding("huge-answer"), remote: yield* floodingHttp("push", "large") }
      ]
      for (const floods of groups) assertUnharmed(yield* endure(floods, { during: 2000 }))
    })
  )

  supervised(
    "with bodies that are not read disturb no other server",
    Effect.gen(function* () {
      assertUnharmed(yield* endure({ unread: yield* floodingHttp("call", "unread") }))
    })
  )

  supervised(
    "with lines that are no messages are failed, and say so",
    Effect.gen(function* () {
      const servers = {
        blank: flooding("blank", "now"),
        remote: yield* floodingHttp("push", "comments"),
        older: yield* floodingHttp("sse", "garbage"),
        named: yield* floodingHttp("sse", "named"),
        fields: yield* floodingHttp("push", "field-lines")
      }
      const supervisor = yield* supervise({ servers })
      yield* Effect.forEach(Object.keys(servers), (name) => awaitStatus(supervisor, name, "failed", isStray), {
        concurrency: "unbounded"
      })
    })
  )

  supervised(
    "with messages that are long and answer nothing are failed, and say so",
    Effect.gen(function* () {
      const supervisor = yield* supervise({ servers: { huge: flooding("huge", "now") } })
      yield* awaitStatus(supervisor, "huge", "failed", isStray)
    })
  )

  live(
    "a server that prints much and then stops stays connected",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(textOf(yield* session.callTool("noise", { lines: 50_000 })), "done")
      assert.strictEqual((yield* session.output).strayLines, 50_000)
      assert.strictEqual(textOf(yield* session.callTool("echo", { value: 1 })), "1")
    })
  )
})

describe("the program in the background, beside servers that write without pause", () => {
  let machine: Place
  beforeAll(async () => {
    machine = await place()
  })
  afterAll(async () => {
    await machine.run(["stop"])
    await machine.end()
    machine.remove()
  })

  it("answers calls of other servers, and stops in order", async () => {
    machine.configure({
      notes,
      blank: flooding("blank", "now"),
      deaf: flooding("ping", "now", "deaf")
    })
    assert.strictEqual((await machine.run(["start", "--port", "0"])).code, 0)
    for (let call = 0; call < 3; call += 1) {
      const { code, stderr } = await machine.run(["call", "notes/echo", JSON.stringify({ text: `note ${call}` })])
      assert.strictEqual(code, 0, stderr)
    }
    const { code, stderr } = await machine.run(["stop"])
    assert.strictEqual(code, 0, stderr)
  })
})

/** Blocks this process, like SIGSTOP: data that arrives is not read, and timers run first after it. */
const blockFor = (millis: number) =>
  Effect.async<void>((resume) => {
    setImmediate(() => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, millis)
      resume(Effect.void)
    })
  })

describe("a pause of our own process", () => {
  live(
    "does not time out a call that was answered in time",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const slow = { steps: 1, every: 100 }
      const calls = yield* Effect.forEach([slow, slow], (args) =>
        Effect.fork(session.callTool("progress", args, { idleTimeout: "400 millis" }))
      )
      // a response after the calls shows that they have arrived
      yield* session.callTool("echo", { value: 1 })
      yield* blockFor(900)
      for (const call of calls) assert.strictEqual(textOf(yield* Fiber.join(call)), "done")
    })
  )

  live(
    "does not time out a call over HTTP that was answered in time",
    Effect.gen(function* () {
      // in a separate process, because this one is blocked
      const config = yield* floodingHttp("call", "log")
      const session = yield* connect(config)
      const calls = yield* Effect.forEach([1, 2, 3], () =>
        Effect.fork(session.callTool("slow", {}, { idleTimeout: "400 millis" }))
      )
      yield* session.callTool("echo", {})
      yield* blockFor(900)
      for (const call of calls) assert.strictEqual(textOf(yield* Fiber.join(call)), "called")
    })
  )

  live(
    "does not fail a server that connected in time",
    Effect.gen(function* () {
      const greeting = yield* Deferred.make<void>()
      const attempt = yield* Effect.fork(
        connect(
          { ...shellServer(0.1), timeout: { connect: 600 } },
          { onPhase: (phase) => (phase === "handshake" ? Deferred.succeed(greeting, undefined) : Effect.void) }
        )
      )
      yield* Deferred.await(greeting)
      // the handshake must be sent before
      yield* Effect.sleep("20 millis")
      yield* blockFor(1200)
      assert.strictEqual((yield* Fiber.join(attempt)).info.serverInfo?.name, "sh")
    })
  )
})

describe("malformed responses", () => {
  /** A server of a few lines: each line of `sh` answers one call. `$id` is the JSON of the request's id. */
  const answering = (answer: string) => {
    const { args, command } = shellServer()
    const [flag, script] = args
    const own = `*'"tools/call"'*) printf '${answer}\\n' "$id"; continue ;;`
    return { command, args: [flag!, script!.replace(`*'"tools/call"'*) result='{"content":[]}' ;;`, own)] }
  }

  live(
    "without result and error fail their call at once",
    Effect.gen(function* () {
      const session = yield* connect(answering(`{"jsonrpc":"2.0","id":%s}`))
      assertTag(yield* Effect.flip(session.callTool("it")), "InvalidResult")
    })
  )

  live(
    "without result and error fail their call over HTTP at once",
    Effect.gen(function* () {
      const { url } = yield* Raw.serve(
        Raw.legacy((received, response) => {
          if (!Raw.isCall(received)) return false
          Raw.json(response, { jsonrpc: "2.0", id: received.message.id })
          return true
        })
      )
      const session = yield* connect({ url })
      assertTag(yield* Effect.flip(session.callTool("it")), "InvalidResult")
    })
  )

  live(
    "without result and error fail a list at once",
    Effect.gen(function* () {
      const { args, command } = shellServer()
      const script = args[1]!.replace(
        `*'"tools/list"'*)`,
        `*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":%s}\\n' "$id"; continue ;; *'"nothing"'*)`
      )
      const session = yield* connect({ command, args: [args[0]!, script] })
      assertTag(yield* Effect.flip(session.listTools), "InvalidResult")
    })
  )

  live(
    "with an id of another type answer no request",
    Effect.gen(function* () {
      const { args, command } = shellServer()
      // the first response has the id as a string, the second unchanged
      const script = args[1]!.replace(
        `*'"tools/list"'*) result=`,
        `*'"tools/list"'*) printf '{"jsonrpc":"2.0","id":"%s","result":{"tools":[]}}\\n' "$id"; result=`
      )
      const session = yield* connect({ command, args: [args[0]!, script] })
      assert.deepStrictEqual(
        (yield* session.listTools).items.map(({ name }) => name),
        ["it"]
      )
    })
  )

  for (const [name, end] of [
    ["a carriage return", "\r"],
    ["a carriage return and a line feed", "\r\n"],
    ["a line feed", "\n"]
  ] as const) {
    live(
      `event streams whose lines end with ${name} are read`,
      Effect.gen(function* () {
        const { url } = yield* Raw.serve(
          Raw.legacy((received, response) => {
            if (!Raw.isCall(received)) return false
            Raw.stream(response)
            const answer = JSON.stringify(Raw.result(received, Raw.text("read")))
            response.write([": hello", `id: 1`, `data: ${answer.slice(0, 20)}`, ""].join(end).slice(0, -1))
            response.write(["", "", "event: message", `data: ${answer}`, "", ""].join(end))
            return true
          })
        )
        const session = yield* connect({ url, timeout: { call: 5000 } })
        assert.strictEqual(textOf(yield* session.callTool("it")), "read")
      })
    )
  }
})

describe("requests of a server", () => {
  live(
    "beyond 64 that wait for a person are rejected, and calls go on",
    Effect.gen(function* () {
      let asked = 0
      const sample = () =>
        Effect.zipRight(
          Effect.sync(() => (asked += 1)),
          Effect.never
        )
      const session = yield* connect(
        { type: "local", command: [process.execPath, ...flooding("sampling").args] },
        {
          handlers: { sample }
        }
      )
      yield* session.callTool("flood")
      yield* eventually(() => asked === 64)
      assert.strictEqual(textOf(yield* session.callTool("echo", { value: "still there" })), "still there")
      assert.strictEqual(asked, 64)
    })
  )
})

describe("an endless body without a message", () => {
  const endless = (response: Parameters<Raw.Answer>[1], status: number, headers = {}) => {
    const closed = Deferred.unsafeMake<void>(FiberId.none)
    response.once("close", () => Deferred.unsafeDone(closed, Effect.void))
    response.writeHead(status, { "content-type": "text/plain", ...headers })
    const more = (): void => {
      if (response.destroyed) return
      if (response.write("x".repeat(65_536))) setImmediate(more)
      else response.once("drain", more)
    }
    more()
    return Deferred.await(closed)
  }

  live(
    "does not delay its redirect",
    Effect.gen(function* () {
      const closed: Array<Effect.Effect<void>> = []
      const { url } = yield* Raw.serve(
        Raw.legacy((received, response, request) => {
          if (!Raw.isCall(received) || request.url?.includes("moved")) return false
          closed.push(endless(response, 307, { location: "/mcp?moved" }))
          return true
        })
      )
      const session = yield* connect({ url })
      yield* session.callTool("it", {}, { totalTimeout: "5 seconds" })
      yield* closed[0]!
    })
  )

  live(
    "is closed by the client when a call is answered with 202",
    Effect.gen(function* () {
      const asked = yield* Deferred.make<Effect.Effect<void>>()
      const { url } = yield* Raw.serve(
        Raw.legacy((received, response) => {
          if (!Raw.isCall(received)) return false
          Deferred.unsafeDone(asked, Effect.succeed(endless(response, 202)))
          return true
        })
      )
      const session = yield* connect({ url })
      yield* Effect.forkScoped(session.callTool("it"))
      yield* Effect.flatten(Deferred.await(asked))
    })
  )
})
