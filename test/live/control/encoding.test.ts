/** An answer of our own that cannot be encoded is a fault of ours: 500 in our error shape, and a line in the log. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, HashMap, Logger } from "effect"
import type { Shape } from "../../../src/supervision/model.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { type Asked, controlled, local } from "../support/control.js"

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = [value]
  return value
}

/** Three values that no encoder can write, each for another reason. */
const unencodable: Readonly<Record<string, () => unknown>> = {
  "nested too deep": () => nested(100_000),
  "a bigint": () => 1n,
  "a value that throws": () => ({
    toJSON: () => {
      throw new Error("canary-text")
    }
  })
}

const post = (body: unknown, headers = {}): Asked => ({ method: "POST", body, headers })

/** What was logged, with the annotations. */
const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, message }) => {
    lines.push(JSON.stringify([message, Object.fromEntries(HashMap.toEntries(annotations))]))
  })
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}

describe("a response that cannot be encoded", () => {
  for (const [what, make] of Object.entries(unencodable)) {
    it.scopedLive(`because of ${what} becomes a 500 in the error format of the API, with a log line`, () => {
      const { layer, lines } = logged()
      return Effect.gen(function* () {
        const { ask, supervisor } = yield* controlled({
          supervisor: { servers: { one: local } },
          scripts: { one: FakeConnector.open({ tools: ["bad", "fine"] }) },
          around: (shape) => ({
            ...shape,
            catalog: Effect.map(shape.catalog, (catalog) => ({
              ...catalog,
              tools: catalog.tools.map((tool) => ({ ...tool, inputSchema: { properties: make() } }))
            })),
            callTool: (name, args, options) =>
              name === "one_bad"
                ? Effect.succeed({ content: [], structuredContent: { value: make() } })
                : shape.callTool(name, args, options)
          })
        })
        yield* supervisor.awaitSettled()
        for (const [path, asked] of [
          ["/tools", undefined],
          ["/tools/one_bad/call", post({})]
        ] as const) {
          lines.length = 0
          const { json, status } = yield* ask(path, asked)
          assert.strictEqual(status, 500, path)
          assert.deepStrictEqual(Object.keys(json), ["error"])
          assert.strictEqual(json.error.tag, "InternalError")
          assert.isNotEmpty(json.error.message)
          assert.include(lines.join("\n"), "mcp.control.fault")
          assert.include(lines.join("\n"), path.replace("one_bad", ":name"))
          assert.notInclude(lines.join("\n"), "canary-text")
        }
        lines.length = 0
        const { status, text } = yield* ask("/tools/one_bad/call", post({}, { accept: "text/event-stream" }))
        assert.strictEqual(status, 200)
        const [, data = ""] = /event: error\ndata: (.*)\n/.exec(text) ?? []
        assert.strictEqual(JSON.parse(data).error.tag, "InternalError")
        assert.include(lines.join("\n"), "mcp.control.fault")
        // the others are not affected
        assert.strictEqual((yield* ask("/tools/one_fine/call", post({}))).status, 200)
        assert.strictEqual((yield* ask("/servers")).status, 200)
        assert.strictEqual((yield* ask("/tools?agent=a&agent=b")).status, 400)
      }).pipe(Effect.provide(layer))
    })
  }
})

describe("a long list", () => {
  const count = 5_000
  /** The catalog of the fake, with so many tools made from its only one. */
  const withTools = (make: (index: number) => object) => ({
    supervisor: { servers: { one: local } },
    scripts: { one: FakeConnector.open({ tools: ["t"] }) },
    around: (shape: Shape): Shape => ({
      ...shape,
      catalog: Effect.map(shape.catalog, (catalog) => ({
        ...catalog,
        tools: Array.from({ length: count }, (_, index) => ({
          ...catalog.tools[0]!,
          name: `t${index}`,
          ...make(index)
        }))
      }))
    })
  })

  it.scopedLive("is encoded in pieces, between which other requests are served", () =>
    Effect.gen(function* () {
      let turn = 0
      const turns = new Set<number>()
      const next = () => {
        turn += 1
        immediate = setImmediate(next)
      }
      let immediate = setImmediate(next)
      yield* Effect.addFinalizer(() => Effect.sync(() => clearImmediate(immediate)))
      const { ask, supervisor } = yield* controlled(
        withTools((index) => ({
          inputSchema: {
            type: "object",
            toJSON: () => {
              turns.add(turn)
              return { type: "object", title: `${index}` }
            }
          }
        }))
      )
      yield* supervisor.awaitSettled()
      const { headers, json, status } = yield* ask("/tools")
      assert.strictEqual(status, 200)
      assert.include(headers["content-type"], "application/json")
      assert.lengthOf(json, count)
      assert.deepStrictEqual(
        json.map((tool: { inputSchema: { title: string } }) => tool.inputSchema.title),
        Array.from({ length: count }, (_, index) => `${index}`)
      )
      assert.isAtLeast(turns.size, 10)
    })
  )

  it.scopedLive("with an entry that cannot be encoded becomes a 500 in the error format of the API", () => {
    const { layer, lines } = logged()
    return Effect.gen(function* () {
      const { ask, supervisor } = yield* controlled(
        withTools((index) => (index === count - 1 ? { inputSchema: { properties: 1n } } : {}))
      )
      yield* supervisor.awaitSettled()
      const { json, status } = yield* ask("/tools")
      assert.strictEqual(status, 500)
      assert.strictEqual(json.error.tag, "InternalError")
      assert.include(lines.join("\n"), "encoding the response")
    }).pipe(Effect.provide(layer))
  })
})
