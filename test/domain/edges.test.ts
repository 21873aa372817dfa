/** Corners of the domain that are reached from other rooms. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Redacted } from "effect"
import * as ConfigDocument from "../../src/domain/server/ConfigDocument.js"
import { InvalidConfig } from "../../src/domain/Errors.js"
import { isMadeOfWords } from "../../src/domain/internal/looksLikeName.js"
import * as Secrets from "../../src/domain/Secrets.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { describeShortage } from "../../src/domain/internal/shortage.js"

describe("the JSON Schema of config files", () => {
  it("has no parts that say nothing", () => {
    const text = JSON.stringify(ConfigDocument.jsonSchema())
    assert.include(text, "mcp-supervisor configuration")
    assert.notInclude(text, '"required":[]')
    assert.notInclude(text, "nonEmptyString")
  })
})

describe("scrubBeginning", () => {
  it("leaves out an end that may be the first half of a secret", () => {
    const beginning = Secrets.scrubBeginning(Secrets.make([Redacted.make("top-secret-value")]))
    const text = `${"x".repeat(500)}top-sec`
    assert.notInclude(beginning(text), "top-sec")
    assert.include(text, beginning(text))
    assert.strictEqual(beginning("short"), "")
  })

  it("leaves a text as it is where nothing is secret", () =>
    assert.strictEqual(Secrets.scrubBeginning(Secrets.empty)("all of it"), "all of it"))
})

describe("an entry that is wrong", () => {
  const issues = [{ path: [], expected: "a string", found: "a number" }] as const

  it("is disabled if it is switched off, and failed otherwise", () => {
    const off = new InvalidConfig({ server: "a", issues, disabled: true })
    assert.strictEqual(ServerConfig.toInvalidSettings("a", off).disabled, "config")
    const on = new InvalidConfig({ server: "a", issues })
    assert.isUndefined(ServerConfig.toInvalidSettings("a", on).disabled)
  })

  it.each(["", " ", ".", ".."])("has a name that cannot be one: %j", (name) =>
    assert.isTrue(Either.isLeft(ServerConfig.decode(name, { command: "x" })))
  )
})

describe("a shortage", () => {
  it("is told with what helps, also where the system gives no reason that we know", () => {
    assert.match(describeShortage("EMFILE"), /no free file descriptor; .*ulimit -n.* \(EMFILE\)$/)
    for (const code of [undefined, "EPERM", "constructor"]) {
      assert.match(describeShortage(code), /^the system has no room for another process; .*ulimit/)
    }
  })
})

describe("words", () => {
  it.each([
    ["", true],
    ["1234", true],
    ["a1b", true],
    ["a1b2c", false],
    ["x".repeat(25), false]
  ] as const)("%j: %s", (text, expected) => assert.strictEqual(isMadeOfWords(text), expected))
})
