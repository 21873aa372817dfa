/** A campaign attacks a supervisor with chance that a seed decides, and says which of its guarantees did not hold. */

export type Size = "small" | "large"

export interface Random {
  /** At least 0, less than 1. */
  readonly next: () => number
  /** A whole number from `low` to `high`, both included. */
  readonly between: (low: number, high: number) => number
  readonly pick: <A>(items: ReadonlyArray<A>) => A
  readonly chance: (probability: number) => boolean
  readonly shuffle: <A>(items: ReadonlyArray<A>) => ReadonlyArray<A>
}

export interface Context {
  readonly random: Random
  readonly size: Size
  /** How long a campaign that can go on for any time goes on. */
  readonly seconds: number
  /** Whether the time that was given is over: a campaign of rounds begins no further one. */
  readonly isOver: () => boolean
  /** One line for people about what is being done. */
  readonly log: (line: string) => void
}

export interface Outcome {
  /** What was counted and measured, in the order of the table. */
  readonly figures: Readonly<Record<string, number | string>>
  /** Each is a sentence. None means that the guarantee held. */
  readonly violations: ReadonlyArray<string>
}

export interface Campaign {
  readonly name: string
  /** What has to hold, as one sentence. */
  readonly guarantee: string
  readonly run: (context: Context) => Promise<Outcome>
}

/** Mulberry32: small, fast, and the same everywhere. */
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

/** The seed of one campaign: adding or leaving out others does not change it. */
export const seedOf = (seed: number, name: string): number => {
  let hash = seed >>> 0
  for (const letter of name) hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193) >>> 0
  return hash
}

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** What a promise gives, or nothing if that takes longer. */
export const within = <A>(ms: number, promise: Promise<A>): Promise<A | undefined> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The same sentence once, with how often it was said. */
export const counted = (sentences: ReadonlyArray<string>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  for (const sentence of sentences) counts.set(sentence, (counts.get(sentence) ?? 0) + 1)
  return [...counts].map(([sentence, count]) => (count === 1 ? sentence : `${sentence} (${count} times)`))
}
