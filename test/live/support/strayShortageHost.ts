/**
 * A program that connects to a server and ends the connection. Arguments: the mark of the server's processes, and its command. It
 * says `open` when the server runs, waits for a line, and says `closed` when it has ended the connection.
 */
import { Effect, Logger } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { connect } from "./session.js"

const [, , value = "", ...command] = process.argv

const say = (word: string) => Effect.sync(() => process.stdout.write(`${word}\n`))
const told = Effect.async<void>((resume) => void process.stdin.once("data", () => resume(Effect.void)))

const program = Effect.gen(function* () {
  yield* Effect.gen(function* () {
    yield* connect({ command, environment: { TEST_MARK: value } })
    yield* say("open")
    yield* told
  }).pipe(Effect.scoped)
  yield* say("closed")
  return yield* Effect.never
}).pipe(Effect.provide(Connector.layer()), Effect.provide(Logger.remove(Logger.defaultLogger)))

void Effect.runPromise(program)
