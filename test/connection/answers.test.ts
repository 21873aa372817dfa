import { assert, describe, it } from "@effect/vitest"
import { requestFailure } from "../../src/connection/answers.js"
import { WireFailure } from "../../src/connection/Wire.js"
import * as Errors from "../../src/domain/Errors.js"

const server = "a"
const limited = new Errors.HttpFailed({ server, status: 429, retryAfter: 7000 })

describe("what a lost message means", () => {
  for (const [stage, tag] of [
    // the server may have been busy with others, but nobody asked it for this one: it can be sent again
    ["unsent", "NotSent"],
    ["refused", "RateLimited"],
    ["sent", "OutcomeUnknown"]
  ] as const) {
    it(`${tag} when a 429 came and it was ${stage}`, () =>
      assert.strictEqual(requestFailure(server, new WireFailure(limited, stage))._tag, tag))
  }

  it("keeps how long the server wants to be left alone", () =>
    assert.deepInclude(requestFailure(server, new WireFailure(limited, "refused")), { retryAfter: 7000 }))
})
