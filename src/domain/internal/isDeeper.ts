/**
 * Everything that a server sends may be nested this deep. Deeper values are rejected where they enter: later, encoding them
 * as JSON could exceed the stack.
 */
export const maxDepth = 500

/**
 * Whether objects and arrays are nested in more than `levels` levels. Total: neither a deep value nor one that refers to
 * itself makes it fail or run without end.
 */
export const isDeeper = (value: unknown, levels: number): boolean => {
  if (!isNested(value)) return false
  if (levels > maxRecursion) return exceedsByLevel(value, levels)
  const visits: Visits = { left: maxVisits }
  const found = exceeds(value, levels, visits)
  // the visits ran out: the value is very large, or refers to itself
  return visits.left < 0 ? exceedsByLevel(value, levels) : found
}

/** Levels that the stack certainly has room for. */
const maxRecursion = 1_000

/** Visiting this many values takes some milliseconds. */
const maxVisits = 1_000_000

interface Visits {
  left: number
}

/** Goes down step by step. True as well when the visits have run out. */
const exceeds = (value: object, levels: number, visits: Visits): boolean => {
  visits.left -= 1
  if (levels === 0 || visits.left < 0) return true
  if (Array.isArray(value)) return value.some((inner) => isNested(inner) && exceeds(inner, levels - 1, visits))
  // several times as fast as a list of all values
  for (const key in value) {
    const inner: unknown = (value as Readonly<Record<string, unknown>>)[key]
    if (isNested(inner) && exceeds(inner, levels - 1, visits)) return true
  }
  return false
}

/** Visits each object once per level, so that the time is bounded also where objects refer to each other. */
const exceedsByLevel = (value: object, levels: number): boolean => {
  let level = new Set([value])
  for (let depth = 0; depth < levels && level.size > 0; depth++) {
    const below = new Set<object>()
    for (const each of level) for (const inner of Object.values(each)) if (isNested(inner)) below.add(inner)
    level = below
  }
  return level.size > 0
}

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null
