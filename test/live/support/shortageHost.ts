/**
 * A program whose supervisor runs out of file descriptors while a server is to be started. Arguments: the command of the server.
 * It prints how the server is during the shortage and after it, one JSON per line.
 */
import { closeSync, openSync } from "node:fs"
import { Effect, Layer, Logger } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"

const [, , ...command] = process.argv

/** Takes all descriptors that are left. */
const takeAll = (): ReadonlyArray<number> => {
  const taken: Array<number> = []
  try {
    while (true) taken.push(openSync("/dev/null", "r"))
  } catch {
    return taken
  }
}

const say = (words: unknown) => process.stdout.write(`${JSON.stringify(words)}\n`)

const program = Effect.gen(function* () {
  const supervisor = yield* McpSupervisor.McpSupervisor
  const taken = takeAll()
  yield* supervisor.add("it", { command, restart: { maxRestarts: 0 } })
  yield* supervisor.awaitSettled()
  const short = yield* supervisor.server("it")
  say(short)
  for (const descriptor of taken) closeSync(descriptor)
  yield* Effect.iterate(short, {
    while: ({ status }) => status.status !== "connected",
    body: () => Effect.delay(supervisor.server("it"), "20 millis")
  })
  say(yield* supervisor.server("it"))
}).pipe(
  Effect.provide(Layer.provide(McpSupervisor.layer(), Connector.layer())),
  Effect.provide(Logger.remove(Logger.defaultLogger))
)

void Effect.runPromise(program)
