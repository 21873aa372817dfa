import { assert, describe, it } from "@effect/vitest"
import * as ServerName from "../../src/domain/server/ServerName.js"

describe("a server name", () => {
  it("is one line of visible characters", () => {
    for (const name of ["a", "my server", "größe", "a/b;c", "日本", "x".repeat(128)]) {
      assert.deepStrictEqual(ServerName.issues(name), [], name)
    }
  })

  for (const [name, found] of [
    ["", "an empty name"],
    ["  ", "an empty name"],
    [" a", "a name with space around it"],
    ["a\nb", "a name with characters that cannot be seen"],
    ["a\u200bb", "a name with characters that cannot be seen"],
    ["a\ud800", "a name with characters that cannot be seen"],
    ["x".repeat(129), "a longer name"],
    [".", "a name that means a directory"],
    ["..", "a name that means a directory"],
    ["__proto__", "a name that is not to be used"]
  ] as const) {
    it(`cannot be ${JSON.stringify(name.slice(0, 20))}`, () => {
      const [issue] = ServerName.issues(name)
      assert.strictEqual(issue?.found, found)
      assert.deepStrictEqual(issue?.path, [])
      assert.include(issue?.expected, "at most 128 characters")
    })
  }
})
