import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as ControlToken from "../../src/control/ControlToken.js"
import * as Admission from "../../src/control/server/admission.js"

const token = "a-token-of-some-length"

const policy = (bound = "127.0.0.1", further: ReadonlyArray<string> = []): Admission.Policy => ({
  accepts: ControlToken.accepts([Redacted.make(token), Redacted.make("another-token-that-does")]),
  isOurs: Admission.ours(bound, further),
  origins: ["https://allowed.test"]
})

const authorization = `Bearer ${token}`

const verdict = (headers: Admission.Headers, bound?: string, further?: ReadonlyArray<string>) => {
  const refusal = Admission.refuse(policy(bound, further), headers)
  return refusal === undefined ? "in" : refusal._tag === "Forbidden" ? refusal.header : refusal._tag
}

describe("who may come in", () => {
  it("pain 56: answers to the names of this machine only", () => {
    for (const host of ["127.0.0.1:7444", "localhost", "LocalHost:1", "[::1]:7444", "127.1.2.3"]) {
      assert.strictEqual(verdict({ host, authorization }), "in", host)
    }
    const foreign = [
      "evil.test",
      "127.0.0.1.evil.test",
      "localhost.evil.test",
      "evil.localhost",
      "evil.test:7444",
      "10.0.0.1",
      "127.evil"
    ]
    for (const host of [...foreign, "", "a@localhost", "localhost/x", "localhost:7444:1", "[::2]", " localhost"]) {
      assert.strictEqual(verdict({ host, authorization }), "host", host)
    }
    assert.strictEqual(verdict({ authorization }), "host")
  })

  it("answers to numbers, the bound name and the allowed ones beyond loopback", () => {
    assert.strictEqual(verdict({ host: "10.0.0.7:7444", authorization }, "0.0.0.0"), "in")
    assert.strictEqual(verdict({ host: "[fe80::1]", authorization }, "::"), "in")
    assert.strictEqual(verdict({ host: "box.local", authorization }, "box.local"), "in")
    assert.strictEqual(verdict({ host: "evil.test", authorization }, "0.0.0.0"), "host")
    assert.strictEqual(verdict({ host: "Named.test:80", authorization }, "127.0.0.1", ["named.test"]), "in")
  })

  it("lets in pages of the same address, and those that were allowed", () => {
    const host = "127.0.0.1:7444"
    assert.strictEqual(verdict({ host, authorization, origin: "http://127.0.0.1:7444" }), "in")
    assert.strictEqual(verdict({ host, authorization, origin: "https://allowed.test" }), "in")
    for (const origin of ["null", "", "http://127.0.0.1:80", "http://localhost:7444", "https://evil.test", "file://"]) {
      assert.strictEqual(verdict({ host, authorization, origin }), "origin", origin)
    }
  })

  it("wants a token, in the one form", () => {
    const host = "localhost"
    assert.strictEqual(verdict({ host, authorization: `bearer  ${token} ` }), "in")
    assert.strictEqual(verdict({ host, authorization: "Bearer another-token-that-does" }), "in")
    const wrong = [undefined, "", "Bearer", "Bearer ", token, `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token} x`]
    for (const each of wrong) assert.strictEqual(verdict({ host, authorization: each }), "Unauthorized", each)
  })
})
