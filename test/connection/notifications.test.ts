import { assert, describe, it } from "@effect/vitest"
import { logLineOf, notificationKey, notificationOf } from "../../src/connection/session/notifications.js"
import * as Secrets from "../../src/domain/Secrets.js"

const message = (method: string, params: unknown) => ({ jsonrpc: "2.0", method, params }) as const

describe("a notification", () => {
  it.each([
    ["notifications/resources/updated", "uri"],
    ["notifications/elicitation/complete", "elicitationId"]
  ])("%s names something of at most 8,192 characters", (method, field) => {
    const short = notificationOf(message(method, { [field]: "x".repeat(8_192) }))!
    assert.notStrictEqual(short._tag, "Dropped")
    const dropped = [1, 2].map((index) => notificationOf(message(method, { [field]: "x".repeat(8_192 + index) }))!)
    for (const each of dropped) {
      assert.strictEqual(each._tag, "Dropped")
      assert.isBelow(JSON.stringify(each).length, 300)
    }
    assert.strictEqual(notificationKey(dropped[0]!), notificationKey(dropped[1]!))
  })
})

describe("a log line", () => {
  const secrets = Secrets.make(["secret-1234"])
  const scrubbers = { scrub: Secrets.scrub(secrets), scrubBeginning: Secrets.scrubBeginning(secrets) }
  const textOf = (data: unknown): string => logLineOf(message("notifications/message", { data }), scrubbers, 0)!.text

  it("is the data as it was sent if it is small, without secrets", () => {
    assert.strictEqual(textOf("a secret-1234"), "a [redacted]")
    assert.strictEqual(textOf({ a: [1, null, "secret-1234"] }), '{"a":[1,null,"[redacted]"]}')
    assert.strictEqual(textOf(undefined), "")
  })

  it("shows 8 KiB of large data, and reads little more", () => {
    let looked = 0
    const counted = {
      get k() {
        looked += 1
        return 1
      }
    }
    const text = textOf(Array.from({ length: 100_000 }, () => counted))
    assert.lengthOf(text, 8 * 1024)
    assert.isTrue(text.startsWith('[{"k":1},{"k":1}'))
    assert.isBelow(looked, 20_000)
    assert.lengthOf(textOf({ a: "x".repeat(5_000_000) }), 8 * 1024)
    assert.lengthOf(textOf(Array(50_000).fill(1)), 8 * 1024)
    assert.notMatch(textOf(Array(5_000).fill("secret-1234")), /sec|1234/)
    assert.notMatch(textOf({ a: "secret-1234".repeat(100_000) }), /sec|1234/)
  })

  it("shows deeply nested data up to the limit", () => {
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    assert.include(textOf(deep), "…")
  })
})
