import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { http, stdio, v1Script, v2Script } from "../support/contractServers/subjects.js"
import { textOf } from "../support/session.js"
import { meet } from "../support/contractServers/conversation.js"

const reporting = [
  { server: "stdio", start: stdio([v1Script, "stdio"]) },
  { server: "streamable HTTP", start: http([v1Script, "http"]) },
  { server: "SSE", start: http([v1Script, "sse"], { type: "sse", path: "/sse" }) },
  { server: "stdio in the modern era", start: stdio([v2Script, "stdio", "modern"]) },
  { server: "streamable HTTP in the modern era", start: http([v2Script, "http", "modern"]) }
]

layer(Connector.layer(), { excludeTestServices: true })("the clocks of a call", (it) => {
  for (const { server, start } of reporting) {
    it.scoped(`progress over ${server} keeps it alive, but not beyond its total`, () =>
      Effect.gen(function* () {
        const { session } = yield* meet(start)
        const kept = session.callTool("steps", { count: 5, interval: 500 }, { idleTimeout: "2 seconds" })
        const capped = session.callTool("steps", { count: 100, interval: 50 }, { totalTimeout: "500 millis" })
        const silent = session.callTool("wait", {}, { idleTimeout: "500 millis" })
        const [result, beyond, nothing] = yield* Effect.all([kept, Effect.flip(capped), Effect.flip(silent)], {
          concurrency: "unbounded"
        })
        assert.strictEqual(textOf(result), "5 steps")
        assert(beyond._tag === "CallTimeout", beyond.message)
        assert.deepInclude(beyond, { which: "total", after: 500, sent: true })
        assert(nothing._tag === "CallTimeout", nothing.message)
        assert.deepInclude(nothing, { which: "idle", after: 500, sent: true })
        yield* session.probe("5 seconds")
      })
    )
  }
})
