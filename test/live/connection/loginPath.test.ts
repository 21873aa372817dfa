import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Option } from "effect"
import { loginPath, type Options } from "../../../src/connection/stdio/LoginPath.js"

/** A directory with a shell that runs these lines. `$2` is the command that it receives. */
const shellOf = (...lines: ReadonlyArray<string>) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "mcp-shell-"))),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true }))
    ),
    (directory) => {
      const shell = join(directory, "shell")
      writeFileSync(shell, ["#!/bin/sh", `cd ${directory}`, ...lines, ""].join("\n"), { mode: 0o755 })
      return { directory, shell, pids: join(directory, "pids") }
    }
  )

const ask = (shell: string | undefined, options?: Partial<Options>) =>
  loginPath({ shell, env: { PATH: process.env.PATH, HOME: tmpdir() }, ...options })

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    // killed, but its exit code is not read yet
    return !existsSync("/proc/self/stat") || !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

const eventually = <A>(read: () => A, until: (value: A) => boolean) =>
  Effect.sync(read).pipe(Effect.delay("10 millis"), Effect.repeat({ until }), Effect.timeout("30 seconds"))

/** The pids that the shell writes down, once there are enough. */
const pidsIn = (file: string, count: number) =>
  eventually(
    () => (existsSync(file) ? readFileSync(file, "utf8") : "").split("\n").slice(0, -1).map(Number),
    (pids) => pids.length === count
  )

const assertGone = Effect.fn(function* (file: string, count: number) {
  const pids = yield* pidsIn(file, count)
  yield* eventually(
    () => pids.filter(isAlive),
    (alive) => alive.length === 0
  )
})

const child = "sleep 1000 & echo $! >> pids"
const self = "echo $$ >> pids"

describe("loginPath", () => {
  it.scopedLive("finds the PATH in any output of the startup files", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(
        self,
        "echo 'Welcome! PATH=/wrong/bin'; echo 'a warning' >&2",
        "PATH=/opt/homebrew/bin:/usr/bin:/bin",
        'eval "$2"',
        "echo goodbye"
      )
      assert.deepStrictEqual(yield* ask(shell), Option.some("/opt/homebrew/bin:/usr/bin:/bin"))
      yield* assertGone(pids, 1)
    })
  )

  it.scopedLive("asks an interactive login shell", () =>
    Effect.gen(function* () {
      const { shell } = yield* shellOf('[ "$1" = -ilc ] && [ $# = 2 ] || exit 1', "PATH=/ok/bin", 'eval "$2"')
      assert.deepStrictEqual(yield* ask(shell), Option.some("/ok/bin"))
    })
  )

  it.scopedLive.skipIf(!existsSync("/bin/bash"))("gets what a real shell reads from its profile", () =>
    Effect.gen(function* () {
      const { directory } = yield* shellOf()
      writeFileSync(join(directory, ".bash_profile"), 'echo hello\nexport PATH="/with space/bin:$PATH"\n')
      const path = yield* ask("/bin/bash", { env: { HOME: directory, PATH: "/usr/bin:/bin" }, timeout: "50 seconds" })
      assert.match(Option.getOrThrow(path), /^\/with space\/bin:.*\/bin/)
    })
  )

  it.scopedLive("ends a shell that hangs, and leaves no process", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(self, child, "trap '' TERM INT HUP", "sleep 1000")
      const [took, path] = yield* Effect.timed(ask(shell, { timeout: "2 seconds" }))
      assert.deepStrictEqual(path, Option.none())
      assert.isBelow(Duration.toMillis(took), 30_000)
      yield* assertGone(pids, 2)
    })
  )

  it.scopedLive("uses the output of a shell that hangs after it, and leaves no process", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(self, child, 'eval "$2"', "sleep 1000")
      const [took, path] = yield* Effect.timed(ask(shell, { timeout: "50 seconds" }))
      assert.isTrue(Option.isSome(path))
      assert.isBelow(Duration.toMillis(took), 30_000)
      yield* assertGone(pids, 2)
    })
  )

  it.scopedLive("leaves no process of a shell that already exited", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(child, "exit 1")
      assert.deepStrictEqual(yield* ask(shell, { timeout: "2 seconds" }), Option.none())
      yield* assertGone(pids, 1)
    })
  )

  it.scopedLive("leaves no process when it is interrupted", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(self, child, "sleep 1000")
      const fiber = yield* Effect.fork(ask(shell, { timeout: "50 seconds" }))
      yield* pidsIn(pids, 2)
      yield* Fiber.interrupt(fiber)
      yield* assertGone(pids, 2)
    })
  )

  it.scopedLive("ends a shell with endless output", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(self, "yes & echo $! >> pids", "wait")
      const [took, path] = yield* Effect.timed(ask(shell, { timeout: "50 seconds" }))
      assert.deepStrictEqual(path, Option.none())
      assert.isBelow(Duration.toMillis(took), 30_000)
      yield* assertGone(pids, 2)
    })
  )

  it.scopedLive("gives the shell no input", () =>
    Effect.gen(function* () {
      const { shell } = yield* shellOf("read -r answer", "cat", 'eval "$2"')
      assert.isTrue(Option.isSome(yield* ask(shell, { timeout: "50 seconds" })))
    })
  )

  it.scopedLive.each([
    ["fails", ["exit 1"]],
    ["says nothing", ["exit 0"]],
    ["repeats the question", ['echo "$2"']],
    ["has no PATH", ["unset PATH", 'eval "$2"']],
    ["has a PATH with line breaks", ["PATH='/a\n/b'", 'eval "$2"']],
    ["says half of it", ["PATH=/a", 'eval "${2%mcp*}"']]
  ] as const)("returns nothing for a shell that %s", ([, lines]) =>
    Effect.gen(function* () {
      const { shell } = yield* shellOf(...lines)
      assert.deepStrictEqual(yield* ask(shell), Option.none())
    })
  )

  it.scopedLive("returns nothing without a shell", () =>
    Effect.gen(function* () {
      const { directory } = yield* shellOf()
      for (const shell of [undefined, "", "/no/such/shell", directory, "nul\0byte"]) {
        assert.deepStrictEqual(yield* ask(shell), Option.none())
      }
    })
  )

  it.scopedLive("starts nothing on Windows", () =>
    Effect.gen(function* () {
      const { pids, shell } = yield* shellOf(self, 'eval "$2"')
      assert.deepStrictEqual(yield* ask(shell, { platform: "win32" }), Option.none())
      assert.isFalse(existsSync(pids))
    })
  )
})
