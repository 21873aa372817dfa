/** Deeper than this nothing is shown, and no stack reaches. */
const maxDepth = 50

/** What stands for values that are left out. */
const leftOut = "…"

/** Characters that a value takes besides its texts. */
const overhead = 4

/** What is left of the characters that a copy may have. */
export interface Room {
  left: number
}

/** Hides secrets in all texts of a value, also in its keys. Values for which there is no more room are left out. */
export const scrubDeep = (value: unknown, scrub: (text: string) => string, room?: Room): unknown =>
  scrubBelow(value, scrub, room ?? { left: Number.POSITIVE_INFINITY }, 0)

const scrubBelow = (value: unknown, scrub: (text: string) => string, room: Room, depth: number): unknown => {
  room.left -= overhead
  if (typeof value === "string") return scrubText(value, scrub, room)
  if (typeof value !== "object" || value === null) return value
  if (depth === maxDepth) return leftOut
  if (Array.isArray(value)) {
    const copy: Array<unknown> = []
    for (const each of value) {
      if (room.left <= 0) return [...copy, leftOut]
      copy.push(scrubBelow(each, scrub, room, depth + 1))
    }
    return copy
  }
  const entries: Array<readonly [string, unknown]> = []
  // a list of all entries may be as large as the value
  for (const key in value) {
    if (room.left <= 0) {
      entries.push([leftOut, leftOut])
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
