import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { guarantees, missing, recorded, type Result } from "../scripts/reliability.js"

const root = new URL("../", import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), "utf8")

/** The names in the files of the campaigns, read as text: importing them would build programs. */
const campaigns = [
  "kills",
  "load",
  "interrupts",
  "configChurn",
  "apiFuzz",
  "cliFuzz",
  "signals",
  "floods",
  "hostile"
].map((file) => /name: "([\w-]+)"/.exec(read(`test/campaigns/${file}.ts`))![1]!)

describe("the page of guarantees", () => {
  it("names only tests that exist, and at least one for each guarantee", () => {
    for (const { tests, text } of guarantees) {
      assert.isNotEmpty(tests, text)
      for (const file of tests) assert.isTrue(existsSync(new URL(file, root)), file)
    }
  })

  it("names every campaign, and no other program", () => {
    const named = guarantees.flatMap(({ campaigns }) => campaigns)
    assert.sameMembers([...named], [...campaigns, "soak"])
    const { scripts } = JSON.parse(read("package.json"))
    for (const script of ["break", "soak", "simulate"]) assert.property(scripts, script)
  })

  it("has a large result of each campaign, and a soak, without a violation", () => {
    assert.deepStrictEqual(missing(recorded(), campaigns), [])
  })

  it("reports results that are missing, small, or did not hold", () => {
    const large: Result = { name: "load", seed: 1, size: "large", seconds: 60, figures: {}, violations: [] }
    const soak: Result = { ...large, name: "soak", size: "5 min", seconds: 300 }
    const missed = (...results: ReadonlyArray<Result>) => missing({ machine: "any", results }, ["load"])
    assert.deepStrictEqual(missed(large, soak), [])
    assert.deepStrictEqual(missed(), ["load is not recorded", "soak is not recorded"])
    assert.deepStrictEqual(missed({ ...large, size: "small" }, soak), ["load is recorded with the size small"])
    assert.deepStrictEqual(missed({ ...large, violations: ["it broke"] }, soak), ["load did not hold: it broke"])
    assert.deepStrictEqual(missed(large, { ...soak, size: "1 min", seconds: 60 }), [
      "soak is recorded with the size 1 min"
    ])
  })

  it("has recorded results of campaigns only", () => {
    for (const { name } of recorded().results) assert.include([...campaigns, "soak"], name)
  })

  it("is linked from the README and from the page for contributors", () => {
    for (const page of ["README.md", "CONTRIBUTING.md"]) assert.include(read(page), "docs/reliability.md")
  })
})
