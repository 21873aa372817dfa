import { readdirSync } from "node:fs"
import { assert, describe } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import * as Raw from "../support/rawHttp.js"
import { eventually } from "../support/session.js"
import { freePort, live, serveAt, shellServer, supervise, withTools } from "../support/supervised.js"

/** A server over HTTP with counted sessions and a stream for notifications. */
const counted = Effect.gen(function* () {
  const sessions = new Set<string>()
  let opened = 0
  const { url } = yield* serveAt(
    0,
    withTools(["it"], (received, response) => {
      if (received.method === "DELETE") sessions.delete(String(received.headers["mcp-session-id"]))
      if (received.method === "GET") {
        Raw.stream(response).write(": hello\n\n")
        return true
      }
      if (received.message.method !== "initialize") return false
      opened += 1
      sessions.add(`session-${opened}`)
      const greeting = {
        protocolVersion: "2025-11-25",
        capabilities: { tools: {} },
        serverInfo: { name: "raw", version: "1" }
      }
      Raw.json(response, Raw.result(received, greeting), 200, { "mcp-session-id": `session-${opened}` })
      return true
    })
  )
  return { url, sessions, opened: () => opened }
})

const fibers = Effect.gen(function* () {
  let count = 0
  let generation: ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>> = yield* Fiber.roots
  while (generation.length > 0) {
    count += generation.length
    generation = (yield* Effect.forEach(generation, (fiber) => Fiber.children(fiber))).flat()
  }
  return count
})

const listeners = () =>
  process.eventNames().reduce((count, name) => count + process.listenerCount(name as NodeJS.Signals), 0)

const openFiles = () => (process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0)

/** The open resources, except timers, which change all the time. */
const handles = () => process.getActiveResourcesInfo().filter((name) => name !== "Timeout").length

/** The number of sockets that may be kept for the next request. */
const pooled = 8

describe("1,000 connections", () => {
  live(
    "leave no additional handles, listeners, fibers, files or sessions",
    Effect.gen(function* () {
      const remote = yield* counted
      const nobody = `http://127.0.0.1:${yield* freePort}/mcp`
      const servers = {
        local1: { ...shellServer(), enabled: false },
        local2: { ...shellServer(), enabled: false },
        remote1: { url: remote.url, protocol: "legacy", enabled: false },
        remote2: { url: remote.url, protocol: "legacy", enabled: false },
        failing: { url: nobody, enabled: false }
      } as const
      const supervisor = yield* supervise({ servers })
      const cycle = (name: string) =>
        Effect.gen(function* () {
          const { status } = yield* supervisor.connect(name)
          assert.strictEqual(status, name === "failing" ? "failed" : "connected")
          if (status === "connected") yield* supervisor.callServerTool(name, "it")
          yield* supervisor.disconnect(name)
        })
      const cycles = (count: number) =>
        Effect.forEach(Object.keys(servers), (name) => Effect.repeatN(cycle(name), count - 1), {
          concurrency: "unbounded"
        })
      yield* cycles(10)
      yield* eventually(() => remote.sessions.size === 0)
      const before = { fibers: yield* fibers, listeners: listeners(), files: openFiles(), handles: handles() }
      yield* cycles(200)
      assert.strictEqual(remote.opened(), 2 * 210)
      yield* eventually(() => remote.sessions.size === 0)
      // without a timeout, which would have its own fibers
      const soon = Schedule.intersect(Schedule.spaced("10 millis"), Schedule.recurs(1_000))
      yield* Effect.repeat(fibers, { until: (count) => count <= before.fibers, schedule: soon })
      assert.isAtMost(yield* fibers, before.fibers)
      yield* eventually(() => openFiles() <= before.files + pooled && handles() <= before.handles + pooled)
      assert.strictEqual(listeners(), before.listeners)
    }),
    180_000
  )
})
