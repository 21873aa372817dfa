import { writeFileSync } from "node:fs"
import * as Http from "node:http"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Exit, Fiber, Logger, Option, Scope, Stream } from "effect"
import * as RemoteSupervisor from "../../../src/cli/supervisor/RemoteSupervisor.js"
import type { EventMessage } from "../../../src/control/ControlClient.js"
import type { ServerEvent } from "../../../src/domain/server/ServerEvent.js"
import * as ReplayLog from "../../../src/system/stream/ReplayLog.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { controlled, idler, local, temporary, token } from "../support/control.js"
import { heldBytes, megabyte } from "../support/memory.js"

const quiet = Logger.remove(Logger.defaultLogger)

/** When a reader is told that it missed something. */
const foundOut = 1_700_000_000_000

/** A supervisor whose events are made by hand. */
const handmade = (control = {}, capacity = 100) =>
  Effect.gen(function* () {
    const ring = ReplayLog.make<ServerEvent>({
      capacity,
      missed: (from, to) => ({ seq: to, at: foundOut, type: "Skipped", from, to })
    })
    const publish = (text = "some:uri") =>
      ring.push({ seq: ring.next(), at: 0, type: "ResourceUpdated", server: "one", uri: text })
    const harness = yield* controlled({
      control,
      around: (supervisor) => ({
        ...supervisor,
        eventsFrom: (seq) => ring.from(() => seq),
        events: ring.from(ring.next)
      })
    })
    return { ...harness, publish, ring }
  }).pipe(Effect.provide(quiet))

const seqs = (messages: Iterable<EventMessage>) =>
  Array.from(messages, (message) => (message._tag === "Event" ? message.event.seq : message._tag))

/** A supervisor as commands reach it. */
const reachOf = (server: { readonly address: string }) =>
  Effect.gen(function* () {
    const stateDir = yield* temporary
    writeFileSync(join(stateDir, "control-token"), token, { mode: 0o600 })
    const daemon = {
      version: 1,
      pid: process.pid,
      identity: { pid: process.pid },
      address: server.address,
      config: [],
      sources: { env: {}, cwd: stateDir, home: stateDir, files: [], digests: {} },
      release: "0",
      api: 1,
      startedAt: 0
    } as const
    return yield* RemoteSupervisor.make(daemon, { cwd: stateDir, files: [], stateDir })
  })

