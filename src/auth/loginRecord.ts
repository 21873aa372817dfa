/**
 * Changes of what is kept of a login. What there is stays, but for what is changed.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ConnectionError } from "../domain/Errors.js"
import type { Credential } from "./Credential.js"
import type { StoreFailed } from "./CredentialStore/port.js"
import { type Engine, storeError } from "./Engine.js"
import type { Subject } from "./Subject.js"

export const load = (engine: Engine, subject: Subject): Effect.Effect<Credential | undefined, ConnectionError> =>
  Effect.mapBoth(engine.store.load(subject), {
    onSuccess: Option.getOrUndefined,
    onFailure: (error) => storeError(subject.server, error)
  })

export const change = (
  engine: Engine,
  subject: Subject,
  to: (before: Credential) => Credential
): Effect.Effect<void, ConnectionError> =>
  edit(engine, subject, to).pipe(
    engine.store.exclusively(subject),
    Effect.mapError((error) => storeError(subject.server, error))
  )

/** Only under the lock. */
export const edit = (
  engine: Engine,
  subject: Subject,
  to: (before: Credential) => Credential
): Effect.Effect<void, StoreFailed> =>
  Effect.gen(function* () {
    const { server, serverUrl } = subject
    const before = Option.getOrElse(yield* engine.store.load(subject), (): Credential => ({ server, serverUrl }))
    const next = to(before)
    if (next === before) return
    // a record that says nothing is none
    const isEmpty = next.tokens === undefined && next.clientInfo === undefined && next.login === undefined
    yield* engine.store.save(subject, isEmpty ? Option.none() : Option.some(next))
  })
