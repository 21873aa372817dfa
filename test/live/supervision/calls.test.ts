import { assert, describe } from "@effect/vitest"
import { Duration, Effect, Fiber } from "effect"
import type { Progress } from "../../../src/domain/catalog/Protocol.js"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { textOf } from "../support/session.js"
import {
  awaitSnapshot,
  eventsUntil,
  faultyServer,
  linesUntil,
  live,
  pidOf,
  superviseSettled
} from "../support/supervised.js"

const { answer, error, progress, sleep, stderr } = ScriptedServer

const onCall = (name: string, ...steps: ReadonlyArray<ScriptedServer.StdioStep>) => ({
  on: "tools/call",
  where: { name },
  do: steps
})

const structured = {
  content: [{ type: "text", text: "42" }],
  structuredContent: { answer: 42, nested: [{ deep: true }] },
  _meta: { "example.org/trace": "t1" }
}

describe.concurrent("a call", () => {
  live(
    "that is interrupted returns at once and is cancelled once, and the connection stays",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: ["silent", "received"],
          rules: [
            onCall("silent", stderr("called\n")),
            onCall("received", answer({ content: [], structuredContent: { received: ScriptedServer.received } }))
          ]
        })
      })
      const call = yield* Effect.fork(supervisor.callTool("it_silent"))
      yield* linesUntil(supervisor, "it", (line) => line === "called")
      const [took] = yield* Effect.timed(Fiber.interrupt(call))
      assert.isBelow(Duration.toMillis(took), 20_000)
      const { structuredContent } = yield* supervisor.callTool("it_received")
      const { received } = structuredContent as {
        readonly received: ReadonlyArray<{ id?: unknown; method?: string; params?: Record<string, unknown> }>
      }
      const asked = received.find(({ method }) => method === "tools/call")
      const cancels = received.filter(({ method }) => method === "notifications/cancelled")
      assert.lengthOf(cancels, 1)
      assert.strictEqual(cancels[0]!.params?.requestId, asked?.id)
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
      const events = yield* eventsUntil(supervisor, (event) => event.type === "CallSettled" && event.outcome === "ok")
      assert.deepStrictEqual(
        events.flatMap((event) => (event.type === "CallSettled" ? [event.outcome] : [])),
        ["interrupted", "ok"]
      )
    })
  )

  live(
    "that is interrupted while its server connects does not end the attempt",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({})
      yield* supervisor.add("it", {
        ...ScriptedServer.stdio({
          tools: ["echo"],
          rules: [{ on: "initialize", do: [stderr("greeted\n"), sleep(500), answer()] }]
        })
      })
      const call = yield* Effect.fork(supervisor.callServerTool("it", "echo"))
      yield* linesUntil(supervisor, "it", (line) => line === "greeted")
      yield* Fiber.interrupt(call)
      const { generation } = yield* awaitSnapshot(supervisor, "it", ({ status }) => status.status === "connected")
      assert.strictEqual(generation, 1)
    })
  )

  live(
    "has an idle timeout that progress resets, and a total timeout that nothing resets",
    Effect.gen(function* () {
      const steps = Array.from({ length: 8 }, (_, index) => [sleep(200), progress(index + 1)]).flat()
      const supervisor = yield* superviseSettled({
        it: {
          ...ScriptedServer.stdio({
            tools: ["busy", "silent"],
            rules: [onCall("busy", ...steps, answer()), onCall("silent")]
          }),
          timeout: { call: 900, total: 10_000 }
        }
      })
      const reported: Array<number> = []
      const onProgress = ({ progress }: Progress) => Effect.sync(() => void reported.push(progress))
      const [long, silent, capped, own] = yield* Effect.all(
        [
          supervisor.callTool("it_busy", {}, { onProgress }),
          Effect.flip(supervisor.callTool("it_silent")),
          Effect.flip(supervisor.callTool("it_busy", {}, { totalTimeout: 1000 })),
          Effect.flip(supervisor.callTool("it_silent", {}, { idleTimeout: 100 }))
        ],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(textOf(long), "busy")
      assert.deepStrictEqual(reported, [1, 2, 3, 4, 5, 6, 7, 8])
      assert.deepInclude(silent, { _tag: "CallTimeout", which: "idle", sent: true, after: 900 })
      assert.deepInclude(capped, { _tag: "CallTimeout", which: "total", sent: true, after: 1000 })
      assert.deepInclude(own, { _tag: "CallTimeout", which: "idle", sent: true, after: 100 })
      assert.strictEqual((yield* supervisor.server("it")).generation, 1)
    })
  )

  live(
    "to a server that does not connect waits as long as its options say, and fails as not sent",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({})
      yield* supervisor.add("it", faultyServer("hang"))
      const [unready, late] = yield* Effect.all(
        [
          Effect.flip(supervisor.callServerTool("it", "echo", {}, { waitForReady: 100 })),
          Effect.flip(supervisor.callServerTool("it", "echo", {}, { totalTimeout: 150 }))
        ],
        { concurrency: 2 }
      )
      assert.strictEqual(unready._tag, "ServerUnavailable")
      assert.deepInclude(late, { _tag: "CallTimeout", which: "total", sent: false, after: 150 })
    })
  )

  live(
    "returns the whole result, also an error of the tool; a protocol error is an error",
    Effect.gen(function* () {
      const outputSchema = { type: "object", properties: { answer: { type: "number" } }, required: ["answer"] }
      const failed = { content: [{ type: "text", text: "no luck" }], isError: true, _meta: { code: 7 } }
      const supervisor = yield* superviseSettled({
        it: ScriptedServer.stdio({
          tools: [{ name: "good", inputSchema: { type: "object" }, outputSchema }, "bad", "wrong"].map((tool) =>
            tool === "bad" ? { name: "bad", inputSchema: { type: "object" }, outputSchema } : tool
          ),
          rules: [
            onCall("good", answer(structured)),
            onCall("bad", answer(failed)),
            onCall("wrong", error(-32000, "not today", { why: "rain" }))
          ]
        })
      })
      assert.deepStrictEqual<unknown>(yield* supervisor.callTool("it_good"), structured)
      assert.deepStrictEqual<unknown>(yield* supervisor.callTool("it_bad"), failed)
      const wrong = yield* Effect.flip(supervisor.callTool("it_wrong"))
      assert.deepInclude(wrong, { _tag: "ProtocolError", code: -32000, message: "not today", data: { why: "rain" } })
      const events = yield* eventsUntil(
        supervisor,
        (event) => event.type === "CallSettled" && event.outcome === "ProtocolError"
      )
      assert.deepStrictEqual(
        events.flatMap((event) => (event.type === "CallSettled" ? [event.outcome] : [])),
        ["ok", "error", "ProtocolError"]
      )
    })
  )

  live(
    "by a name from before a restart reaches the current process",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: faultyServer() })
      const handle = (yield* supervisor.catalog).tools.find(({ rawName }) => rawName === "pid")!
      const call = supervisor.callTool(handle.name)
      const before = textOf(yield* call)
      assert.strictEqual(before, String(yield* pidOf(supervisor, "it")))
      // concurrent callers share the new connection
      const statuses = yield* Effect.all([supervisor.restart("it"), supervisor.restart("it")], { concurrency: 2 })
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ["connected", "connected"]
      )
      const after = textOf(yield* call)
      assert.notStrictEqual(after, before)
      assert.strictEqual(after, String(yield* pidOf(supervisor, "it")))
    })
  )

  live(
    "during a restart by command waits for the new process",
    Effect.gen(function* () {
      const supervisor = yield* superviseSettled({ it: faultyServer() })
      const before = yield* pidOf(supervisor, "it")
      const restarting = yield* Effect.fork(supervisor.restart("it"))
      yield* awaitSnapshot(supervisor, "it", ({ pid }) => pid !== before)
      const [result, status] = yield* Effect.all([supervisor.callTool("it_pid"), Fiber.join(restarting)], {
        concurrency: 2
      })
      assert.strictEqual(status.status, "connected")
      assert.notStrictEqual(textOf(result), String(before))
    })
  )
})