describe("the event stream", () => {
  it.scopedLive("resumes after the last received event", () =>
    Effect.gen(function* () {
      const { client, publish, server } = yield* handmade()
      for (let count = 0; count < 5; count++) publish()
      const first = yield* Stream.runCollect(Stream.take(client.events(`${server.epoch}-2`), 3))
      assert.deepStrictEqual(seqs(first), [3, 4, 5])
      const all = Array.from(first)
      assert.deepStrictEqual(
        all.map(({ id }) => id),
        [3, 4, 5].map((seq) => `${server.epoch}-${seq}`)
      )
      publish()
      publish()
      const next = yield* Stream.runCollect(Stream.take(client.events(all.at(-1)?.id), 2))
      assert.deepStrictEqual(seqs(next), [6, 7])
    })
  )

  it.scopedLive("starts with the next event, and sends its position before that", () =>
    Effect.gen(function* () {
      const { publish, server } = yield* handmade()
      publish()
      publish()
      const text = yield* Effect.async<string>((resume) => {
        const request = Http.get(`${server.address}/events`, { headers: { authorization: `Bearer ${token}` } })
        request.on("response", (response) => {
          let text = ""
          response.on("data", (part) => {
            text += String(part)
            if (/id: \w+-2\n\n$/.test(text)) publish()
            if (text.includes("data:") && text.endsWith("\n\n")) {
              request.destroy()
              resume(Effect.succeed(`${response.headers["content-type"]} ${text}`))
            }
          })
          response.on("error", () => {})
        })
      })
      assert.match(text, /^text\/event-stream : hello\n\nid: \w+-2\n\nid: \w+-3\ndata: \{.*\}\n\n$/)
    })
  )

  it.scopedLive("is reset for an event id of another run, or an invalid one", () =>
    Effect.gen(function* () {
      const { client, publish, server } = yield* handmade()
      publish()
      for (const id of ["0123456789abcdef-7", "nonsense", `${server.epoch}-x`]) {
        const found = yield* client.events(id).pipe(
          Stream.tap(({ _tag }) => Effect.sync(() => (_tag === "Reset" ? publish() : undefined))),
          Stream.take(2),
          Stream.runCollect
        )
        assert.strictEqual(seqs(found)[0], "Reset")
        assert.isNumber(seqs(found)[1])
        const [reset] = found
        assert.isTrue(reset?.id.startsWith(`${server.epoch}-`))
      }
    })
  )

  it.scopedLive("reports the range of events that are no longer stored", () =>
    Effect.gen(function* () {
      const { client, publish, server } = yield* handmade({}, 10)
      for (let count = 0; count < 30; count++) publish()
      const found = Array.from(yield* Stream.runCollect(Stream.take(client.events(`${server.epoch}-5`), 11)))
      assert.deepStrictEqual(seqs(found), ["Skipped", 21, 22, 23, 24, 25, 26, 27, 28, 29, 30])
      assert.deepInclude(found[0]!, { from: 6, to: 20, at: foundOut, id: `${server.epoch}-20` })
    })
  )

  it.scopedLive("reports skipped events to commands as well, with the time of the detection", () =>
    Effect.gen(function* () {
      const { publish, server } = yield* handmade({}, 10)
      for (let count = 0; count < 12; count++) publish()
      const reach = yield* reachOf(server)
      const events = Array.from(yield* Stream.runCollect(reach.events({ follow: false, replay: true })))
      assert.deepStrictEqual(events[0], { seq: 2, at: foundOut, type: "Skipped", from: 1, to: 2 })
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
      )
    })
  )

  it.scopedLive("sends heartbeats while no event occurs", () =>
    Effect.gen(function* () {
      const { server } = yield* handmade({ heartbeat: "20 millis" })
      const beats = yield* Effect.async<number>((resume) => {
        const request = Http.get(`${server.address}/events`, { headers: { authorization: `Bearer ${token}` } })
        request.on("response", (response) => {
          let text = ""
          response.on("error", () => {})
          response.on("data", (part) => {
            text += String(part)
            const found = text.split(": alive\n\n").length - 1
            if (found < 3) return
            request.destroy()
            resume(Effect.succeed(found))
          })
        })
      })
      assert.isAtLeast(beats, 3)
    })
  )

  it.scopedLive("reaches 200 readers, each event once and in order, and ends for all of them at shutdown", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { client, publish, server } = yield* Scope.extend(handmade(), scope)
      const readers = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        () =>
          Effect.gen(function* () {
            const begun = yield* Deferred.make<void>()
            const seen: Array<number> = []
            // an id from before everything: its answer shows that it is there
            const fiber = yield* client.events("none-0").pipe(
              Stream.runForEach((message) => {
                if (message._tag === "Event") seen.push(message.event.seq)
                return Deferred.succeed(begun, undefined)
              }),
              Effect.fork
            )
            yield* Deferred.await(begun)
            return { seen, fiber }
          }),
        { concurrency: 50 }
      )
      for (let count = 0; count < 50; count++) publish()
      const last = yield* Stream.runCollect(Stream.take(client.events(`${server.epoch}-49`), 1))
      assert.deepStrictEqual(seqs(last), [50])
      yield* Effect.repeat(Effect.yieldNow(), { until: () => readers.every(({ seen }) => seen.length === 50) })
      const expected = Array.from({ length: 50 }, (_, index) => index + 1)
      for (const { seen } of readers) assert.deepStrictEqual(seen, expected)
      const before = yield* Clock.currentTimeMillis
      const cpu = process.cpuUsage()
      yield* Scope.close(scope, Exit.void)
      // other processes of a busy machine add nothing to the CPU time
      assert.isBelow(process.cpuUsage(cpu).user / 1000, 4000)
      assert.isBelow((yield* Clock.currentTimeMillis) - before, 30_000)
      for (const { fiber } of readers) yield* Effect.exit(fiber)
    })
  )

  it.scopedLive("buffers nothing for a client that does not read, and can end while that client is connected", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { client, publish, ring, server } = yield* Scope.extend(handmade({}, 100), scope)
      yield* Effect.forEach(Array.from({ length: 20 }), () => idler(server.address, "/events"), { concurrency: 20 })
      const large = `a:${"x".repeat(10_000)}`
      const rounds = 40
      let most = 0
      let before = 0
      for (let round = 0; round < rounds; round++) {
        for (let count = 0; count < 50; count++) publish(large)
        // a reader who does read gets all of it: by then the others could have
        const at = `${server.epoch}-${ring.next() - 2}`
        yield* Stream.runDrain(Stream.take(client.events(at), 1))
        if (round === 4) before = heldBytes()
        if (round > 4) most = Math.max(most, heldBytes())
      }
      // 20 readers missed 17 MB each since then
      assert.isBelow(most - before, 80 * megabyte)
      const started = yield* Clock.currentTimeMillis
      yield* Scope.close(scope, Exit.void)
      assert.isBelow((yield* Clock.currentTimeMillis) - started, 8000)
    })
  )

  it.scopedLive("that ends while a command watches changes ends the command without an error", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { client, publish, server } = yield* Scope.extend(handmade(), scope)
      const reach = yield* reachOf(server)
      const [begun, heard] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let looks = 0
      const looking = yield* reach.changes.pipe(
        Stream.runForEach(() => Deferred.succeed(++looks === 1 ? begun : heard, undefined)),
        Effect.fork
      )
      yield* Deferred.await(begun)
      publish()
      yield* Deferred.await(heard)
      // requests the servers once more after the last event, when the supervisor no longer listens
      publish()
      yield* Stream.runDrain(Stream.take(client.events(`${server.epoch}-1`), 1))
      yield* Scope.close(scope, Exit.void)
      yield* Fiber.join(looking)
    })
  )

  it.scopedLive("sends the events of a supervisor with real servers", () =>
    Effect.gen(function* () {
      const { client, server, supervisor } = yield* controlled({
        supervisor: { servers: { one: local } },
        scripts: { one: FakeConnector.open({ tools: ["greet"] }) }
      }).pipe(Effect.provide(quiet))
      yield* supervisor.awaitSettled()
      yield* supervisor.disable("one")
      const isLast = (event: ServerEvent) => event.type === "StatusChanged" && event.to.status === "disabled"
      const told = yield* Stream.runCollect(Stream.takeUntil(supervisor.eventsFrom(1), isLast))
      const heard = yield* client.events(`${server.epoch}-0`).pipe(
        Stream.filterMap((message) => (message._tag === "Event" ? Option.some(message.event) : Option.none())),
        Stream.takeUntil(isLast),
        Stream.runCollect
      )
      assert.deepStrictEqual(Array.from(heard), Array.from(told))
    })
  )

  it.scopedLive("requires host, origin and token like every route", () =>
    Effect.gen(function* () {
      const { ask } = yield* handmade()
      const answer = yield* ask("/events", { headers: { authorization: undefined } })
      assert.strictEqual(answer.json.error.tag, "Unauthorized")
    })
  )
})
