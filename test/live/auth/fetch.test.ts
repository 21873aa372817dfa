import { gzipSync } from "node:zlib"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { classify } from "../../../src/auth/oauth/OAuthFailure.js"
import * as OAuthFetch from "../../../src/auth/oauth/oauthFetch.js"
import * as HttpClient from "../../../src/connection/http/HttpClient.js"
import * as Raw from "../support/rawHttp.js"
import { live } from "../support/supervised.js"

const fetchOf = (timeout?: number) =>
  Effect.gen(function* () {
    const pool = yield* HttpClient.pool
    return OAuthFetch.make(yield* pool.client("it", undefined), "test/1", timeout)
  })

describe.concurrent("a request to an authorization server", () => {
  live(
    "ends at its time limit, which counts as unavailable",
    Effect.gen(function* () {
      const slow = yield* Raw.serve(() => {})
      const fetch = yield* fetchOf(50)
      const failure = yield* Effect.flip(Effect.tryPromise({ try: () => fetch(slow.url), catch: classify }))
      assert.strictEqual(failure.kind, "unavailable")
      assert.include(failure.detail, "ETIMEDOUT")
    })
  )

  live(
    "ends if the response is too large",
    Effect.gen(function* () {
      const talkative = yield* Raw.serve((_, response) => void response.end("x".repeat(2 * 1024 * 1024)))
      const fetch = yield* fetchOf()
      const failure = yield* Effect.flip(Effect.tryPromise({ try: () => fetch(talkative.url), catch: classify }))
      assert.strictEqual(failure.kind, "unavailable")
      assert.include(failure.detail, "EMSGSIZE")
    })
  )

  live(
    "returns status, headers and the decompressed body",
    Effect.gen(function* () {
      const server = yield* Raw.serve((_, response) => {
        response.writeHead(201, { "content-encoding": "gzip", "x-some": "thing" }).end(gzipSync(`{"a":1}`))
      })
      const fetch = yield* fetchOf()
      const answer = yield* Effect.promise(() =>
        fetch(server.url, { method: "POST", headers: { accept: "y" }, body: "{}" })
      )
      assert.strictEqual(answer.status, 201)
      assert.strictEqual(answer.headers.get("x-some"), "thing")
      assert.deepStrictEqual(yield* Effect.promise(() => answer.json()), { a: 1 })
      assert.strictEqual(server.received[0]?.headers["user-agent"], "test/1")
    })
  )

  live(
    "fails if the status is invalid",
    Effect.gen(function* () {
      const fetch = yield* fetchOf()
      for (const status of [600, 999]) {
        const odd = yield* Raw.serve((_, response) => {
          response.writeHead(status, { "content-encoding": "gzip" }).end(gzipSync("{}"))
        })
        const failure = yield* Effect.flip(Effect.tryPromise({ try: () => fetch(odd.url), catch: classify }))
        assert.strictEqual(failure.kind, "unavailable")
      }
    })
  )

  live(
    "does not follow redirects to other origins",
    Effect.gen(function* () {
      const elsewhere = yield* Raw.serve((_, response) => void Raw.status(response, 200))
      const server = yield* Raw.serve((_, response) => void Raw.status(response, 307, { location: elsewhere.url }))
      const fetch = yield* fetchOf()
      const answer = yield* Effect.promise(() => fetch(server.url, { method: "POST", body: "{}" }))
      assert.strictEqual(answer.status, 307)
      assert.deepStrictEqual(elsewhere.received, [])
    })
  )
})
