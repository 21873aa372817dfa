import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Credentials } from "../../src/connection/Credentials.js"
import { authorized } from "../../src/connection/http/HttpAuthorized.js"
import type { HttpHandler } from "../../src/connection/http/HttpClient.js"

describe("a response that asks for other credentials", () => {
  it("is aborted when its body is long", () => {
    let inner: HttpHandler | undefined
    let pauses = 0
    const credentials = { headers: () => ({}), refused: () => Effect.void } as unknown as Credentials
    const plain = {
      request: (_: unknown, handler: HttpHandler) => {
        inner = handler
        return () => {}
      }
    }
    // the new credentials take some time
    const client = authorized(plain, credentials, () => () => {})
    const unexpected = () => assert.fail("it is not for the others")
    client.request(
      { method: "GET", url: new URL("http://host.example"), headers: {} },
      { head: unexpected, data: unexpected, end: unexpected, error: unexpected }
    )
    inner!.head(401, {}, { pause: () => void (pauses += 1), resume: () => {} })
    inner!.data(Buffer.alloc(16 * 1024))
    assert.strictEqual(pauses, 0)
    inner!.data(Buffer.alloc(1))
    assert.strictEqual(pauses, 1)
  })
})
