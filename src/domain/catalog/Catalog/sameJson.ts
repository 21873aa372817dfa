/**
 * Compares two values as JSON.
 */
/** Deeper values count as different, which limits the recursion. */
const maxDepth = 500

/**
 * Whether two values are equal as JSON, ignoring the order of keys. In doubt they count as different: this only causes extra work,
 * while the opposite would keep outdated entries.
 */
export const sameJson = (a: unknown, b: unknown): boolean => same(a, b, 0)

const same = (a: unknown, b: unknown, depth: number): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || depth >= maxDepth) return false
  if (Array.isArray(a)) return Array.isArray(b) && sameItems(a, b, depth + 1)
  return isPlain(a) && isPlain(b) && sameEntries(a, b, depth + 1)
}

/** The keys of other objects do not describe their content. */
const isPlain = (value: object): value is Readonly<Record<string, unknown>> => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const sameItems = (a: ReadonlyArray<unknown>, b: ReadonlyArray<unknown>, depth: number): boolean =>
  a.length === b.length && a.every((item, index) => same(item, b[index], depth))

const sameEntries = (
  a: Readonly<Record<string, unknown>>,
  b: Readonly<Record<string, unknown>>,
  depth: number
): boolean => {
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key], depth))
  )
}
