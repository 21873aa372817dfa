/** Tests cases of the domain that only other rooms reach. */
import { assert, describe, it } from "@effect/vitest"
import { Either, Redacted } from "effect"
import * as ConfigDocument from "../../src/domain/server/ConfigDocument.js"
import { InvalidConfig } from "../../src/domain/Errors.js"
import { isMadeOfWords } from "../../src/domain/internal/looksLikeName.js"
import * as Secrets from "../../src/domain/Secrets.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { describeShortage } from "../../src/domain/internal/shortage.js"

describe("the JSON Schema of config files", () => {
  it("has no empty parts", () => {
    const text = JSON.stringify(ConfigDocument.jsonSchema())
    assert.include(text, "mcp-supervisor configuration")
    assert.notInclude(text, '"required":[]')
    assert.notInclude(text, "nonEmptyString")
  })
})

describe("scrubBeginning", () => {
  it("omits an end that may be the beginning of a secret", () => {
    const beginning = Secrets.scrubBeginning(Secrets.make([Redacted.make("top-secret-value")]))
    const text = `${"x".repeat(500)}top-sec`
    assert.notInclude(beginning(text), "top-sec")
    assert.include(text, beginning(text))
    assert.strictEqual(beginning("short"), "")
  })

  it("returns a text without secrets unchanged", () =>
    assert.strictEqual(Secrets.scrubBeginning(Secrets.empty)("all of it"), "all of it"))
})

describe("an invalid entry", () => {
  const issues = [{ path: [], expected: "a string", found: "a number" }] as const

  it("is disabled if it is switched off, and failed otherwise", () => {
    const off = new InvalidConfig({ server: "a", issues, disabled: true })
    assert.strictEqual(ServerConfig.toInvalidSettings("a", off).disabled, "config")
    const on = new InvalidConfig({ server: "a", issues })
    assert.isUndefined(ServerConfig.toInvalidSettings("a", on).disabled)
  })

  it.each(["", " ", ".", ".."])("has an invalid name: %j", (name) =>
    assert.isTrue(Either.isLeft(ServerConfig.decode(name, { command: "x" })))
  )
})

describe("a shortage", () => {
  it("is described with advice, also if its reason is unknown", () => {
    assert.match(describeShortage("EMFILE"), /no free file descriptor; .*ulimit -n.* \(EMFILE\)$/)
    for (const code of [undefined, "EPERM", "constructor"]) {
      assert.match(describeShortage(code), /^the system has no room for another process; .*ulimit/)
    }
  })
})

describe("isMadeOfWords", () => {
  it.each([
    ["", true],
    ["1234", true],
    ["a1b", true],
    ["a1b2c", false],
    ["x".repeat(25), false]
  ] as const)("%j: %s", (text, expected) => assert.strictEqual(isMadeOfWords(text), expected))
})
