import { IssuerMismatchError, OAuthError, RegistrationRejectedError } from "@modelcontextprotocol/client"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { classify, ofCode } from "../../src/auth/oauth/OAuthFailure.js"

const rejected = (status: number) =>
  new RegistrationRejectedError({ status, body: "canary", submittedMetadata: { redirect_uris: [] } })

describe("a failure of an authorization server", () => {
  const table: ReadonlyArray<readonly [string, unknown, string, string]> = [
    ["invalid_grant", new OAuthError("invalid_grant", "canary"), "grant", "invalid_grant"],
    ["invalid_client", new OAuthError("invalid_client", "canary"), "client", "invalid_client"],
    ["unauthorized_client", new OAuthError("unauthorized_client", "canary"), "client", "unauthorized_client"],
    ["invalid_redirect_uri", new OAuthError("invalid_redirect_uri", "canary"), "client", "invalid_redirect_uri"],
    ["server_error", new OAuthError("server_error", "canary"), "unavailable", "unavailable"],
    ["temporarily_unavailable", new OAuthError("temporarily_unavailable", "canary"), "unavailable", "unavailable"],
    ["too_many_requests", new OAuthError("too_many_requests", "canary"), "unavailable", "unavailable"],
    ["access_denied", new OAuthError("access_denied", "canary"), "refused", "access_denied"],
    ["another code", new OAuthError("invalid_scope", "canary"), "refused", "invalid_scope"],
    ["a code that is none", new OAuthError("<canary>", "canary"), "refused", "refused"],
    ["a rejected registration", rejected(400), "registration", "registration_required"],
    ["a registration that fails", rejected(503), "unavailable", "unavailable"],
    ["too many registrations", rejected(429), "unavailable", "unavailable"],
    ["another issuer", new IssuerMismatchError("metadata", "a", "canary"), "refused", "issuer_mismatch"],
    [
      "no registration",
      new Error("Incompatible auth server: does not support dynamic client registration"),
      "registration",
      "registration_required"
    ],
    ["no PKCE", new Error("Incompatible auth server: does not support code"), "refused", "incompatible_server"],
    ["unavailable metadata", new Error("HTTP 500 trying to load OAuth metadata"), "unavailable", "unavailable"],
    ["the network", new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } }), "unavailable", "unavailable"],
    ["no JSON", new SyntaxError("Unexpected token canary"), "unavailable", "unavailable"],
    ["no error at all", "canary", "unavailable", "unavailable"]
  ]
  for (const [name, thrown, kind, reason] of table) {
    it(`${name} is ${kind}`, () => {
      const failure = classify(thrown)
      assert.strictEqual(failure.kind, kind)
      assert.strictEqual(failure.reason, reason)
      assert.notInclude(JSON.stringify(failure) + failure.message, "canary")
      assert.strictEqual(classify(failure), failure)
    })
  }

  it("is classified for any value, and permanent only for known codes", () =>
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        assert.strictEqual(classify(thrown).kind, "unavailable")
      })
    ))

  it("never repeats the text of a code", () =>
    fc.assert(
      fc.property(fc.string(), (code) => {
        assert.match(ofCode(code).reason, /^[a-z][a-z0-9_]*$/)
      })
    ))
})
