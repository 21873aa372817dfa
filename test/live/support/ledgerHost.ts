/**
 * A program that connects to local servers, has written down that it does, and waits to be killed. Arguments: the state
 * directory, and the commands of its servers as JSON. It says the numbers of their processes as JSON.
 */
import { Effect, Layer, Logger } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import * as FileChildLedger from "../../../src/connection/process/FileChildLedger.js"
import { connect } from "./session.js"

const [, , stateDir = "", commands = "[]"] = process.argv

const program = Effect.gen(function* () {
  const sessions = yield* Effect.forEach(
    JSON.parse(commands) as ReadonlyArray<ReadonlyArray<string>>,
    (command) => connect({ type: "local", command }),
    { concurrency: "unbounded" }
  )
  process.stdout.write(`${JSON.stringify(sessions.map(({ info }) => info.pid))}\n`)
  return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(Layer.provide(Connector.layer(), FileChildLedger.layer(stateDir))))

// nothing but the numbers may come out of it
Effect.runFork(program.pipe(Effect.provide(Logger.remove(Logger.defaultLogger))))
