import { assert, describe, it } from "@effect/vitest"
import * as SdkTransport from "../../src/connection/sdk/sdkTransport.js"
import { type Message, parseMessages, type Wire } from "../../src/connection/wire/Wire.js"

const setup = async (...ids: ReadonlyArray<string | number>) => setupFor("ping", ids)

const setupFor = async (method: string, ids: ReadonlyArray<string | number>) => {
  const wire: Wire = {
    transport: "stdio",
    send: (_, callbacks) => callbacks.done?.(),
    retract: () => {},
    agreed: () => {},
    pause: () => {},
    resume: () => {}
  }
  const warnings: Array<string> = []
  const transport = SdkTransport.make(wire, (text) => void warnings.push(text))
  const heard: Array<unknown> = []
  let last: Message | undefined
  transport.onmessage = (message) => {
    last = message as Message
    heard.push(last.id ?? last.params)
  }
  for (const id of ids) await transport.send({ jsonrpc: "2.0", id, method })
  const hear = async (message: object) => {
    heard.length = 0
    const whole = { jsonrpc: "2.0", ...message } as const
    transport.deliver(whole, JSON.stringify(whole))
    await Promise.resolve()
    return heard
  }
  return { hear, warnings, transport, last: () => last }
}

describe("the messages that reach the SDK", () => {
  it("include no response whose id has another type than the id of the request", async () => {
    const { hear } = await setup(0, 5, "listen:1")
    for (const id of ["5", "0", "", " 5", "5.0", null, undefined, [5], true, "listen:2", 6]) {
      assert.deepStrictEqual(await hear({ id, result: {} }), [], JSON.stringify(id))
      assert.deepStrictEqual(await hear({ id, error: { code: 1, message: "no" } }), [], JSON.stringify(id))
    }
    assert.deepStrictEqual(await hear({ id: 5, result: {} }), [5])
    assert.deepStrictEqual(await hear({ id: "listen:1", result: {} }), ["listen:1"])
    // a second response is dropped
    assert.deepStrictEqual(await hear({ id: 5, result: {} }), [])
  })

  it("include no progress whose token has another type than the id of the request", async () => {
    const { hear } = await setup(5)
    const progress = (progressToken: unknown) => ({
      method: "notifications/progress",
      params: { progressToken, progress: 1 }
    })
    assert.deepStrictEqual(await hear(progress("5")), [])
    assert.deepStrictEqual(await hear(progress(6)), [])
    assert.deepStrictEqual(await hear(progress(5)), [{ progressToken: 5, progress: 1 }])
  })

  it("include a response with neither result nor error as a malformed response", () => {
    const text = (id: unknown, rest = {}) => JSON.stringify({ jsonrpc: "2.0", id, ...rest })
    for (const id of [5, "call-1"]) assert.strictEqual(parseMessages(text(id)).length, 1)
    for (const id of [null, undefined, {}]) assert.deepStrictEqual(parseMessages(text(id)), [])
    assert.deepStrictEqual(parseMessages(text(5, { method: 5 })), [])
  })
})

describe("the initialize result", () => {
  const introduce = async (method: string, result: object) => {
    const { hear, last, warnings } = await setupFor(method, [1])
    await hear({ id: 1, result })
    return { result: last()?.result as Record<string, unknown> | undefined, error: last()?.error, warnings }
  }

  for (const method of ["initialize", "server/discover"]) {
    it(`is passed on unchanged if it has an ordinary length: ${method}`, async () => {
      const whole = { instructions: "do", serverInfo: { name: "it", icons: [{ src: "x".repeat(100_000) }] } }
      const { result, warnings } = await introduce(method, whole)
      assert.deepStrictEqual(result, whole)
      assert.deepStrictEqual(warnings, [])
    })

    it(`has its instructions cut, with a warning: ${method}`, async () => {
      const serverInfo = { name: "it", version: "1" }
      const { result, warnings } = await introduce(method, { instructions: "i".repeat(20_000_000), serverInfo })
      assert.deepStrictEqual(result?.serverInfo, serverInfo)
      assert.strictEqual(String(result?.instructions), "i".repeat(65_536))
      assert.match(warnings.join(), /instructions.*20000000.*65536/)
    })

    it(`is rejected if another part is too long: ${method}`, async () => {
      for (const result of [
        { serverInfo: { name: "n".repeat(300_000) } },
        { capabilities: { experimental: Array.from({ length: 100_000 }, () => ({})) } }
      ]) {
        assert.include(JSON.stringify((await introduce(method, result)).error), "262144 characters")
      }
    })
  }
})

describe("the weight of a list", () => {
  const weigh = async (method: string, result: object) => {
    const { hear, last } = await setupFor(method, [1])
    await hear({ id: 1, result })
    return SdkTransport.weightOf(last()?.result)
  }

  it("counts bytes and the memory of each value and key", async () => {
    const empty = await weigh("tools/list", { tools: [] })
    assert.isBelow(empty, 1000)
    const text = await weigh("tools/list", { tools: ["x".repeat(1_000_000)] })
    assert.approximately(text - empty, 1_000_000, 200)
    const dense = await weigh("prompts/list", { prompts: Array.from({ length: 10_000 }, () => []) })
    assert.approximately(dense - empty, 10_000 * (3 + 32), 200)
  })

  it("is not computed for other results", async () => {
    assert.strictEqual(await weigh("tools/call", { content: [] }), 0)
  })
})

describe("a pending response", () => {
  it("belongs to a request that was sent and not yet answered", async () => {
    const { hear, transport } = await setup(1)
    assert.isTrue(transport.awaits(1))
    assert.isFalse(transport.awaits("1"))
    await hear({ id: 1, result: {} })
    assert.isFalse(transport.awaits(1))
  })
})
