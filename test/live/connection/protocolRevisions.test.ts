import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { received } from "../support/contractServers/journal.js"
import { http, raw, stdio, v1Script, v2Script } from "../support/contractServers/subjects.js"
import { meet } from "../support/contractServers/conversation.js"

const wantedRevision = { legacy: "2025-11-25", "2026-07-28": "2026-07-28" } as const

const dual = [
  { over: "stdio", start: stdio([v2Script, "stdio", "dual"]) },
  { over: "HTTP", start: http([v2Script, "http", "dual"]) }
]

const mismatched = [
  { protocol: "2026-07-28", server: "an older one over stdio", start: stdio([v1Script, "stdio"]) },
  { protocol: "2026-07-28", server: "an older one over HTTP", start: http([v1Script, "http"]) },
  { protocol: "2026-07-28", server: "an older one without sessions", start: http([v1Script, "json"]) },
  { protocol: "legacy", server: "a newer one over stdio", start: stdio([v2Script, "stdio", "modern"]) },
  { protocol: "legacy", server: "a newer one over HTTP", start: http([v2Script, "http", "modern"]) },
  { protocol: "auto", server: "one from the future", start: raw({ revision: "2099-01-01" }) },
  { protocol: "legacy", server: "one from the future", start: raw({ revision: "2099-01-01" }) }
] as const

layer(Connector.layer(), { excludeTestServices: true })("the revision", (it) => {
  for (const protocol of ["legacy", "2026-07-28"] as const) {
    for (const { over, start } of dual) {
      it.scoped(`${protocol} is spoken over ${over} if the config says so`, () =>
        Effect.gen(function* () {
          const { session } = yield* meet(start, { protocol })
          assert.strictEqual(session.info.protocolVersion, wantedRevision[protocol])
          assert.strictEqual(session.info.era, protocol === "legacy" ? "legacy" : "modern")
          yield* session.probe("5 seconds")
        })
      )
    }
  }

  for (const { protocol, server, start } of mismatched) {
    it.scoped(`${protocol} does not fit ${server}`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(meet(start, { protocol }))
        assert.strictEqual(error._tag, "IncompatibleServer", error.message)
      })
    )
  }

  it.scoped("is found out where only the older HTTP transport is spoken", () =>
    Effect.gen(function* () {
      const { session } = yield* meet(http([v1Script, "sse"], { path: "/sse" }), { type: "remote" })
      assert.strictEqual(session.info.transport, "sse")
    })
  )

  it.scoped("is found out over stdio with one process", () =>
    Effect.gen(function* () {
      const { session, told } = yield* meet(stdio([v2Script, "stdio", "modern"]), { protocol: "auto" })
      assert.strictEqual(session.info.era, "modern")
      yield* session.probe("5 seconds")
      yield* told.find(received("server/discover"))
      assert.deepStrictEqual(
        told.entries().flatMap(({ event, pid }) => (event === "started" ? [pid] : [])),
        [session.info.pid]
      )
    })
  )
})
