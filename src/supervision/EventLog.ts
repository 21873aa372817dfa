/**
 * The log of all events that the supervisor publishes, in one order for all readers.
 */
import type * as Clock from "effect/Clock"
import type * as Stream from "effect/Stream"
import type { ServerEvent } from "../domain/server/ServerEvent.js"
import * as ReplayLog from "../system/stream/ReplayLog.js"

type Unnumbered<Event> = Event extends unknown ? Omit<Event, "seq" | "at"> : never

export type News = Unnumbered<Exclude<ServerEvent, { readonly type: "Skipped" }>>

export interface EventLog {
  readonly publish: (news: News) => void
  /** Events published from now on. */
  readonly live: Stream.Stream<ServerEvent>
  /** Events from this number on, as far back as the log goes. */
  readonly from: (seq: number) => Stream.Stream<ServerEvent>
  readonly end: () => void
}

/** Number of events in the log. Beyond that, the oldest is dropped. */
const capacity = 10_000

/** Characters of all events in the log: an event with a long list or a long name can be large. */
const maxCharacters = 16 * 1024 * 1024

export const make = (clock: Clock.Clock): EventLog => {
  const ring = ReplayLog.make<ServerEvent>({
    capacity,
    room: { total: maxCharacters, of: (event) => charactersOf(event) },
    missed: (from, to) => ({ seq: to, at: clock.unsafeCurrentTimeMillis(), type: "Skipped", from, to })
  })
  return {
    publish: (news) => ring.push({ seq: ring.next(), at: clock.unsafeCurrentTimeMillis(), ...news } as ServerEvent),
    live: ring.from(ring.next),
    from: (seq) => ring.from(() => seq),
    end: ring.end
  }
}

/** Estimate for everything in a value except its texts. */
const overhead = 16

/** No event is nested deeper. */
const maxDepth = 20

/** The approximate length of an event as JSON. */
const charactersOf = (value: unknown, depth = 0): number => {
  if (typeof value === "string") return overhead + value.length
  if (typeof value !== "object" || value === null || depth > maxDepth) return overhead
  let sum = overhead
  if (Array.isArray(value)) for (const each of value) sum += charactersOf(each, depth + 1)
  else for (const key in value) sum += charactersOf((value as Readonly<Record<string, unknown>>)[key], depth + 1)
  return sum
}
