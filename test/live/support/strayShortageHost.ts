/**
 * A program that ends a server while it has no free file descriptor. Arguments: the mark of the server's processes, and its command.
 * It says `open` when the server runs, `closed` when it has ended the connection, and has descriptors again from then on. It
 * begins when it is told a line.
 */
import { closeSync, openSync } from "node:fs"
import { Effect, Logger } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { connect } from "./session.js"

const [, , value = "", ...command] = process.argv

/** Takes all descriptors that are left. */
const takeAll = (): ReadonlyArray<number> => {
  const taken: Array<number> = []
  try {
    while (true) taken.push(openSync("/dev/null", "r"))
  } catch {
    return taken
  }
}

const say = (word: string) => Effect.sync(() => process.stdout.write(`${word}\n`))
const told = Effect.async<void>((resume) => void process.stdin.once("data", () => resume(Effect.void)))

const program = Effect.gen(function* () {
  const taken = yield* Effect.gen(function* () {
    yield* connect({ command, environment: { TEST_MARK: value } })
    yield* say("open")
    yield* told
    return takeAll()
  }).pipe(Effect.scoped)
  yield* say("closed")
  for (const descriptor of taken) closeSync(descriptor)
  return yield* Effect.never
}).pipe(Effect.provide(Connector.layer()), Effect.provide(Logger.remove(Logger.defaultLogger)))

void Effect.runPromise(program)
