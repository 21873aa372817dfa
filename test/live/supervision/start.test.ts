import { randomUUID } from "node:crypto"
import { assert, describe } from "@effect/vitest"
import { Deferred, Duration, Effect, Exit, Fiber, Scope, Stream } from "effect"
import * as Raw from "../support/rawHttp.js"
import { groupOf, processesWith, textOf } from "../support/session.js"
import {
  awaitSnapshot,
  awaitStatus,
  eventsUntil,
  faultyServer,
  live,
  serveAt,
  shellServer,
  supervise,
  superviseSettled,
  withTools
} from "../support/supervised.js"

describe("many servers", () => {
  live(
    "are usable one by one, without waiting for one that never answers",
    Effect.gen(function* () {
      const slow = yield* Deferred.make<() => void>()
      const isHeld = ({ message, url }: Raw.Received) => message.method === "initialize" && /\/(never|slow)$/.test(url)
      const good = withTools(["echo"])
      const server = yield* serveAt(0, (received, response, request) => {
        if (!isHeld(received)) return good(received, response, request)
        if (received.url.endsWith("/slow"))
          Deferred.unsafeDone(
            slow,
            Effect.succeed(() => good(received, response, request))
          )
      })
      const at = (path: string) => ({ url: new URL(path, server.url).href })
      const names = Array.from({ length: 48 }, (_, index) => `server${index}`)
      // loads all modules first, which is not measured here
      yield* Effect.scoped(supervise())
      const started = Date.now()
      const supervisor = yield* supervise({
        servers: {
          never: at("/never"),
          slow: at("/slow"),
          ...Object.fromEntries(names.map((name) => [name, at(`/${name}`)]))
        }
      })
      // a limit for 50 servers, not a measurement
      assert.isBelow(Date.now() - started, 15_000)
      assert.isTrue((yield* supervisor.servers).every(({ status }) => status.status === "connecting"))
      const settled = yield* supervisor.awaitSettled({ servers: names })
      assert.isTrue(settled.every(({ status }) => status.status === "connected"))
      assert.lengthOf((yield* supervisor.catalog).tools, 48)
      assert.strictEqual(textOf(yield* supervisor.callTool("server7_echo")), "called")
      for (const name of ["never", "slow"])
        assert.strictEqual((yield* supervisor.server(name)).status.status, "connecting")
      const late = yield* Effect.fork(supervisor.callServerTool("slow", "echo"))
      const goOn = yield* Deferred.await(slow)
      goOn()
      assert.strictEqual(textOf(yield* Fiber.join(late)), "called")
      assert.lengthOf((yield* supervisor.catalog).tools, 49)
      assert.strictEqual((yield* supervisor.server("never")).status.status, "connecting")
      const [took, snapshots] = yield* Effect.timed(supervisor.awaitSettled({ timeout: 50 }))
      assert.lengthOf(snapshots, 50)
      assert.isBelow(Duration.toMillis(took), 15_000)
    })
  )

  live(
    "start at most eight processes at a time",
    Effect.gen(function* () {
      const names = Array.from({ length: 20 }, (_, index) => `server${index}`)
      const supervisor = yield* supervise({ servers: Object.fromEntries(names.map((name) => [name, shellServer(1)])) })
      let most = 0
      const watching = yield* supervisor.changes.pipe(
        Stream.runForEach((snapshots) =>
          Effect.sync(() => {
            const starting = snapshots.filter(
              ({ status }) => status.status === "connecting" && status.phase === "handshake"
            ).length
            most = Math.max(most, starting)
          })
        ),
        Effect.fork
      )
      const settled = yield* supervisor.awaitSettled()
      yield* Fiber.interrupt(watching)
      assert.deepStrictEqual(
        settled.map(({ status }) => status.status),
        names.map(() => "connected")
      )
      assert.strictEqual(most, 8)
      assert.isTrue(settled.every(({ restarts }) => restarts === 0))
      const events = yield* eventsUntil(supervisor, ({ seq }) => seq >= 16)
      assert.isTrue(events.every((event) => event.type !== "StatusChanged" || event.to.status !== "failed"))
    })
  )
})

