/**
 * How often a schema took too long, by its content: a server that lists the same schema again does not start from zero.
 */
import { createHash } from "node:crypto"

export interface Strikes {
  readonly of: (text: string) => number
  readonly add: (text: string) => void
}

/** Schemas that are remembered. Beyond that the oldest is forgotten. */
const maxRemembered = 1_000

export const makeStrikes = (): Strikes => {
  const counts = new Map<string, number>()
  const keyOf = (text: string) => createHash("sha256").update(text).digest("base64")
  return {
    // no text is hashed as long as no schema is slow
    of: (text) => (counts.size === 0 ? 0 : (counts.get(keyOf(text)) ?? 0)),
    add: (text) => {
      const key = keyOf(text)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (counts.size > maxRemembered) counts.delete(counts.keys().next().value!)
    }
  }
}
