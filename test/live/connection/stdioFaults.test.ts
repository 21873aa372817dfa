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
    "fails for a missing command with the PATH that was searched",
    Effect.gen(function* () {
      const PATH = "/nowhere/bin:/nowhere/else"
      const error = yield* Effect.flip(connect({ command: "no-such-command", env: { PATH } }))
      const { message, reason, where } = assertTag(error, "SpawnFailed")
      assert.strictEqual(reason, "not_found")
      // declared variables are secret, even a PATH
      assert.isDefined(where)
      assert.include(message, "no-such-command")
    })
  )

  live(
    "fails with the PATH of the supervisor if none is configured",
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect({ command: "no-such-command" }))
      assert.strictEqual(assertTag(error, "SpawnFailed").where, process.env.PATH)
    })
  )

  live(
    "fails for a missing working directory, not for a missing command",
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect({ ...local(), cwd: "/no/such/directory" }))
      const { reason, where } = assertTag(error, "SpawnFailed")
      assert.deepStrictEqual([reason, where], ["bad_directory", "/no/such/directory"])
    })
  )

  live(
    "fails differently for a file that is not executable and for a missing one",
    Effect.gen(function* () {
      const file = join(mkdtempSync(join(tmpdir(), "supervisor-")), "server")
      writeFileSync(file, "#!/bin/sh\n")
      chmodSync(file, 0o600)
      const forbidden = yield* Effect.flip(connect({ command: file }))
      assert.strictEqual(assertTag(forbidden, "SpawnFailed").reason, "not_permitted")
    })
  )

  live(
    "fails with phase, exit code and last stderr lines if it exits at once",
    Effect.gen(function* () {
      const error = yield* Effect.flip(connect(local("exit-at-start")))
      const { exitCode, phase, stderr } = assertTag(error, "ProcessExited")
      assert.deepStrictEqual([exitCode, phase, stderr], [3, "handshake", "no config found"])
    })
  )

  live(
    "fails after the connect timeout, and no other timeout, if it never answers",
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
    "settles all pending calls within a second with exit code and last stderr lines",
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
    "is reported with the signal that killed it, and affects no other server",
    Effect.gen(function* () {
      const [session, other] = yield* Effect.all([connect(local()), connect(local())])
      const pending = yield* Effect.fork(Effect.flip(session.callTool("silent")))
      const elsewhere = yield* Effect.fork(other.callTool("progress", { steps: 5, every: 100 }))
      // a response after the call shows that the call has arrived
      yield* session.callTool("echo", { value: 1 })
      process.kill(session.info.pid!, "SIGKILL")
      const [took, error] = yield* Effect.timed(Fiber.join(pending))
      assert.strictEqual(lostWithProcess(error).signal, "SIGKILL")
      assert.isBelow(Duration.toMillis(took), 15_000)
      assert.strictEqual(textOf(yield* Fiber.join(elsewhere)), "done")
    })
  )

  live(
    "settles a call whose response it was writing",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(lostWithProcess(yield* Effect.flip(session.callTool("half-answer"))).exitCode, 8)
    })
  )

  live(
    "is found dead within a second if a grandchild holds its pipes open",
    Effect.gen(function* () {
      const session = yield* connect(local("grandchild"))
      yield* eventually(() => groupOf(session.info.pid!).length === 2)
      process.kill(session.info.pid!, "SIGKILL")
      assert.strictEqual(assertTag(yield* within("1 second")(session.closed), "ProcessExited").signal, "SIGKILL")
    })
  )

  live(
    "is dead if its process exits with 0 and leaves a child, which closing ends",
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
    "is sent no further call",
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
    "has lines that are no messages skipped and logged, before, between and after messages",
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
    "changes nothing with an error without id",
    Effect.gen(function* () {
      const session = yield* connect(local("null-error"))
      assert.strictEqual(textOf(yield* session.callTool("echo", { value: 1 })), "1")
    })
  )

  live(
    "neither blocks nor fills the memory with 100 MB of stderr",
    Effect.gen(function* () {
      let logged = 0
      const session = yield* connect(local(), {
        onLog: ({ text }) => {
          logged += text.length
        }
      })
      assert.strictEqual(
        textOf(
          yield* session.callTool(
            "chatter",
            { bytes: 100_000_000 },
            { idleTimeout: "2 minutes", totalTimeout: "2 minutes" }
          )
        ),
        "done"
      )
      assert.isBelow(logged, 50_000_000)
      const error = lostWithProcess(yield* Effect.flip(session.callTool("crash")))
      assert.match(error.stderr!, /y+\nfatal: out of luck$/)
      assert.isBelow(error.stderr!.length, 20_000)
    }),
    180_000
  )

  live(
    "can send a response of 20 MB",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(textOf(yield* session.callTool("big", { bytes: 20_000_000 })).length, 20_000_000)
    })
  )

  live(
    "loses its connection, with a reason, if it writes an endless line",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const error = assertTag(yield* Effect.flip(session.callTool("endless")), "OutcomeUnknown")
      assert.include(assertTag(error.cause, "ConnectionClosed").detail, "bytes")
    }),
    180_000
  )

  live(
    "loses its connection if it closes its input",
    Effect.gen(function* () {
      const session = yield* connect(local())
      yield* session.callTool("close-input")
      assertTag(yield* Effect.flip(session.callTool("echo")), "OutcomeUnknown")
      assert.include(assertTag(yield* session.closed, "ConnectionClosed").detail, "input")
    })
  )

  live(
    "loses its connection if it closes its output",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const error = assertTag(yield* Effect.flip(session.callTool("close-output")), "OutcomeUnknown")
      assert.include(assertTag(error.cause, "ConnectionClosed").detail, "output")
    })
  )

  live(
    "fails calls and probes at their timeouts if it is stopped, and can be closed",
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
    "does not delay the interrupt of a call if it does not read; waiting messages are not sent",
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
      assert.isBelow(Duration.toMillis(took), 15_000)
      process.kill(session.info.pid!, "SIGKILL")
      const exits = yield* Effect.forEach(calls, Fiber.join)
      const tags = exits.map((exit) =>
        Exit.isFailure(exit) && exit.cause._tag === "Fail" ? exit.cause.error._tag : "?"
      )
      assert.deepStrictEqual(new Set(tags), new Set(["OutcomeUnknown", "NotSent"]))
    })
  )
})

describe("a call", () => {
  live(
    "is kept alive by progress, which arrives in order before the result",
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
    "fails after the total timeout, by name, despite endless progress",
    Effect.gen(function* () {
      const session = yield* connect(local())
      const limits = { idleTimeout: 1000, totalTimeout: 600 }
      const call = session.callTool("progress", { steps: 100, every: 50 }, limits)
      const { after, which } = assertTag(yield* Effect.flip(call), "CallTimeout")
      assert.deepStrictEqual([after, which], [600, "total"])
    })
  )

  live(
    "is cancelled once if it is interrupted; its late response is ignored, the connection stays",
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
    "does not delay the response to a ping",
    Effect.gen(function* () {
      const session = yield* connect(local())
      assert.strictEqual(textOf(yield* session.callTool("ping")), "{}")
    })
  )
})

describe("the data of a server", () => {
  live(
    "have no secrets in texts and errors, and only the declared environment",
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
    "include its log as a stream that ends with the session",
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
    "has the input of its client closed before any signal",
    Effect.gen(function* () {
      const directory = mkdtempSync(join(tmpdir(), "supervisor-"))
      const docker = join(directory, "docker")
      // a container keeps running when its client is killed: only the end of its input reaches it
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
    180_000
  )
})
