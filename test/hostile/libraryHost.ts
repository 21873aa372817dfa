/**
 * A program with a supervisor that executes the commands that it reads, one JSON a line. Arguments: the state directory, and a file
 * with the servers. After `close` it must exit by itself: anything that keeps it alive was left by the supervisor.
 */
import { readdirSync, readFileSync } from "node:fs"
import { createInterface } from "node:readline"
import { Context, Effect, Either, Exit, Fiber, Layer, Logger, Schedule, Scope, Stream } from "effect"
import * as McpSupervisor from "../../src/McpSupervisor.js"
import type { Command, Figures } from "./surface.js"

const [, , stateDir = "", file = ""] = process.argv
const servers = JSON.parse(readFileSync(file, "utf8")) as NonNullable<McpSupervisor.Options["servers"]>

let unhandled = 0
process.on("unhandledRejection", () => {
  unhandled += 1
})
let events = 0

const openFiles = () => (process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0)

/** All fibers, including child fibers. */
const countFibers = Effect.gen(function* () {
  let count = 0
  let generation: ReadonlyArray<Fiber.RuntimeFiber<unknown, unknown>> = yield* Fiber.roots
  while (generation.length > 0) {
    count += generation.length
    generation = (yield* Effect.forEach(generation, (fiber) => Fiber.children(fiber))).flat()
  }
  return count
})

const figures = Effect.map(
  countFibers,
  (fibers): Figures => ({
    rss: process.memoryUsage.rss(),
    heap: process.memoryUsage().heapUsed,
    files: openFiles(),
    handles: process.getActiveResourcesInfo().filter((name) => name !== "Timeout" && name !== "Immediate").length,
    fibers,
    events,
    unhandled
  })
)

const soon = Schedule.intersect(Schedule.spaced("20 millis"), Schedule.recurs(100))

const answer = (id: number, result: unknown) => process.stdout.write(`${JSON.stringify({ id, result })}\n`)

const program = Effect.gen(function* () {
  const scope = yield* Scope.make()
  const before = yield* figures
  const context = yield* Layer.buildWithScope(McpSupervisor.layerNode({ stateDir, servers }), scope)
  const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
  yield* Effect.forkDaemon(Stream.runForEach(supervisor.eventsFrom(1), () => Effect.sync(() => void (events += 1))))

  const perform = (command: Command): Effect.Effect<unknown, unknown> => {
    switch (command.do) {
      case "servers":
        return supervisor.servers
      case "tools":
        return Effect.map(supervisor.catalog, ({ tools }) => tools.length)
      case "call": {
        const { server, tool } = command
        return supervisor.callServerTool(server, tool, command.args ?? {}, { waitForReady: 3_000 }).pipe(
          Effect.either,
          Effect.map(
            Either.match({
              onLeft: ({ _tag }) => ({ outcome: _tag }),
              onRight: ({ content }) => ({ outcome: "ok", text: (content[0] as { text?: string } | undefined)?.text })
            })
          )
        )
      }
      case "connect":
      case "disconnect":
      case "restart":
        return supervisor[command.do](command.server) as Effect.Effect<unknown, unknown>
      case "reconcile":
        return supervisor.reconcile({ servers: command.servers as never })
      case "figures":
        return figures
      case "close":
        return Scope.close(scope, Exit.void).pipe(
          // interrupted fibers get a moment to end
          Effect.zipRight(
            Effect.repeat(figures, { until: ({ fibers }) => fibers <= before.fibers + 5, schedule: soon })
          ),
          Effect.zipRight(figures),
          Effect.map((after) => ({ before, after }))
        )
    }
  }

  const reader = createInterface(process.stdin)
  reader.on("line", (line) => {
    const command = JSON.parse(line) as Command & { readonly id: number }
    const done = Effect.runPromise(Effect.catchAllCause(perform(command), (cause) => Effect.succeed(String(cause))))
    void done.then((result) => {
      answer(command.id, result ?? null)
      if (command.do !== "close") return
      reader.close()
      process.stdin.destroy()
    })
  })
  answer(0, "ready")
})

await Effect.runPromise(Effect.provide(program, Logger.remove(Logger.defaultLogger)))
