import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, FastCheck as fc, Schema } from "effect"
import { Diagnostic, Plan, Protocol, ServerEvent, ServerStatus } from "../../src/index.js"
import { runs } from "../laws/runs.js"

const throughJson = <A, I>(schema: Schema.Schema<A, I>, value: A): A =>
  Schema.decodeUnknownSync(schema)(JSON.parse(JSON.stringify(Schema.encodeSync(schema)(value))))

const sameJson = (a: unknown, b: unknown) =>
  assert.deepStrictEqual(JSON.parse(JSON.stringify(a)), JSON.parse(JSON.stringify(b)))

describe.each([
  ["ServerStatus", ServerStatus.ServerStatus],
  ["ServerEvent", ServerEvent.ServerEvent],
  ["Plan", Plan.Plan],
  ["Tool", Protocol.Tool],
  ["Diagnostic", Diagnostic.Diagnostic],
  ["Resource", Protocol.Resource],
  ["ResourceTemplate", Protocol.ResourceTemplate],
  ["Prompt", Protocol.Prompt]
])("%s", (_, schema) => {
  it("is equal after encoding to JSON and decoding", () => {
    // Effect's schemas do not keep a key of this name
    const values = Arbitrary.make(schema as Schema.Schema<unknown>).filter(
      (value) => !JSON.stringify(value).includes('"__proto__"')
    )
    fc.assert(
      fc.property(values, (value) => sameJson(throughJson(schema as Schema.Schema<unknown>, value), value)),
      runs(50)
    )
  })
})

describe("results", () => {
  it("of a tool have content, even if the server omitted it", () => {
    assert.deepStrictEqual(Schema.decodeUnknownSync(Protocol.CallToolResult)({}), { content: [] })
  })

  it("keep unknown keys", () => {
    const result = {
      content: [{ type: "hologram", depth: 3 }],
      structuredContent: { a: 1 },
      isError: true,
      _meta: { trace: "x" },
      resultType: "later"
    }
    assert.deepStrictEqual(Schema.decodeUnknownSync(Protocol.CallToolResult)(result), result)
    const read = { contents: [{ uri: "file:///a", text: "a", etag: "1" }], ttlMs: 5 }
    assert.deepStrictEqual(Schema.decodeUnknownSync(Protocol.ReadResourceResult)(read), read)
  })
})

describe("whether a tool is safe to repeat", () => {
  it.each([
    [undefined, false],
    [{}, false],
    [{ readOnlyHint: true }, true],
    [{ idempotentHint: true }, true],
    [{ idempotentHint: true, destructiveHint: false }, true],
    [{ readOnlyHint: true, destructiveHint: true }, false],
    [{ idempotentHint: true, destructiveHint: true }, false],
    [{ destructiveHint: false }, false]
  ])("with %j: %s", (annotations, safe) => {
    assert.strictEqual(Protocol.isSafeToRepeat(annotations), safe)
  })
})

describe("a status", () => {
  it.each([
    [{ status: "idle", since: 0 }, "idle"],
    [{ status: "disabled", by: "config", hint: "enable it" }, "disabled; enable it"],
    [{ status: "failed", error: "no", errorTag: "X", failures: 1 }, "failed: no"],
    [{ status: "needs_auth", reason: "log in first", hint: "log in" }, "needs_auth: log in first; log in"],
    [
      { status: "needs_client_registration", error: "no id", hint: "get one" },
      "needs_client_registration: no id; get one"
    ]
  ] as const)("%j is described as %s", (status, words) => {
    assert.strictEqual(ServerStatus.describe(status), words)
  })

  it("is settled unless it is connecting", () => {
    assert.isTrue(ServerStatus.isSettled({ status: "idle", since: 0 }))
    assert.isFalse(ServerStatus.isSettled({ status: "connecting", attempt: 1, since: 0, phase: "spawn" }))
  })

  const usable: Readonly<Record<ServerStatus.ServerStatus["status"], boolean>> = {
    connected: true,
    idle: true,
    connecting: false,
    disabled: false,
    failed: false,
    needs_auth: false,
    needs_client_registration: false
  }
  it.each(Object.entries(usable))("%s is usable: %s", (status, expected) => {
    assert.strictEqual(ServerStatus.isUsable({ status } as ServerStatus.ServerStatus), expected)
  })
})

describe("an event", () => {
  it("carries its number, its time and what happened", () => {
    const event = {
      seq: 1,
      at: 2,
      type: "StatusChanged",
      server: "files",
      from: { status: "idle", since: 0 },
      to: { status: "connecting", attempt: 1, since: 2, phase: "spawn" }
    }
    assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(ServerEvent.ServerEvent)(event), event)
    assert.throws(() => Schema.decodeUnknownSync(ServerEvent.ServerEvent)({ ...event, type: "Rumour" }))
  })

  it("of a rejected config contains the issues", () => {
    const rejected = {
      seq: 1,
      at: 2,
      type: "ConfigRejected",
      errors: [
        { _tag: "InvalidConfig", server: "files", issues: [{ path: ["url"], expected: "a URL", found: "a string" }] }
      ]
    }
    const event = Schema.decodeUnknownSync(ServerEvent.ServerEvent)(rejected)
    assert(event.type === "ConfigRejected")
    assert.match(event.errors[0]?.message ?? "", /^files: invalid config: url/)
  })
})

describe("ServerEvent.is", () => {
  it("selects the events of one type", () => {
    const added: ServerEvent.ServerEvent = { seq: 1, at: 0, type: "ServerAdded", server: "a" }
    const removed: ServerEvent.ServerEvent = { seq: 2, at: 0, type: "ServerRemoved", server: "a" }
    assert.deepStrictEqual([added, removed].filter(ServerEvent.is("ServerRemoved")), [removed])
  })
})
