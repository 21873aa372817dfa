import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import * as ServerRequests from "../../src/connection/session/ServerRequests.js"
import type { SendCallbacks, Message, Wire } from "../../src/connection/wire/Wire.js"

const setup = (writes = true) => {
  const sent: Array<{ readonly message: Message; readonly callbacks: SendCallbacks }> = []
  const states: Array<string> = []
  const wire: Wire = {
    transport: "stdio",
    send: (message, callbacks) => {
      sent.push({ message, callbacks })
      if (writes) callbacks.done?.()
    },
    retract: () => {},
    agreed: () => {},
    pause: () => states.push("pause"),
    resume: () => states.push("resume")
  }
  const requests = ServerRequests.make(wire)
  const ask = (id: string | number, method = "sampling/createMessage") => requests.admit({ jsonrpc: "2.0", id, method })
  const askMany = (count: number, method?: string) =>
    Array.from({ length: count }, (_, id) => ask(id, method)).filter((admitted) => admitted).length
  return { requests, ask, askMany, sent, states }
}

const { maxRequests } = ServerRequests

describe("ServerRequests", () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it("answers ping by itself", () => {
    const { ask, sent, states } = setup()
    assert.isFalse(ask("a", "ping"))
    assert.deepStrictEqual(sent[0]!.message, { jsonrpc: "2.0", id: "a", result: {} })
    assert.deepStrictEqual(states, [])
  })

  it("pauses reading at the limit until a request is answered", () => {
    const { askMany, requests, states } = setup()
    assert.strictEqual(askMany(maxRequests), maxRequests)
    assert.deepStrictEqual(states, ["pause"])
    requests.answer({ jsonrpc: "2.0", id: 5, result: {} })
    assert.deepStrictEqual(states, ["pause", "resume"])
  })

  it("rejects requests beyond the limit when handlers take long, and still answers ping", () => {
    const { ask, askMany, requests, sent, states } = setup()
    askMany(maxRequests)
    vi.advanceTimersByTime(1000)
    assert.deepStrictEqual(states, ["pause", "resume"])
    assert.isFalse(ask("more"))
    assert.strictEqual((sent[0]!.message.error as { code: number }).code, -32603)
    assert.isFalse(ask("p", "ping"))
    assert.deepStrictEqual(sent[1]!.message, { jsonrpc: "2.0", id: "p", result: {} })
    requests.answer({ jsonrpc: "2.0", id: 0, result: {} })
    assert.isTrue(ask("again"))
  })

  it("keeps at most the limit of responses for a server that does not read them", () => {
    for (const method of ["ping", "sampling/createMessage"]) {
      const { askMany, requests, sent, states } = setup(false)
      const admitted = askMany(maxRequests, method)
      for (let id = 0; id < admitted; id += 1) requests.answer({ jsonrpc: "2.0", id, result: {} })
      assert.strictEqual(states.at(-1), "pause")
      vi.advanceTimersByTime(1000)
      assert.strictEqual(states.at(-1), "resume")
      assert.strictEqual(askMany(10_000, method), 0)
      assert.strictEqual(sent.length, maxRequests)
      sent[0]!.callbacks.done?.()
      askMany(1, "ping")
      assert.strictEqual(sent.length, maxRequests + 1)
    }
  })

  it("counts a cancelled request as finished once, also if its id is used twice", () => {
    const { ask, askMany, requests } = setup()
    ask("q")
    ask("q")
    requests.cancelled("q")
    assert.strictEqual(askMany(maxRequests), maxRequests - 1)
    requests.cancelled("nobody")
    requests.cancelled(5)
    assert.isTrue(ask("q"))
  })

  it("resumes reading when the connection ends", () => {
    const { askMany, requests, states } = setup()
    askMany(maxRequests)
    requests.close()
    assert.deepStrictEqual(states, ["pause", "resume"])
    vi.advanceTimersByTime(5000)
    assert.deepStrictEqual(states, ["pause", "resume"])
  })
})
