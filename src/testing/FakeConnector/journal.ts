/**
 * Records all events of a fake connector in order, and waits for events.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Session from "../../connection/Session.js"
import type * as Errors from "../../domain/Errors.js"
import type * as Protocol from "../../domain/catalog/Protocol.js"

/**
 * One event.
 *
 * @since 0.1.0
 * @category journal
 */
export type Fact =
  | { readonly type: "opening" }
  | { readonly type: "opened" }
  | { readonly type: "failed"; readonly error: Errors.ConnectionError }
  /** Interrupted, or its scope closed, while it was opening. */
  | { readonly type: "abandoned" }
  | { readonly type: "crashed"; readonly error: Errors.ConnectionError }
  /** Only if closing takes time. */
  | { readonly type: "closing" }
  /** The scope is closed. Every attempt ends with this, even if it never opened. */
  | { readonly type: "closed" }
  | { readonly type: "listed"; readonly list: "tools" | "resources" | "resourceTemplates" | "prompts" }
  | {
      readonly type: "called"
      readonly call: number
      readonly method: string
      readonly name: string
      readonly args: Readonly<Record<string, unknown>>
    }
  /** The outcome is `answered` or the tag of the error. */
  | { readonly type: "settled"; readonly call: number; readonly outcome: string }
  /** The caller was interrupted and notified the server. */
  | { readonly type: "cancelled"; readonly call: number }
  | { readonly type: "subscribed"; readonly uri: string }
  | { readonly type: "unsubscribed"; readonly uri: string }
  | { readonly type: "probed" }
  | { readonly type: "notified"; readonly notification: Session.Notification }
  /** The server sent a request to the client. */
  | { readonly type: "asked"; readonly method: "elicitation/create" | "sampling/createMessage" }
  | { readonly type: "rootsChanged"; readonly roots: ReadonlyArray<Protocol.Root> }

/**
 * An entry of the journal.
 *
 * @since 0.1.0
 * @category journal
 */
export type Entry = Fact & {
  /** Epoch milliseconds of Effect's clock. */
  readonly at: number
  readonly server: string
  /** The number of the attempt for this server, from 1. */
  readonly attempt: number
}

/**
 * Renders an entry as a short text, such as `a#1 called tools/call echo`, to compare whole histories.
 *
 * @since 0.1.0
 * @category journal
 */
export const render = (entry: Entry): string => `${entry.server}#${entry.attempt} ${entry.type}${detail(entry)}`

const detail = (entry: Entry): string => {
  switch (entry.type) {
    case "failed":
    case "crashed":
      return ` ${entry.error._tag}`
    case "listed":
      return ` ${entry.list}`
    case "called":
      return ` ${entry.method} ${entry.name}`.trimEnd()
    case "settled":
      return ` ${entry.outcome}`
    case "subscribed":
    case "unsubscribed":
      return ` ${entry.uri}`
    case "notified":
      return ` ${entry.notification._tag}`
    case "asked":
      return ` ${entry.method}`
    default:
      return ""
  }
}

/** Records an event, at the time of the enclosing change. */
export type Write = (server: string, attempt: number, fact: Fact) => void

export interface Journal {
  /** Makes a change and records its events, as one atomic step. */
  readonly change: <A>(change: (write: Write, now: number) => A) => Effect.Effect<A>
  readonly entries: Effect.Effect<ReadonlyArray<Entry>>
  /** Calls `look` now and after each new entry, until it returns a value. */
  readonly until: <A>(look: () => A | undefined) => Effect.Effect<A>
  /** The first entry that matches, recorded or yet to come. */
  readonly untilEntry: (matches: (entry: Entry) => boolean) => Effect.Effect<Entry>
}

export const makeJournal = (): Journal => {
  const entries: Array<Entry> = []
  const waiting = new Set<() => void>()

  const change: Journal["change"] = (change) =>
    Effect.clockWith((clock) =>
      Effect.sync(() => {
        const now = clock.unsafeCurrentTimeMillis()
        const before = entries.length
        const result = change((server, attempt, fact) => entries.push({ at: now, server, attempt, ...fact }), now)
        if (entries.length > before) for (const look of waiting) look()
        return result
      })
    )

  const until: Journal["until"] = <A>(look: () => A | undefined) =>
    Effect.suspend(() => {
      const found = look()
      if (found !== undefined) return Effect.succeed(found)
      return Effect.flatMap(Deferred.make<A>(), (deferred) => {
        const again = () => {
          const found = look()
          if (found === undefined) return
          waiting.delete(again)
          Deferred.unsafeDone(deferred, Effect.succeed(found))
        }
        waiting.add(again)
        // Once more: another fiber may have run while the deferred was created.
        again()
        return Effect.ensuring(
          Deferred.await(deferred),
          Effect.sync(() => waiting.delete(again))
        )
      })
    })

  return {
    change,
    entries: Effect.sync(() => entries.slice()),
    until,
    untilEntry: (matches) =>
      Effect.suspend(() => {
        let seen = 0
        return until(() => {
          while (seen < entries.length) {
            const entry = entries[seen++]!
            if (matches(entry)) return entry
          }
          return undefined
        })
      })
  }
}
