/**
 * Hides secrets in all texts of a value.
 */
/** Deeper values are omitted, so that the recursion never overflows the stack. */
const maxDepth = 50

/** Replaces values that are omitted. */
const omitted = "…"

/** Characters that are counted for each value in addition to its texts. */
const overhead = 4

/** The number of characters that the copy can still have. */
export interface Room {
  left: number
}

/** Returns a copy with the secrets hidden in all texts and keys. Values above the room are omitted. */
export const scrubDeep = (value: unknown, scrub: (text: string) => string, room?: Room): unknown =>
  scrubBelow(value, scrub, room ?? { left: Number.POSITIVE_INFINITY }, 0)

const scrubBelow = (value: unknown, scrub: (text: string) => string, room: Room, depth: number): unknown => {
  room.left -= overhead
  if (typeof value === "string") return scrubText(value, scrub, room)
  if (typeof value !== "object" || value === null) return value
  if (depth === maxDepth) return omitted
  if (Array.isArray(value)) {
    const copy: Array<unknown> = []
    for (const each of value) {
      if (room.left <= 0) return [...copy, omitted]
      copy.push(scrubBelow(each, scrub, room, depth + 1))
    }
    return copy
  }
  const entries: Array<readonly [string, unknown]> = []
  // `Object.entries` would allocate a list as large as the value
  for (const key in value) {
    if (room.left <= 0) {
      entries.push([omitted, omitted])
      break
    }
    const each: unknown = (value as Readonly<Record<string, unknown>>)[key]
    entries.push([scrubText(key, scrub, room), scrubBelow(each, scrub, room, depth + 1)])
  }
  return Object.fromEntries(entries)
}

const scrubText = (text: string, scrub: (text: string) => string, room: Room): string => {
  const scrubbed = scrub(text)
  room.left -= scrubbed.length
  return scrubbed
}
