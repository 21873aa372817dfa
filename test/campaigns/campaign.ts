/** A campaign attacks a supervisor with random actions that depend on a seed, and reports which guarantees did not hold. */

export type Size = "small" | "large"

export interface Random {
  /** At least 0 and less than 1. */
  readonly next: () => number
  /** An integer from `low` to `high`, both inclusive. */
  readonly between: (low: number, high: number) => number
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  readonly chance: (probability: number) => boolean
  readonly shuffle: <A>(items: ReadonlyArray<A>) => ReadonlyArray<A>
}

export interface Context {
  readonly random: Random
  readonly size: Size
  /** The duration of a campaign that can run for any time. */
  readonly seconds: number
  /** Whether the given time is over: a campaign of rounds starts no further round. */
  readonly isOver: () => boolean
  /** Logs one line for people about the current action. */
  readonly log: (line: string) => void
}

export interface Outcome {
  /** The counts and measurements, in the order of the table. */
  readonly figures: Readonly<Record<string, number | string>>
  /** Sentences. Empty if the guarantee held. */
  readonly violations: ReadonlyArray<string>
}

export interface Campaign {
  readonly name: string
  /** The guarantee, as one sentence. */
  readonly guarantee: string
  readonly run: (context: Context) => Promise<Outcome>
}

/** Mulberry32: small, fast, and equal on every machine. */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)]!,
    chance: (probability) => next() < probability,
    shuffle: (items) =>
      items
        .map((item) => ({ item, rank: next() }))
        .toSorted((a, b) => a.rank - b.rank)
        .map(({ item }) => item)
  }
}

/** The seed of one campaign, which does not depend on the other campaigns of the run. */
export const seedOf = (seed: number, name: string): number => {
  let hash = seed >>> 0
  for (const letter of name) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0
  return hash
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** The result of a promise, or undefined if it takes longer. */
export const within = <A>(ms: number, promise: Promise<A>): Promise<A | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Each sentence once, with the number of its occurrences. */
export const counted = (sentences: ReadonlyArray<string>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const sentence of sentences) counts.set(sentence, (counts.get(sentence) ?? 0) + 1)
  return [...counts].map(([sentence, count]) => (count === 1 ? sentence : `${sentence} (${count} times)`))
}
