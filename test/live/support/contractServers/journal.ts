import { Effect } from "effect"

/** What happened so far, and a way to wait for what happens next. */
export interface Journal<A> {
  readonly add: (entry: A) => void
  readonly entries: () => ReadonlyArray<A>
  /** The first entry of this kind, now or within ten seconds. */
  readonly find: (isIt: (entry: A) => boolean) => Effect.Effect<A>
}

export const makeJournal = <A>(name: string): Journal<A> => {
  const entries: Array<A> = []
  const waiting = new Set<() => void>()
  return {
    add: (entry) => {
      entries.push(entry)
      for (const look of waiting) look()
    },
    entries: () => entries,
    find: (isIt) =>
      Effect.async<A>((resume) => {
        const look = () => {
          const found = entries.find(isIt)
          if (found === undefined) return
          waiting.delete(look)
          resume(Effect.succeed(found))
        }
        waiting.add(look)
        look()
        return Effect.sync(() => waiting.delete(look))
      }).pipe(
        Effect.timeoutFail({
          duration: "50 seconds",
          onTimeout: () => new Error(`not in ${name}, which has ${JSON.stringify(entries)}`)
        }),
        Effect.orDie
      )
  }
}

/** What a server tells about itself, by way of `tell.mjs` and its tools. */
export interface Told {
  readonly event: string
  readonly method?: string
  readonly id?: number | string
  readonly params?: Readonly<Record<string, unknown>>
  readonly port?: number
  readonly pid?: number
}

const mark = "@journal "

export const toldIn = (line: string): Told | undefined =>
  line.startsWith(mark) ? JSON.parse(line.slice(mark.length)) : undefined

export const received =
  (method: string) =>
  (told: Told): boolean =>
    told.event === "received" && told.method === method
