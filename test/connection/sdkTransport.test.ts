import { assert, describe, it } from "@effect/vitest"
import * as SdkTransport from "../../src/connection/sdkTransport.js"
import { type Message, parseMessages, type Wire } from "../../src/connection/Wire.js"

const setup = async (...ids: ReadonlyArray<string | number>) => {
  const wire: Wire = {
    transport: "stdio",
    send: (_, fate) => fate.done?.(),
    retract: () => {},
    agreed: () => {},
    pause: () => {},
    resume: () => {}
  }
  const transport = SdkTransport.make(wire)
  const heard: Array<unknown> = []
  transport.onmessage = (message) => void heard.push((message as Message).id ?? (message as Message).params)
  for (const id of ids) await transport.send({ jsonrpc: "2.0", id, method: "ping" })
  const hear = async (message: object) => {
    heard.length = 0
    const whole = { jsonrpc: "2.0", ...message } as const
    transport.deliver(whole, JSON.stringify(whole))
    await Promise.resolve()
    return heard
  }
  return { hear }
}

describe("what the SDK gets to see", () => {
  it("is no answer whose id is of another type than that of the request (security L10)", async () => {
    const { hear } = await setup(0, 5, "listen:1")
    for (const id of ["5", "0", "", " 5", "5.0", null, undefined, [5], true, "listen:2", 6]) {
      assert.deepStrictEqual(await hear({ id, result: {} }), [], JSON.stringify(id))
      assert.deepStrictEqual(await hear({ id, error: { code: 1, message: "no" } }), [], JSON.stringify(id))
    }
    assert.deepStrictEqual(await hear({ id: 5, result: {} }), [5])
    assert.deepStrictEqual(await hear({ id: "listen:1", result: {} }), ["listen:1"])
    // once is enough
    assert.deepStrictEqual(await hear({ id: 5, result: {} }), [])
  })

  it("is no progress whose token is of another type than the id of the request (security L10)", async () => {
    const { hear } = await setup(5)
    const progress = (progressToken: unknown) => ({
      method: "notifications/progress",
      params: { progressToken, progress: 1 }
    })
    assert.deepStrictEqual(await hear(progress("5")), [])
    assert.deepStrictEqual(await hear(progress(6)), [])
    assert.deepStrictEqual(await hear(progress(5)), [{ progressToken: 5, progress: 1 }])
  })

  it("is a malformed answer instead of one with neither a result nor an error (breaker 10)", () => {
    const text = (id: unknown, rest = {}) => JSON.stringify({ jsonrpc: "2.0", id, ...rest })
    for (const id of [5, "call-1"]) assert.strictEqual(parseMessages(text(id)).length, 1)
    for (const id of [null, undefined, {}]) assert.deepStrictEqual(parseMessages(text(id)), [])
    assert.deepStrictEqual(parseMessages(text(5, { method: 5 })), [])
  })
})
