/** A program that takes a lock and keeps it. Argument: its directory. It says so when it has it. */
import { Effect } from "effect"
import * as FileLock from "../../../src/system/files/FileLock.js"

const lock = await Effect.runPromise(FileLock.make(process.argv[2] ?? ""))
// something to live for
setInterval(() => {}, 1000)
await Effect.runPromise(
  lock.withLock(
    Effect.zipRight(
      Effect.sync(() => process.stdout.write("held\n")),
      Effect.never
    )
  )
)
