/**
 * Counts how often a schema timed out, by content, so that listing the same schema again does not reset it.
 */
import { createHash } from "node:crypto"

export interface Strikes {
  readonly of: (text: string) => number
  readonly add: (text: string) => void
}

/** Number of schemas in the map. Beyond that, the oldest is dropped. */
const maxRemembered = 1_000

export const makeStrikes = (): Strikes => {
  const counts = new Map<string, number>()
  const keyOf = (text: string) => createHash("sha256").update(text).digest("base64")
  return {
    // Nothing is hashed as long as no schema has timed out.
    of: (text) => (counts.size === 0 ? 0 : (counts.get(keyOf(text)) ?? 0)),
    add: (text) => {
      const key = keyOf(text)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      if (counts.size > maxRemembered) counts.delete(counts.keys().next().value!)
    }
  }
}
