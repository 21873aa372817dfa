import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { codeOf, makeDirectory } from "../../../src/system/files/wholeFile.js"

const place = mkdtempSync(join(tmpdir(), "mcp-files-"))
afterAll(() => rmSync(place, { recursive: true, force: true }))

const reasonOf = (path: string): Promise<string> => makeDirectory(path).then(() => "made", codeOf)

describe("makeDirectory", () => {
  it("creates missing directories for the user only, also in concurrent calls", async () => {
    const path = join(place, "a", "b", "c")
    await Promise.all(Array.from({ length: 10 }, () => makeDirectory(path)))
    for (const each of [path, join(place, "a")]) assert.strictEqual(statSync(each).mode & 0o777, 0o700)
    assert.strictEqual(await reasonOf(path), "made")
  })

  it("fails with the reason if a file is in the way", async () => {
    const file = join(place, "file")
    writeFileSync(file, "")
    assert.strictEqual(await reasonOf(file), "EEXIST")
    assert.strictEqual(await reasonOf(join(file, "below")), "ENOTDIR")
  })

  it.runIf(existsSync("/proc/self"))(
    "says so where no file system lets anybody, and does not try for ever",
    async () => {
      assert.strictEqual(await reasonOf("/proc/nowhere/at/all"), "ENOENT")
    }
  )
})
