import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Chunk, Duration, Effect, Exit, Fiber, Stream } from "effect"
import type { RequestError } from "../../../src/connection/Session.js"
import type * as Protocol from "../../../src/domain/catalog/Protocol.js"
import { assertTag } from "../../support/assertTag.js"
import { live } from "../support/live.js"
import { connect, eventually, faulty, groupOf, local, textOf } from "../support/session.js"

/** A call that was sent and lost with the process. */
const lostWithProcess = (error: RequestError) => assertTag(assertTag(error, "OutcomeUnknown").cause, "ProcessExited")

const within = (limit: Duration.DurationInput) => Effect.timeoutFail({ duration: limit, onTimeout: () => "too late" })

describe("a server that cannot be started", () => {
  live(
    "a command that is not there names the PATH that was searched",
    Effect.gen(function* () {
      const PATH = "/nowhere/bin:/nowhere/else"
      const error = yield* Effect.flip(connect({ command: "no-such-command", env: { PATH } }))
      const { message, reason, where } = assertTag(error, "SpawnFailed")
      assert.strictEqual(reason, "not_found")
      // what was declared in the environment is secret, even if it is a PATH
      assert.isDefined(where)
      assert.include(message, "no-such-command")
    })
  )

  live(
    "the PATH we have is named",
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect({ command: "no-such-command" }))
      assert.strictEqual(assertTag(error, "SpawnFailed").where, process.env.PATH)
    })
  )

  live(
    "a missing working directory is not reported as a missing command",
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect({ ...local(), cwd: "/no/such/directory" }))
      const { reason, where } = assertTag(error, "SpawnFailed")
      assert.deepStrictEqual([reason, where], ["bad_directory", "/no/such/directory"])
    })
  )

  live(
    "a file that may not be executed is told apart from one that is not there",
    Effect.gen(function* () {
      const file = join(mkdtempSync(join(tmpdir(), "supervisor-")), "server")
      writeFileSync(file, "#!/bin/sh\n")
      chmodSync(file, 0o600)
      const forbidden = yield* Effect.flip(connect({ command: file }))
      assert.strictEqual(assertTag(forbidden, "SpawnFailed").reason, "not_permitted")
    })
  )

  live(
    "one that exits at once is told with phase, code and last words",
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect(local("exit-at-start")))
      const { exitCode, phase, stderr } = assertTag(error, "ProcessExited")
      assert.deepStrictEqual([exitCode, phase, stderr], [3, "handshake", "no config found"])
    })
  )

  live(
    "one that never answers fails at its connect limit, which is none of the others",
    Effect.gen(function* () {
      const timeout = { connect: 300, list: 60_000, call: 60_000, total: 60_000 }
      const error = yield* Effect.flip(connect({ ...local("hang"), timeout }))
      const { after, phase } = assertTag(error, "ConnectTimeout")
      assert.deepStrictEqual([after, phase], [300, "handshake"])
    })
  )
})

describe("a server that dies", () => {
  live(
    "all its pending calls settle within a second with code and last words",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const pending = yield* Effect.forEach(Array.from({ length: 5 }), () => Effect.fork(session.callTool("silent")))
      const errors = yield* Effect.all([
        Effect.flip(session.callTool("crash")),
        ...pending.map((fiber) => Effect.flip(Fiber.join(fiber)))
      ]).pipe(within("5 seconds"))
      for (const error of errors) {
        const { exitCode, phase, stderr } = lostWithProcess(error)
        assert.deepStrictEqual([exitCode, phase, stderr], [7, undefined, "fatal: out of luck"])
      }
      assertTag(yield* session.closed, "ProcessExited")
    })
  )

  live(
    "killed from outside, it is told with the signal, and nobody else notices",
    Effect.gen(function* () {
      const [session, other] = yield* Effect.all([connect(local()), connect(local())])
      const pending = yield* Effect.fork(Effect.flip(session.callTool("silent")))
      const elsewhere = yield* Effect.fork(other.callTool("progress", { steps: 5, every: 100 }))
      // an answer after the call says that the call has arrived
      yield* session.callTool("echo", { value: 1 })
      process.kill(session.info.pid!, "SIGKILL")
      const [took, error] = yield* Effect.timed(Fiber.join(pending))
      assert.strictEqual(lostWithProcess(error).signal, "SIGKILL")
      assert.isBelow(Duration.toMillis(took), 1000)
      assert.strictEqual(textOf(yield* Fiber.join(elsewhere)), "done")
    })
  )

  live(
    "in the middle of an answer",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(lostWithProcess(yield* Effect.flip(session.callTool("half-answer"))).exitCode, 8)
    })
  )

  live(
    "with a grandchild that holds its pipes open, it is known to be dead within a second",
    Effect.gen(function* () {
      const session = yield* connect(local("grandchild"))
      yield* eventually(() => groupOf(session.info.pid!).length === 2)
      process.kill(session.info.pid!, "SIGKILL")
      assert.strictEqual(assertTag(yield* within("1 second")(session.closed), "ProcessExited").signal, "SIGKILL")
    })
  )

  live(
    "a leader that exits with 0 and leaves a child behind is dead, and so is the child after closing",
    Effect.gen(function* () {
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const session = yield* connect(local())
          assert.strictEqual(lostWithProcess(yield* Effect.flip(session.callTool("leave-child"))).exitCode, 0)
          return session.info.pid!
        })
      )
      assert.deepStrictEqual(groupOf(pid), [])
    })
  )

  live(
    "a call after its death is not sent",
    Effect.gen(function* () {
      const session = yield* connect(local())
      yield* Effect.flip(session.callTool("crash"))
      yield* session.closed
      assertTag(yield* Effect.flip(session.callTool("echo")), "NotSent")
      assertTag(yield* Effect.flip(session.listTools), "NotSent")
    })
  )
})

