/**
 * A program that has a session and nothing else, to be ended from outside. Arguments: how it is to end, and the command of
 * its server.
 */
import { Effect, Fiber } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { connect } from "./session.js"

const [, , how, ...command] = process.argv

const program = Effect.gen(function* () {
  const session = yield* connect({ type: "local", command })
  process.stdout.write(`${session.info.pid}\n`)
  if (how === "exit") process.exit(9)
  if (how === "throw")
    setImmediate(() => {
      throw new Error("the host is broken")
    })
  return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(Connector.layer()))

const fiber = Effect.runFork(program)
process.once("SIGTERM", () => {
  void Effect.runPromise(Fiber.interrupt(fiber)).then(() => process.exit(143))
})
