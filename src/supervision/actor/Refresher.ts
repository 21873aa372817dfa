/**
 * Fetches a list again when it has changed. However often it changes meanwhile, that is one more time afterwards; and a server
 * that changes it all the time is asked more and more seldom.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import { type FetchedList, fetchList, missing } from "./fetchLists.js"
import * as Link from "./Link.js"

export interface Refresher {
  readonly refresh: (kind: Protocol.ListKind) => Effect.Effect<void>
}

/** The pause after a list was fetched, before it is fetched again; it doubles as long as there is always a reason to. */
const firstPause = Duration.millis(250)
const longestPause = Duration.seconds(30)

export const make = (
  link: Link.Link,
  /** Told after each time. */
  onFound: (found: FetchedList) => void
): Refresher => {
  const wanted = new Set<Protocol.ListKind>()
  const running = new Set<Protocol.ListKind>()

  const fetch = (kind: Protocol.ListKind): Effect.Effect<void> =>
    Effect.suspend(() => {
      wanted.delete(kind)
      link.fetching += 1
      return fetchList(link.session, kind)
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          link.fetching -= 1
        })
      ),
      Effect.match({
        onSuccess: (found) => {
          link.heardAt = link.now()
          Link.learn(link, found)
          onFound(found)
        },
        onFailure: (error) => {
          const found = missing(kind, error.message)
          Link.learn(link, found)
          onFound(found)
          // as long as the connection lasts: with its end this ends, and the next one begins with all lists
          wanted.add(kind)
        }
      })
    )

  const run = (kind: Protocol.ListKind, pause: Duration.Duration): Effect.Effect<void> =>
    fetch(kind).pipe(
      Effect.zipRight(Effect.sleep(pause)),
      Effect.flatMap(() =>
        wanted.has(kind) ? run(kind, Duration.min(longestPause, Duration.times(pause, 2))) : Effect.void
      )
    )

  return {
    refresh: (kind) =>
      Effect.suspend(() => {
        wanted.add(kind)
        if (running.has(kind)) return Effect.void
        running.add(kind)
        const done = Effect.sync(() => running.delete(kind))
        return Link.work(link, Effect.ensuring(run(kind, firstPause), done))
      })
  }
}
