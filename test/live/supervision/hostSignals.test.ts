import { type ChildProcessByStdio, spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { bundle } from "../support/bundle.js"
import { eventually, faulty, groupOf } from "../support/session.js"

type Host = ChildProcessByStdio<null, Readable, null>

const startHost = (how: string, command: ReadonlyArray<string>): Effect.Effect<Host, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(
      Effect.promise(() => bundle("./host.ts")),
      (host) => spawn(process.execPath, [host, how, ...command], { stdio: ["ignore", "pipe", "ignore"] })
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

/** Its first line is the pid of its server. */
const serverOf = (child: Host) =>
  Effect.async<number>(
    (resume) => void child.stdout.once("data", (data: Buffer) => resume(Effect.succeed(Number(data))))
  )

const exitOf = (child: Host) =>
  Effect.async<number | null>((resume) => void child.once("exit", (code) => resume(Effect.succeed(code))))

const stubborn = [process.execPath, faulty, "ignore-eof"]
const wrapped = ["sh", "-c", `"${process.execPath}" "${faulty}" ignore-eof; exit $?`]

describe.concurrent("a host that ends", () => {
  for (const [name, command, processes] of [
    ["direct, ignores EOF", stubborn, 1],
    ["sh wrapper, ignores EOF", wrapped, 2]
  ] as const) {
    it.scopedLive(`by SIGTERM leaves nothing: ${name}`, () =>
      Effect.gen(function* () {
        const child = yield* startHost("wait", command)
        const leader = yield* serverOf(child)
        yield* eventually(() => groupOf(leader).length === processes)
        const exited = exitOf(child)
        child.kill("SIGTERM")
        assert.strictEqual(yield* exited, 143)
        assert.deepStrictEqual(groupOf(leader), [])
      })
    )
  }

  for (const how of ["exit", "throw"]) {
    it.scopedLive(`without closing anything (${how}) leaves nothing`, () =>
      Effect.gen(function* () {
        const child = yield* startHost(how, wrapped)
        const exited = yield* Effect.fork(exitOf(child))
        const leader = yield* serverOf(child)
        assert.notStrictEqual(yield* exited, 0)
        yield* eventually(() => groupOf(leader).length === 0)
      })
    )
  }
})