describe("a server that misbehaves", () => {
  live(
    "lines that are no messages are skipped and logged, before, between and after messages",
    Effect.gen(function* () {
      const lines: Array<Protocol.LogLine> = []
      const session = yield* connect(local("banner"), { onLog: (line) => void lines.push(line) })
      assert.strictEqual(textOf(yield* session.callTool("noise", { lines: 3 })), "done")
      assert.strictEqual(textOf(yield* session.callTool("echo", { value: "still there" })), "still there")
      yield* eventually(() => lines.some(({ text }) => text === "progress bar 2"))
      assert.deepStrictEqual(
        lines.map(({ source, text }) => [source, text]),
        ["Welcome!", "{ not json", "[1, 2]", "progress bar 0", "progress bar 1", "progress bar 2"].map((text) => [
          "stdout",
          text
        ])
      )
    })
  )

  live(
    "an error for nobody changes nothing",
    Effect.gen(function* () {
      const session = yield* connect(local("null-error"))
      assert.strictEqual(textOf(yield* session.callTool("echo", { value: 1 })), "1")
    })
  )

  live(
    "100 MB of stderr neither block it nor fill the memory",
    Effect.gen(function* () {
      let logged = 0
      const session = yield* connect(local(), {
        onLog: ({ text }) => {
          logged += text.length
        }
      })
      assert.strictEqual(textOf(yield* session.callTool("chatter", { bytes: 100_000_000 })), "done")
      assert.isBelow(logged, 50_000_000)
      const error = lostWithProcess(yield* Effect.flip(session.callTool("crash")))
      assert.match(error.stderr!, /y+\nfatal: out of luck$/)
      assert.isBelow(error.stderr!.length, 20_000)
    }),
    60_000
  )

  live(
    "an answer of 20 MB arrives whole",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(textOf(yield* session.callTool("big", { bytes: 20_000_000 })).length, 20_000_000)
    })
  )

  live(
    "a line without end closes the connection with a reason",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const error = assertTag(yield* Effect.flip(session.callTool("endless")), "OutcomeUnknown")
      assert.include(assertTag(error.cause, "ConnectionClosed").detail, "bytes")
    }),
    60_000
  )

  live(
    "one that closes its input is of no more use",
    Effect.gen(function* () {
      const session = yield* connect(local())
      yield* session.callTool("close-input")
      assertTag(yield* Effect.flip(session.callTool("echo")), "OutcomeUnknown")
      assert.include(assertTag(yield* session.closed, "ConnectionClosed").detail, "input")
    })
  )

  live(
    "one that closes its output is of no more use",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const error = assertTag(yield* Effect.flip(session.callTool("close-output")), "OutcomeUnknown")
      assert.include(assertTag(error.cause, "ConnectionClosed").detail, "output")
    })
  )

  live(
    "stopped, it fails calls at their limit and probes at theirs, and can still be closed",
    Effect.gen(function* () {
      const pid = yield* Effect.scoped(
        Effect.gen(function* () {
          const session = yield* connect(local())
          process.kill(session.info.pid!, "SIGSTOP")
          const error = yield* Effect.flip(session.callTool("echo", {}, { idleTimeout: 200 }))
          const { after, sent, which } = assertTag(error, "CallTimeout")
          assert.deepStrictEqual([after, sent, which], [200, true, "idle"])
          assertTag(yield* Effect.flip(session.probe("100 millis")), "HealthCheckFailed")
          process.kill(session.info.pid!, "SIGCONT")
          yield* session.probe("5 seconds")
          process.kill(session.info.pid!, "SIGSTOP")
          return session.info.pid!
        })
      )
      assert.deepStrictEqual(groupOf(pid), [])
    })
  )

  live(
    "where it does not read, interrupting a call returns at once, and what waits was not sent",
    Effect.gen(function* () {
      const session = yield* connect(local())
      process.kill(session.info.pid!, "SIGSTOP")
      const value = "x".repeat(1_000_000)
      const calls = yield* Effect.forEach(Array.from({ length: 5 }), () =>
        Effect.fork(Effect.exit(session.callTool("echo", { value })))
      )
      yield* Effect.yieldNow()
      const last = yield* Effect.fork(session.callTool("echo", { value }))
      yield* Effect.yieldNow()
      const [took] = yield* Effect.timed(Fiber.interrupt(last))
      assert.isBelow(Duration.toMillis(took), 3000)
      process.kill(session.info.pid!, "SIGKILL")
      const exits = yield* Effect.forEach(calls, Fiber.join)
      const tags = exits.map((exit) =>
        Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error._tag : "?"
      )
      assert.deepStrictEqual(new Set(tags), new Set(["OutcomeUnknown", "NotSent"]))
    })
  )
})

