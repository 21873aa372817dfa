import { assert, describe, it } from "@effect/vitest"
import * as CredentialFailure from "../../src/connection/http/credentialFailure.js"
import * as Intake from "../../src/connection/wire/Intake.js"
import { exchange, type FailedResponse } from "../../src/connection/http/HttpExchange.js"
import {
  AuthError,
  AuthRequired,
  ConnectionClosed,
  type ConnectionError,
  RegistrationRequired
} from "../../src/domain/Errors.js"

const server = "it"
const scrub = (text: string) => text.replaceAll("canary", "[hidden]")

const failures: ReadonlyArray<ConnectionError> = [
  new AuthError({ server, reason: "refused", detail: "it said canary" }),
  new AuthRequired({ server, reason: "because of canary", scope: "read canary", login: false }),
  new RegistrationRequired({ server, detail: "register at https://host.example/?key=canary" })
]

describe("the texts of an error of a credentials provider", () => {
  for (const failure of failures) {
    it(`hold no secret: ${failure._tag}`, () => {
      const clean = CredentialFailure.scrubbed(scrub)(failure)
      assert.strictEqual(clean._tag, failure._tag)
      assert.strictEqual(clean.message, scrub(failure.message))
      assert.notInclude(JSON.stringify(clean), "canary")
    })

    it(`hold no secret when a request is denied: ${failure._tag}`, () => {
      const told: Array<FailedResponse> = []
      const request = {
        method: "POST" as const,
        url: new URL("https://host.example"),
        headers: {},
        body: undefined,
        inSession: false,
        expects: "answer" as const
      }
      exchange(
        {
          server,
          scrub,
          scrubBeginning: scrub,
          login: true,
          intake: Intake.open(),
          stray: () => {},
          awaits: () => false,
          dropped: () => {}
        },
        {
          request: (_, handler) => {
            handler.denied?.(failure, true)
            return () => {}
          }
        },
        request,
        { message: () => {}, end: () => {}, refused: (refused) => void told.push(refused), broken: () => {} }
      )
      assert.strictEqual(told.length, 1)
      assert.notInclude(JSON.stringify(told[0]?.failure.reason), "canary")
    })
  }

  it("are unchanged in errors from elsewhere and without secrets", () => {
    const closed = new ConnectionClosed({ server, detail: "over" })
    assert.strictEqual(CredentialFailure.scrubbed(scrub)(closed), closed)
    const plain = new AuthRequired({ server, reason: "because", login: true })
    assert.deepStrictEqual(CredentialFailure.scrubbed(scrub)(plain), plain)
  })
})
