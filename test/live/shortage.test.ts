import { spawn } from "node:child_process"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { bundle } from "./support/bundle.js"
import { faulty } from "./support/session.js"

describe("a supervisor without free file descriptors", () => {
  it.scopedLive("says so, tries again, and starts the server when descriptors are free (breaker 7)", () =>
    Effect.gen(function* () {
      const host = yield* Effect.promise(() => bundle("./shortageHost.ts"))
      const limited = 'ulimit -n 64; exec "$@"'
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
})
