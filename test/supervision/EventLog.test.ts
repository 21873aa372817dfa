import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Stream, TestClock } from "effect"
import type { ServerEvent } from "../../src/domain/server/ServerEvent.js"
import * as EventLog from "../../src/supervision/EventLog.js"
import { settle } from "./support.js"

const makeLog = Effect.map(Effect.clock, EventLog.make)

const added = (server: string): EventLog.News => ({ type: "ServerAdded", server })

const read = (stream: Stream.Stream<ServerEvent>) => Effect.map(Stream.runCollect(stream), Chunk.toReadonlyArray)

const fill = (log: EventLog.EventLog, count: number) => {
  for (let i = 0; i < count; i++) log.publish(added("a"))
}

describe("EventLog", () => {
  it.effect("numbers events from 1 and records their time", () =>
    Effect.gen(function* () {
      const log = yield* makeLog
      log.publish(added("a"))
      yield* TestClock.adjust("3 seconds")
      log.publish(added("b"))
      log.end()
      assert.deepStrictEqual(yield* read(log.from(0)), [
        { seq: 1, at: 0, type: "ServerAdded", server: "a" },
        { seq: 2, at: 3000, type: "ServerAdded", server: "b" }
      ])
    })
  )

  it.effect("streams new events only, from `live`", () =>
    Effect.gen(function* () {
      const log = yield* makeLog
      log.publish(added("a"))
      const reader = yield* Effect.fork(read(log.live))
      yield* settle
      log.publish(added("b"))
      log.end()
      assert.deepStrictEqual(
        (yield* Fiber.join(reader)).map(({ seq }) => seq),
        [2]
      )
    })
  )

  it.effect("gives all readers the same order", () =>
    Effect.gen(function* () {
      const log = yield* makeLog
      const readers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(read(log.live)))
      yield* settle
      fill(log, 1000)
      log.end()
      const [first, ...others] = yield* Effect.forEach(readers, Fiber.join)
      assert.lengthOf(first!, 1000)
      for (const other of others) assert.deepStrictEqual(other, first)
    })
  )

  it.effect("keeps 10,000 events and reports older ones as Skipped", () =>
    Effect.gen(function* () {
      const log = yield* makeLog
      fill(log, 10_003)
      log.end()
      const [skipped, ...rest] = yield* read(log.from(2))
      assert.deepStrictEqual(skipped, { seq: 3, at: 0, type: "Skipped", from: 2, to: 3 })
      assert.deepStrictEqual(
        rest.map(({ seq }) => seq),
        Array.from({ length: 10_000 }, (_, index) => index + 4)
      )
    })
  )

  it.effect("keeps 16 MiB of events and reports older ones as Skipped", () =>
    Effect.gen(function* () {
      const log = yield* makeLog
      for (let index = 0; index < 3_000; index++) {
        log.publish({ type: "ResourceUpdated", server: "a", uri: `${"x".repeat(8_000)}${index}` })
      }
      log.end()
      const [skipped, ...rest] = yield* read(log.from(1))
      assert.strictEqual(skipped!.type, "Skipped")
      assert.isAtMost(JSON.stringify(rest).length, 16 * 1024 * 1024)
      assert.isAtLeast(rest.length, 2_000)
      assert.strictEqual(rest[0]!.seq, skipped!.seq + 1)
      assert.strictEqual(rest.at(-1)!.seq, 3_000)
    })
  )

  it.effect("counts the size of every name in a change", () =>
    Effect.gen(function* () {
      const log = yield* makeLog
      const added = Array.from({ length: 40_000 }, (_, index) => `tool_with_a_name_${index}`)
      for (let revision = 1; revision <= 100; revision++) {
        log.publish({ type: "CatalogChanged", server: "a", revision, kind: "tools", added, removed: [] })
      }
      log.end()
      assert.isBelow((yield* read(log.from(1))).length, 20)
    })
  )
})
