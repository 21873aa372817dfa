/**
 * Fetches a list again when it has changed. Any number of changes during a fetch cause one more fetch. If a list
 * changes continuously, the pause between fetches grows.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Protocol from "../../domain/catalog/Protocol.js"
import { type FetchedList, fetchList, missingList } from "./fetchLists.js"
import * as Link from "./Link.js"

export interface Refresher {
  readonly refresh: (kind: Protocol.ListKind) => Effect.Effect<void>
}

/** The pause after a fetch. It doubles as long as each fetch is followed by another change or a failure. */
const firstPause = Duration.millis(250)
const longestPause = Duration.seconds(30)

export const make = (
  link: Link.Link,
  /** Called after each fetch, successful or not. */
  onFetched: (list: FetchedList) => void
): Refresher => {
  const requested = new Set<Protocol.ListKind>()
  const running = new Set<Protocol.ListKind>()

  const fetch = (kind: Protocol.ListKind): Effect.Effect<void> =>
    Effect.suspend(() => {
      requested.delete(kind)
      link.fetching += 1
      return fetchList(link.session, kind)
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          link.fetching -= 1
        })
      ),
      Effect.match({
        onSuccess: (list) => {
          link.heardAt = link.now()
          Link.setList(link, list)
          onFetched(list)
        },
        onFailure: (error) => {
          const list = missingList(kind, error.message)
          Link.setList(link, list)
          onFetched(list)
          // Retried until the link closes. The next link starts by fetching all lists.
          requested.add(kind)
        }
      })
    )

  const run = (kind: Protocol.ListKind, pause: Duration.Duration): Effect.Effect<void> =>
    fetch(kind).pipe(
      Effect.zipRight(Effect.sleep(pause)),
      Effect.flatMap(() =>
        requested.has(kind) ? run(kind, Duration.min(longestPause, Duration.times(pause, 2))) : Effect.void
      )
    )

  return {
    refresh: (kind) =>
      Effect.suspend(() => {
        requested.add(kind)
        if (running.has(kind)) return Effect.void
        running.add(kind)
        const unmark = Effect.sync(() => running.delete(kind))
        return Link.forkWork(link, Effect.ensuring(run(kind, firstPause), unmark))
      })
  }
}
