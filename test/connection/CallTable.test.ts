import { assert, describe, it } from "@effect/vitest"
import { Exit } from "effect"
import * as CallTable from "../../src/connection/session/CallTable.js"
import * as Clocks from "../../src/connection/session/Clocks.js"
import { type SendCallbacks, type Message, type Wire, WireFailure } from "../../src/connection/wire/Wire.js"
import { ConnectionClosed, ProcessExited } from "../../src/domain/Errors.js"
import { assertTag } from "../support/assertTag.js"

/** A wire that holds every message until the test releases it. */
const makeWire = () => {
  const held: Array<{ readonly message: Message; readonly callbacks: SendCallbacks }> = []
  const retracted: Array<unknown> = []
  const wire: Wire = {
    transport: "stdio",
    send: (message, callbacks) => void held.push({ message, callbacks }),
    retract: (id) => void retracted.push(id),
    agreed: () => {},
    pause: () => {},
    resume: () => {}
  }
  return { wire, held, retracted }
}

const setup = () => {
  const { held, retracted, wire } = makeWire()
  let expire: (which: "idle" | "total") => void = () => {}
  let touched = 0
  const clocks: Clocks.Clocks = {
    start: (_, expired) => {
      expire = expired
      return { idleAt: 0, totalAt: 0, idle: 0, expired }
    },
    touch: () => void (touched += 1),
    stop: () => void (expire = () => {}),
    hold: () => () => {}
  }
  const scrub = (text: string) => text.replaceAll("secret", "***")
  const table = CallTable.make({ server: "it", wire, clocks, scrub, scrubBeginning: scrub })
  const settled: Array<CallTable.Settled> = []
  const progress: Array<unknown> = []
  const call = () =>
    table.call({
      name: "echo",
      arguments: { a: 1 },
      meta: { trace: "t" },
      limits: { idle: 100, total: 1000 },
      onProgress: (each) => progress.push(each),
      settle: (exit) => settled.push(exit)
    })
  /** The errors of the calls, in order. */
  const errors = () =>
    settled.flatMap((exit) => (Exit.isFailure(exit) && exit.cause._tag === "Fail" ? [exit.cause.error] : []))
  return {
    table,
    held,
    retracted,
    call,
    settled,
    progress,
    errors,
    expire: (which: "idle" | "total") => expire(which),
    touched: () => touched
  }
}

const answer = (id: unknown, result: unknown): Message => ({ jsonrpc: "2.0", id: id as string, result })

describe("CallTable", () => {
  it("sends a call with a progress token and settles it with its response", () => {
    const { call, held, settled, table } = setup()
    call()
    const { id, method, params } = held[0]!.message
    assert.strictEqual(method, "tools/call")
    assert.deepStrictEqual(params, { name: "echo", arguments: { a: 1 }, _meta: { trace: "t", progressToken: id } })
    const result = { content: [{ type: "text", text: "hi" }], extra: true }
    assert.isTrue(table.accept(answer(id, result)))
    assert.deepStrictEqual(settled, [Exit.succeed(result)])
    // late and duplicate responses are ignored
    assert.isTrue(table.accept(answer(id, result)))
    assert.lengthOf(settled, 1)
  })

  it("leaves all other messages to the SDK", () => {
    const { call, table } = setup()
    call()
    assert.isFalse(table.accept(answer(1, {})))
    assert.isFalse(table.accept({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: 1 } }))
    assert.isFalse(table.accept({ jsonrpc: "2.0", method: "notifications/progress" }))
    assert.isFalse(table.accept({ jsonrpc: "2.0", id: "call-1", method: "ping" }))
    assert.isFalse(table.accept({ jsonrpc: "2.0", id: null, error: {} }))
  })

  it("fills in missing content, rejects invalid results, and passes errors on without secrets", () => {
    const { call, errors, held, settled, table } = setup()
    for (let count = 0; count < 4; count += 1) call()
    const ids = held.map(({ message }) => message.id)
    table.accept(answer(ids[0], { structuredContent: 1 }))
    table.accept(answer(ids[1], { content: [{ type: 5 }] }))
    table.accept(answer(ids[2], "what"))
    const error = { code: -32000, message: "secret no", data: { deep: ["secret"] } }
    table.accept({ jsonrpc: "2.0", id: ids[3]!, error })
    assert.deepStrictEqual(settled[0], Exit.succeed({ content: [], structuredContent: 1 }))
    const [malformed, nonsense, refused] = errors()
    assert.deepStrictEqual(assertTag(malformed!, "InvalidResult").issues[0].path, ["content", 0, "type"])
    assertTag(nonsense!, "InvalidResult")
    const { code, data, message } = assertTag(refused!, "ProtocolError")
    assert.deepStrictEqual([code, message, data], [-32000, "*** no", { deep: ["***"] }])
  })

  it("reports progress, which resets the idle timeout", () => {
    const { call, held, progress, table, touched } = setup()
    call()
    const progressToken = held[0]!.message.id
    const report = (params: object) => table.accept({ jsonrpc: "2.0", method: "notifications/progress", params })
    assert.isTrue(report({ progressToken, progress: 1, total: 2, message: "half" }))
    assert.isTrue(report({ progressToken, progress: "nonsense" }))
    assert.deepStrictEqual(progress, [{ progress: 1, total: 2, message: "half" }])
    assert.strictEqual(touched(), 1)
  })

  it("cancels a call that timed out at the server only if it was sent", () => {
    for (const sent of [false, true]) {
      const { call, errors, expire, held, retracted } = setup()
      call()
      if (sent) held[0]!.callbacks.sent!()
      expire("idle")
      const timeout = assertTag(errors()[0]!, "CallTimeout")
      assert.deepStrictEqual([timeout.which, timeout.sent, timeout.after], ["idle", sent, 100])
      assert.deepStrictEqual(retracted, [held[0]!.message.id])
      assert.deepStrictEqual(
        held.slice(1).map(({ message }) => message.params),
        sent ? [{ requestId: held[0]!.message.id, reason: "the caller no longer waits" }] : []
      )
    }
  })

  it("settles nothing after a call was cancelled", () => {
    const { call, held, settled, table } = setup()
    const cancel = call()
    held[0]!.callbacks.sent!()
    cancel()
    cancel()
    table.accept(answer(held[0]!.message.id, { content: [] }))
    assert.deepStrictEqual([settled, held.length], [[], 2])
  })

  it("distinguishes sent and unsent calls when the connection ends", () => {
    const { call, errors, held, table } = setup()
    call()
    call()
    held[0]!.callbacks.sent!()
    table.abandon(new ProcessExited({ server: "it", exitCode: 1 }))
    call()
    assert.deepStrictEqual(
      errors().map(({ _tag }) => _tag),
      ["OutcomeUnknown", "NotSent", "NotSent"]
    )
    assert.lengthOf(held, 2)
  })

  it("settles a call whose message could not be sent", () => {
    const { call, errors, held } = setup()
    call()
    held[0]!.callbacks.failed(new WireFailure(new ConnectionClosed({ server: "it" }), "unsent"))
    assertTag(errors()[0]!, "NotSent")
  })
})
