import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as ControlToken from "../../src/control/ControlToken.js"
import * as Admission from "../../src/control/server/admission.js"
import * as Hostnames from "../../src/control/server/hostnames.js"

const token = "a-token-of-some-length"

const policy = (boundHost = "127.0.0.1", allowedHosts: ReadonlyArray<string> = []): Admission.Policy => ({
  isTokenValid: ControlToken.accepts([Redacted.make(token), Redacted.make("another-token-that-does")]),
  isHostAllowed: Hostnames.isAllowed(boundHost, allowedHosts),
  allowedOrigins: ["https://allowed.test"],
  isPublic: (url) => url === "/page"
})

const authorization = `Bearer ${token}`

type Headers = Admission.RequestHead["headers"]

const verdict = (headers: Headers, boundHost?: string, allowedHosts?: ReadonlyArray<string>, url = "/mcp") => {
  const rejection = Admission.check(policy(boundHost, allowedHosts), { method: "GET", url, headers })
  return rejection === undefined ? "accepted" : rejection._tag === "Forbidden" ? rejection.header : rejection._tag
}

describe("admission", () => {
  it("accepts loopback names only, on loopback", () => {
    for (const host of ["127.0.0.1:7444", "localhost", "LocalHost:1", "[::1]:7444", "127.1.2.3"]) {
      assert.strictEqual(verdict({ host, authorization }), "accepted", host)
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

  it("accepts IP addresses, the bound name and allowed names beyond loopback", () => {
    assert.strictEqual(verdict({ host: "10.0.0.7:7444", authorization }, "0.0.0.0"), "accepted")
    assert.strictEqual(verdict({ host: "[fe80::1]", authorization }, "::"), "accepted")
    assert.strictEqual(verdict({ host: "box.local", authorization }, "box.local"), "accepted")
    assert.strictEqual(verdict({ host: "evil.test", authorization }, "0.0.0.0"), "host")
    assert.strictEqual(verdict({ host: "Named.test:80", authorization }, "127.0.0.1", ["named.test"]), "accepted")
  })

  it("accepts pages of the same address and of allowed origins", () => {
    const host = "127.0.0.1:7444"
    assert.strictEqual(verdict({ host, authorization, origin: "http://127.0.0.1:7444" }), "accepted")
    assert.strictEqual(verdict({ host, authorization, origin: "https://allowed.test" }), "accepted")
    for (const origin of ["null", "", "http://127.0.0.1:80", "http://localhost:7444", "https://evil.test", "file://"]) {
      assert.strictEqual(verdict({ host, authorization, origin }), "origin", origin)
    }
  })

  it("requires one of the tokens as a bearer token", () => {
    const host = "localhost"
    assert.strictEqual(verdict({ host, authorization: `bearer  ${token} ` }), "accepted")
    assert.strictEqual(verdict({ host, authorization: "Bearer another-token-that-does" }), "accepted")
    const wrong = [undefined, "", "Bearer", "Bearer ", token, `Basic ${token}`, `Bearer ${token}x`, `Bearer ${token} x`]
    for (const each of wrong) assert.strictEqual(verdict({ host, authorization: each }), "Unauthorized", each)
  })

  it("requires no token for a public URL, and still checks host and origin", () => {
    const at = (headers: Headers) => verdict(headers, undefined, undefined, "/page")
    assert.strictEqual(at({ host: "localhost" }), "accepted")
    assert.strictEqual(at({ host: "localhost", origin: "https://allowed.test" }), "accepted")
    assert.strictEqual(at({ host: "evil.test" }), "host")
    assert.strictEqual(at({ host: "localhost", origin: "https://evil.test" }), "origin")
    assert.strictEqual(verdict({ host: "localhost" }, undefined, undefined, "/page/below"), "Unauthorized")
  })
})
