/**
 * Limits how deep values are nested.
 */

/**
 * The greatest depth of values from servers. Deeper values are rejected where they enter: later, encoding them as JSON could
 * overflow the stack.
 */
export const maxDepth = 500

/**
 * Whether objects and arrays are nested deeper than `levels`. Neither a deep value nor a circular one makes it throw or run
 * without end.
 */
export const isDeeper = (value: unknown, levels: number): boolean => {
  if (!isNested(value)) return false
  if (levels > maxRecursion) return exceedsByLevel(value, levels)
  const visits: Visits = { left: maxVisits }
  const found = exceeds(value, levels, visits)
  // no visits left: the value is very large or circular
  return visits.left < 0 ? exceedsByLevel(value, levels) : found
}

/** Recursion to this depth never overflows the stack. */
const maxRecursion = 1_000

/** Visiting this many values takes some milliseconds. */
const maxVisits = 1_000_000

interface Visits {
  left: number
}

/** Checks the depth recursively. Also true if no visits are left. */
const exceeds = (value: object, levels: number, visits: Visits): boolean => {
  visits.left -= 1
  if (levels === 0 || visits.left < 0) return true
  if (Array.isArray(value)) return value.some((inner) => isNested(inner) && exceeds(inner, levels - 1, visits))
  // several times as fast as `Object.values`
  for (const key in value) {
    const inner: unknown = (value as Readonly<Record<string, unknown>>)[key]
    if (isNested(inner) && exceeds(inner, levels - 1, visits)) return true
  }
  return false
}

/**
 * Checks the depth level by level. It visits each object once per level, so that the time is bounded for circular values, too.
 */
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
