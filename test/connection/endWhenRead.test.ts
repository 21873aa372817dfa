import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { assert, describe, it } from "@effect/vitest"

describe("endWhenRead", () => {
  it("is removed with undici 8, which no longer needs it (nodejs/undici#5360)", () => {
    const file = createRequire(import.meta.url).resolve("undici/package.json")
    const { version } = JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }
    assert.isBelow(
      Number(version.split(".")[0]),
      8,
      "delete src/connection/http/endWhenRead.ts and its use in HttpClient.ts, and see whether test/live/connection/httpEnd.test.ts still passes"
    )
  })
})
