/** A program that supervises a state directory. Arguments: the state directory, and where it looks for its configuration. */
import { Effect, Layer } from "effect"
import * as Control from "../../../src/Control.js"

const [, , stateDir = "", cwd = ""] = process.argv

await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      yield* Layer.build(Control.layer({ stateDir, cwd, port: 0, watch: false }))
      process.stdout.write("there\n")
      return yield* Effect.never
    })
  )
)
