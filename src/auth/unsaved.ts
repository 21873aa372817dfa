/**
 * Tokens that could not be written when they came.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Key, Service as Store, StoreFailed } from "./CredentialStore/port.js"
import type { Memory } from "./Memory.js"

/** Tries to write them, unless somebody has written something newer. Only under the lock. */
export const save = (store: Store, { server, serverUrl }: Key, memory: Memory): Effect.Effect<void, StoreFailed> =>
  Effect.gen(function* () {
    if (memory.unsaved === undefined) return
    const found = Option.getOrUndefined(yield* store.load({ server, serverUrl }))
    memory.found(found)
    const { unsaved } = memory
    if (unsaved === undefined) return
    const next = { ...memory.credential(), ...found, server, serverUrl, tokens: unsaved.tokens }
    yield* store.save({ server, serverUrl }, Option.some(next))
    if (memory.unsaved === unsaved) memory.unsaved = undefined
  })
