import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as OAuthScopes from "../../src/auth/oauth/oauthScopes.js"
import * as Secrets from "../../src/domain/Secrets.js"

const word = fc.stringMatching(/^[a-z:.]{1,6}$/)
const scope = fc.array(word, { maxLength: 5 }).map((words) => words.join(" "))

describe("scopes", () => {
  it("unite to exactly the words of their parts", () =>
    fc.assert(
      fc.property(scope, scope, (a, b) => {
        const both = OAuthScopes.union(a, b)
        assert.isTrue(OAuthScopes.covers(both, a))
        assert.isTrue(OAuthScopes.covers(both, b))
        assert.isTrue(OAuthScopes.covers(`${a} ${b}`, both))
        const words = (both ?? "").split(" ")
        assert.strictEqual(new Set(words).size, words.length)
      })
    ))

  it("are undefined if empty", () => {
    assert.isUndefined(OAuthScopes.union(undefined, "", "  "))
    assert.isTrue(OAuthScopes.covers(undefined, undefined))
    assert.isFalse(OAuthScopes.covers(undefined, "a"))
  })

  it("of a new login contain those of the current one", () =>
    fc.assert(
      fc.property(scope, scope, (granted, challenged) => {
        const asked = OAuthScopes.select({ granted, challenged, known: ["offline_access"] })
        assert.isTrue(OAuthScopes.covers(asked, granted))
        assert.isTrue(OAuthScopes.covers(asked, challenged))
      })
    ))

  it("that are requested take precedence over published ones", () => {
    assert.strictEqual(OAuthScopes.select({ challenged: "a", supported: ["b"] }), "a")
    assert.strictEqual(OAuthScopes.select({ configured: "c", challenged: "a", supported: ["b"] }), "c a")
    assert.strictEqual(OAuthScopes.select({ supported: ["b", 3, "d"] }), "b d")
    assert.isUndefined(OAuthScopes.select({ supported: "b", known: ["offline_access"] }))
    assert.strictEqual(OAuthScopes.select({ challenged: "a", known: ["offline_access"] }), "a offline_access")
    assert.strictEqual(
      OAuthScopes.select({ challenged: "a offline_access", known: ["offline_access"] }),
      "a offline_access"
    )
  })
})

describe("the scope of a challenge", () => {
  it("consists of valid words without secrets", () => {
    const secrets = Secrets.make(["the-token"])
    assert.strictEqual(OAuthScopes.askedFor("read  write", secrets), "read write")
    assert.strictEqual(OAuthScopes.askedFor("read the-token x:the-token", secrets), "read")
    assert.isUndefined(OAuthScopes.askedFor("the-token", secrets))
    assert.isUndefined(OAuthScopes.askedFor(`a"b c\\d \u0007 é ${"x".repeat(300)}`, secrets))
    assert.strictEqual(OAuthScopes.askedFor("x ".repeat(500))?.split(" ").length, 100)
    assert.isUndefined(OAuthScopes.askedFor(undefined))
  })
})
