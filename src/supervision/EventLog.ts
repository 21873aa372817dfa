/**
 * Everything the supervisor publishes, in one order for all readers.
 */
import type * as Clock from "effect/Clock"
import type * as Stream from "effect/Stream"
import type { ServerEvent } from "../domain/ServerEvent.js"
import * as Ring from "./Ring.js"

type Unnumbered<Event> = Event extends unknown ? Omit<Event, "seq" | "at"> : never

export type News = Unnumbered<Exclude<ServerEvent, { readonly type: "Skipped" }>>

export interface EventLog {
  readonly publish: (news: News) => void
  /** From now on. */
  readonly live: Stream.Stream<ServerEvent>
  /** From this number on, as far back as events are kept. */
  readonly from: (seq: number) => Stream.Stream<ServerEvent>
  readonly end: () => void
}

/** How many events are kept. */
const capacity = 10_000

export const make = (clock: Clock.Clock): EventLog => {
  const ring = Ring.make<ServerEvent>({
    capacity,
    missed: (from, to) => ({ seq: to, at: clock.unsafeCurrentTimeMillis(), type: "Skipped", from, to })
  })
  return {
    publish: (news) => ring.push({ seq: ring.next(), at: clock.unsafeCurrentTimeMillis(), ...news } as ServerEvent),
    live: ring.from(ring.next),
    from: (seq) => ring.from(() => seq),
    end: ring.end
  }
}
