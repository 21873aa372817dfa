import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { generated } from "../scripts/generated.js"
import { version } from "../src/domain/internal/version.js"

describe.each(Object.entries(generated))("%s", (file, make) => {
  it("is what `npm run generate` writes", () => {
    assert.strictEqual(readFileSync(new URL(`../${file}`, import.meta.url), "utf8"), make())
  })
})

describe("the version", () => {
  it("is the one of the package", () => {
    assert.strictEqual(version, JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version)
  })
})
