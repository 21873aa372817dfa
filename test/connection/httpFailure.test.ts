import { assert, describe, it } from "@effect/vitest"
import { networkError, refusalError, retryAfter } from "../../src/connection/http/httpFailure.js"
import { modernHeaders } from "../../src/connection/http/httpHeaders.js"
import { assertTag } from "../support/assertTag.js"

const context = {
  server: "it",
  scrub: (text: string) => text.replaceAll("secret", "***"),
  scrubBeginning: (text: string) => text.replaceAll("secret", "***").slice(0, -6),
  login: true
}
const refused = (status: number, headers = {}, body = "", inSession = false) =>
  refusalError(context, { status, headers, body, isCut: body.endsWith("…"), inSession })
const detailOf = (status: number, headers: Record<string, string>, body: string) =>
  assertTag(refused(status, headers, body), "HttpFailed").detail
const askedFor = (challenge: string) => assertTag(refused(401, { "www-authenticate": challenge }), "AuthRequired")

describe("the error of an HTTP status", () => {
  it("keeps the server's error text from the body, without secrets and HTML pages", () => {
    assert.strictEqual(detailOf(500, {}, '{"error":{"message":"secret is  wrong"}}'), "*** is wrong")
    assert.strictEqual(detailOf(500, {}, '{"error":"invalid_token"}'), "invalid_token")
    assert.strictEqual(detailOf(500, {}, " plain words\n"), "plain words")
    assert.strictEqual(detailOf(500, {}, "a body that goes on with sec…"), "a body that goes on wit")
    assert.isUndefined(detailOf(500, {}, "<!doctype html><p>long</p>"))
    assert.isUndefined(detailOf(500, {}, ""))
    assert.isAtMost(detailOf(500, {}, "x".repeat(10_000))!.length, 300)
    assert.strictEqual(detailOf(302, { location: "https://else/?token=secret" }, ""), "it points to https://else/")
  })

  it("parses challenges in every spelling", () => {
    const scopeOf = (header: string) => askedFor(header).scope
    assert.strictEqual(scopeOf('Bearer realm="x", scope="a b", error="y"'), "a b")
    assert.strictEqual(scopeOf("bearer SCOPE=a"), "a")
    assert.isUndefined(scopeOf('Bearer no_scope="a"'))
    const { reason } = askedFor('Bearer error="invalid_token", error_description="it expired"')
    assert.strictEqual(reason, "the login was refused: it expired")
    assert.strictEqual(refused(403)._tag, "HttpFailed")
  })

  it("distinguishes a lost session from an unknown address", () => {
    assert.strictEqual(refused(404, {}, "", true)._tag, "SessionLost")
    assert.strictEqual(refused(404)._tag, "HttpFailed")
  })

  it("parses Retry-After as seconds or as a date", () => {
    assert.strictEqual(retryAfter("120"), 120_000)
    assert.strictEqual(retryAfter("Thu, 01 Jan 1970 00:00:00 GMT"), 0)
    assert.isAbove(retryAfter("Fri, 01 Jan 2100 00:00:00 GMT")!, 0)
    assert.isUndefined(retryAfter("soon"))
    assert.isUndefined(retryAfter(undefined))
  })
})

describe("a network error", () => {
  it("has the system's error code, however deep it is nested", () => {
    const hidden = new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code: "ENOTFOUND" }) })
    const error = assertTag(networkError(context, hidden), "NetworkFailed")
    assert.deepStrictEqual([error.code, error.permanent], ["ENOTFOUND", false])
  })

  it("is permanent if a retry cannot help", () => {
    const codes = [
      "DEPTH_ZERO_SELF_SIGNED_CERT",
      "CERT_HAS_EXPIRED",
      "ERR_TLS_CERT_ALTNAME_INVALID",
      "UND_ERR_INVALID_ARG"
    ]
    for (const code of codes) {
      const error = Object.assign(new Error(), { code })
      assert.isTrue(assertTag(networkError(context, error), "NetworkFailed").permanent, code)
    }
    assert.strictEqual(
      networkError(context, Object.assign(new Error(), { code: "HPE_INVALID_CONSTANT" }))._tag,
      "IncompatibleServer"
    )
  })
})

describe("the headers of a modern request", () => {
  const message = (method: string, params: object) => ({ jsonrpc: "2.0" as const, id: 1, method, params })
  const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" }

  it("repeat method and name, in the modern era only", () => {
    assert.deepStrictEqual(modernHeaders(message("tools/call", { name: "echo", _meta })), {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "echo"
    })
    assert.isUndefined(modernHeaders(message("tools/list", { _meta }))!["mcp-name"])
    assert.isUndefined(modernHeaders(message("tools/call", { name: "echo" })))
    assert.isUndefined(modernHeaders({ jsonrpc: "2.0", method: "notifications/x", params: { _meta } }))
    assert.isUndefined(modernHeaders(message("constructor", { name: "x", _meta }))!["mcp-name"])
  })

  it("encode values that a header cannot hold", () => {
    const nameOf = (uri: string) => modernHeaders(message("resources/read", { uri, _meta }))!["mcp-name"]
    assert.strictEqual(nameOf("file:///a b.txt"), "file:///a b.txt")
    for (const uri of ["größe", " padded", "", "line\nbreak", "=?base64?eA==?="]) {
      assert.strictEqual(nameOf(uri), `=?base64?${Buffer.from(uri).toString("base64")}?=`)
    }
  })
})
