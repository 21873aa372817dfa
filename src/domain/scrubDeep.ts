/** Deeper than this nobody looks, and no stack reaches. */
const maxDepth = 50

/** Hides secrets in all texts of a value, also in its keys. */
export const scrubDeep = (value: unknown, scrub: (text: string) => string, depth = 0): unknown => {
  if (typeof value === "string") return scrub(value)
  if (typeof value !== "object" || value === null) return value
  if (depth === maxDepth) return "…"
  if (Array.isArray(value)) return value.map((each) => scrubDeep(each, scrub, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [scrub(key), scrubDeep(each, scrub, depth + 1)]))
}