describe("calls", () => {
  live(
    "progress keeps a call alive, and comes in order before the answer",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const seen: Array<number> = []
      const onProgress = ({ progress }: Protocol.Progress) => Effect.sync(() => void seen.push(progress))
      const result = yield* session.callTool("progress", { steps: 10, every: 100 }, { idleTimeout: 400, onProgress })
      assert.strictEqual(textOf(result), "done")
      assert.deepStrictEqual(seen, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    })
  )

  live(
    "progress alone does not last for ever: the total limit wins and is named",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const limits = { idleTimeout: 1000, totalTimeout: 600 }
      const call = session.callTool("progress", { steps: 100, every: 50 }, limits)
      const { after, which } = assertTag(yield* Effect.flip(call), "CallTimeout")
      assert.deepStrictEqual([after, which], [600, "total"])
    })
  )

  live(
    "an interrupted call is cancelled once, its late answer is for nobody, the connection stays",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const fiber = yield* Effect.fork(session.callTool("progress", { steps: 3, every: 50 }))
      yield* session.callTool("echo")
      yield* Fiber.interrupt(fiber)
      const cancelled = JSON.parse(textOf(yield* session.callTool("cancelled")))
      assert.lengthOf(cancelled, 1)
      yield* session.callTool("progress", { steps: 3, every: 100 })
      assert.deepStrictEqual(JSON.parse(textOf(yield* session.callTool("cancelled"))), cancelled)
    })
  )

  live(
    "a ping is answered during a call",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(textOf(yield* session.callTool("ping")), "{}")
    })
  )
})

describe("what a server gets and gives", () => {
  live(
    "secrets in its words and errors are hidden, the environment is only what was declared",
    Effect.gen(function* () {
      process.env.SUPERVISOR_TEST_CANARY = "not-for-servers"
      const lines: Array<string> = []
      const config = { ...local(), environment: { TOKEN: "tok-1234567890" } }
      const session = yield* connect(config, { onLog: ({ text }) => void lines.push(text) })
      const environment = JSON.parse(textOf(yield* session.callTool("environment")))
      delete process.env.SUPERVISOR_TEST_CANARY
      assert.isUndefined(environment.SUPERVISOR_TEST_CANARY)
      assert.strictEqual(environment.TOKEN, "tok-1234567890")
      assert.match(environment.MCP_SUPERVISOR_RUN, /^[\da-f-]{36}$/)
      const error = assertTag(yield* Effect.flip(session.callTool("secret")), "ProtocolError")
      assert.notInclude(JSON.stringify([error, error.message]), "tok-1234567890")
      yield* session.callTool("whisper", { line: "using tok-1234567890 now" })
      yield* eventually(() => lines.length > 0)
      assert.notInclude(lines.join(), "tok-1234567890")
    })
  )

  live(
    "its log is a stream that ends with the session",
    Effect.gen(function* () {
      const logs = yield* Effect.scoped(
        Effect.gen(function* () {
          const session = yield* connect(local())
          const fiber = yield* Effect.forkDaemon(Stream.runCollect(session.logs))
          yield* session.callTool("whisper", { line: "one" })
          yield* session.callTool("whisper", { line: "two" })
          return fiber
        })
      )
      const lines = Chunk.toReadonlyArray(yield* Fiber.join(logs))
      assert.deepStrictEqual(
        lines.map(({ text }) => text),
        ["one", "two"]
      )
    })
  )
})

describe("a container", () => {
  live(
    "its client gets the end of its input before any signal",
    Effect.gen(function* () {
      const directory = mkdtempSync(join(tmpdir(), "supervisor-"))
      const docker = join(directory, "docker")
      // a container goes on when its client is killed: only the end of its input reaches it
      writeFileSync(
        docker,
        `#!/bin/sh\ntrap 'echo TERM >> "${directory}/events"' TERM\n"${process.execPath}" "${faulty}"\necho EOF >> "${directory}/events"\n`
      )
      chmodSync(docker, 0o700)
      yield* Effect.scoped(connect({ command: docker, args: ["run", "-i", "--rm", "image"] }))
      assert.strictEqual(readFileSync(join(directory, "events"), "utf8"), "EOF\n")
    })
  )
})

describe("many attempts", () => {
  live(
    "leave no listener, process or pipe behind",
    Effect.gen(function* () {
      const open = () => process.getActiveResourcesInfo().filter((kind) => /Process|Pipe/.test(kind)).length
      const attempt = Effect.scoped(Effect.either(connect(local("exit-at-start"))))
      yield* attempt
      const before = { listeners: process.listenerCount("exit"), open: open() }
      yield* Effect.all(
        Array.from({ length: 40 }, () => attempt),
        { concurrency: 4 }
      )
      yield* eventually(() => open() <= before.open)
      assert.strictEqual(process.listenerCount("exit"), before.listeners)
    }),
    60_000
  )
})
