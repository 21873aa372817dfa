import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as KeyFile from "../../../src/system/files/keyFile.js"

const keyPath = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "key-"))),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  ),
  (directory) => join(directory, "a.key")
)

describe("KeyFile", () => {
  it.scopedLive("creates a key once, for the user only, also if many ask at the same time", () =>
    Effect.gen(function* () {
      const path = yield* keyPath
      const keys = yield* Effect.all(
        Array.from({ length: 16 }, () => KeyFile.readOrCreate(path)),
        {
          concurrency: "unbounded"
        }
      )
      assert.strictEqual(new Set(keys).size, 1)
      assert.strictEqual(yield* KeyFile.read(path), keys[0]!)
      assert.strictEqual(statSync(path).mode & 0o777, 0o600)
    })
  )

  it.scopedLive("does not replace a key that is corrupt or of a newer version", () =>
    Effect.gen(function* () {
      const path = yield* keyPath
      assert.strictEqual(yield* Effect.flip(KeyFile.read(path)), "Absent")
      for (const [content, reason] of [
        ["half a k", "Corrupt"],
        ['{"version":1,"key":"short"}', "Corrupt"],
        ['{"version":2}', "Newer"]
      ] as const) {
        writeFileSync(path, content)
        assert.strictEqual(yield* Effect.flip(KeyFile.readOrCreate(path)), reason)
        assert.strictEqual(readFileSync(path, "utf8"), content)
      }
    })
  )

  it("hashes a text differently under each key", () => {
    assert.notStrictEqual(KeyFile.hash("00", "a"), KeyFile.hash("01", "a"))
    assert.strictEqual(KeyFile.hash("00", "a"), KeyFile.hash("00", "a"))
  })
})
