import { execFileSync, spawn } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bundle } from "../support/bundle.js"
import { mark, processesCarrying } from "../support/marked.js"
import { eventually, faulty } from "../support/session.js"

const limited = 'ulimit -n 64; exec "$@"'

describe("a supervisor without free file descriptors", () => {
  it.scopedLive("reports it, retries, and starts the server when descriptors are free", () =>
    Effect.gen(function* () {
      const host = yield* Effect.promise(() => bundle("./shortageHost.ts"))
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn("sh", ["-c", limited, "sh", process.execPath, host, process.execPath, faulty], {
            stdio: ["ignore", "pipe", "inherit"]
          })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      const output = yield* Effect.promise(async () => (await child.stdout.toArray()).join(""))
      const [during, after] = output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      assert.include(during.status, { status: "failed", errorTag: "SpawnFailed", failures: 0 })
      assert.match(during.status.error, /no free file descriptor.*ulimit -n.*EMFILE/)
      assert.isNumber(during.status.retryAt)
      assert.notProperty(during.status, "gaveUp")
      assert.strictEqual(after.status.status, "connected")
      assert.strictEqual(after.restarts, 0)
    })
  )

  it.scopedLive("ends a server in time, and its child processes when descriptors are free", () =>
    Effect.gen(function* () {
      const value = yield* mark("shortage")
      const host = yield* Effect.promise(() => bundle("./strayShortageHost.ts"))
      const line = `setsid sleep 300 & exec "${process.execPath}" "${faulty}"`
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, [host, value, "sh", "-c", line], { stdio: ["pipe", "pipe", "inherit"] })
        ),
        (child) => Effect.sync(() => child.kill("SIGKILL"))
      )
      let said = ""
      child.stdout.on("data", (chunk) => (said += String(chunk)))
      yield* eventually(() => said === "open\n" && processesCarrying(`TEST_MARK=${value}`).length === 2)
      const allow = (descriptors: number) =>
        execFileSync("prlimit", [`--nofile=${descriptors}:`, "--pid", String(child.pid)])
      allow(0)
      child.stdin.write("go\n")
      yield* eventually(() => said === "open\nclosed\n")
      assert.strictEqual(processesCarrying(`TEST_MARK=${value}`).length, 1)
      allow(1024)
      yield* eventually(() => processesCarrying(`TEST_MARK=${value}`).length === 0)
    })
  )
})
