/**
 * Stores a random key in a file of the state directory, and hashes texts with it.
 */
import { createHmac, randomBytes } from "node:crypto"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { timeoutWhileRunning } from "../budget.js"
import * as StateFile from "./stateFile.js"
import { create } from "./wholeFile.js"

const KeyContent = Schema.Struct({
  version: Schema.Literal(StateFile.version),
  key: Schema.String.pipe(Schema.pattern(/^[\da-f]{64}$/))
})

const isKeyContent = Schema.is(KeyContent)

const maxBytes = 1024

/** How long reading may take. */
const budget = "5 seconds"

/** Why a key file has no key. */
export type MissingKey = Exclude<StateFile.Found["_tag"], "Found">

/** Reads the key. */
export const read = (path: string): Effect.Effect<string, MissingKey> =>
  Effect.flatMap(timeoutWhileRunning(budget)(StateFile.read(path, maxBytes)), (found) => {
    if (Option.isNone(found)) return Effect.fail("Unreadable" as const)
    if (found.value._tag !== "Found") return Effect.fail(found.value._tag)
    const { content } = found.value
    return isKeyContent(content) ? Effect.succeed(content.key) : Effect.fail("Corrupt" as const)
  })

/**
 * Reads the key, or creates it if the file does not exist. Processes that create it at the same time get the same key. Fails
 * with the reason why there is no key, or with the system's error code.
 */
export const readOrCreate = (path: string): Effect.Effect<string, string> =>
  Effect.catchIf(
    read(path),
    (reason) => reason === "Absent",
    () => {
      const content: typeof KeyContent.Type = { version: StateFile.version, key: randomBytes(32).toString("hex") }
      // What was hashed with the key is worthless if a crash loses the key.
      return Effect.zipRight(create(path, JSON.stringify(content), { durable: true }), read(path))
    }
  )

/** A keyed hash of a text: without the key, short texts cannot be guessed from it. */
export const hash = (key: string, text: string): string =>
  createHmac("sha256", Buffer.from(key, "hex")).update(text).digest("hex")