describe.concurrent("one broken server beside others", () => {
  live(
    "has a status with the reason, and closing ends all servers",
    Effect.gen(function* () {
      const mark = `beside-${randomUUID()}`
      const scope = yield* Scope.make()
      const refusing = yield* Raw.serve((_, response) => void Raw.status(response, 401))
      const babbling = yield* Raw.serve(
        (_, response) => void response.writeHead(200, { "content-type": "application/json" }).end("{ not json")
      )
      const once = { restart: { maxRestarts: 0 } }
      const supervisor = yield* supervise({
        servers: {
          healthy: faultyServer(mark),
          crashing: { ...faultyServer("exit-at-start", mark), ...once },
          hanging: { ...faultyServer("hang", mark), ...once, timeout: { connect: 1000 } },
          refusing: { url: refusing.url, oauth: false, ...once },
          babbling: { url: babbling.url, ...once },
          waiting: faultyServer("hang", "ignore-eof", mark)
        }
      }).pipe(Scope.extend(scope))
      yield* supervisor.awaitSettled({ servers: ["healthy", "crashing", "hanging", "refusing", "babbling"] })
      assert.strictEqual(textOf(yield* supervisor.callTool("healthy_echo", { value: "hello" })), "hello")
      const crashing = yield* awaitStatus(supervisor, "crashing", "failed")
      assert.deepInclude(crashing, { errorTag: "ProcessExited", exitCode: 3 })
      assert.strictEqual(crashing.stderr?.trim(), "no config found")
      assert.strictEqual((yield* awaitStatus(supervisor, "hanging", "failed")).errorTag, "ConnectTimeout")
      assert.isNotEmpty((yield* awaitStatus(supervisor, "refusing", "needs_auth")).hint)
      assert.strictEqual((yield* awaitStatus(supervisor, "babbling", "failed")).errorTag, "IncompatibleServer")
      assert.isTrue((yield* supervisor.catalog).tools.every(({ server }) => server === "healthy"))
      const error = yield* Effect.flip(supervisor.callServerTool("crashing", "echo"))
      assert.strictEqual(error._tag, "ServerUnavailable")
      const { pid } = yield* awaitSnapshot(supervisor, "healthy", ({ pid }) => pid !== undefined)
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.deepStrictEqual([...processesWith(mark), ...groupOf(pid!)], [])
      assert.isBelow(Duration.toMillis(took), 12_000)
      assert.strictEqual((yield* Effect.flip(supervisor.callTool("healthy_echo")))._tag, "SupervisorClosed")
    })
  )

  live(
    "is an error for callers that wait for it as required, and for no others",
    Effect.gen(function* () {
      const supervisor = yield* supervise({
        servers: {
          good: faultyServer(),
          wanted: { ...faultyServer("exit-at-start"), required: true, restart: { maxRestarts: 0 } }
        }
      })
      const error = yield* Effect.flip(supervisor.awaitSettled())
      assert.deepStrictEqual(
        error.servers.map(({ server }) => server),
        ["wanted"]
      )
      assert.strictEqual((yield* supervisor.connect("good")).status, "connected")
      yield* supervisor.callTool("good_pid")
    })
  )

  live(
    "closes within one budget, also if servers ignore everything",
    Effect.gen(function* () {
      const mark = `budget-${randomUUID()}`
      const scope = yield* Scope.make()
      const stubborn = faultyServer("ignore-eof", "ignore-term", mark)
      yield* superviseSettled({ a: stubborn, b: stubborn, c: stubborn, d: faultyServer(mark) }).pipe(
        Scope.extend(scope)
      )
      assert.lengthOf(processesWith(mark), 4)
      const [took] = yield* Effect.timed(Scope.close(scope, Exit.void))
      assert.deepStrictEqual(processesWith(mark), [])
      assert.isBelow(Duration.toMillis(took), 12_000)
    })
  )
})
