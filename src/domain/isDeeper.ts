/**
 * Whether objects and lists are nested in more than so many levels. Looked at level by level, each object once in it: no stack
 * is too short for it, and what refers to itself has no end but takes no time.
 */
export const isDeeper = (value: unknown, levels: number): boolean => {
  let level = new Set([value].filter(isNested))
  for (let depth = 0; depth < levels && level.size > 0; depth++) {
    const below = new Set<object>()
    for (const each of level) for (const inner of Object.values(each)) if (isNested(inner)) below.add(inner)
    level = below
  }
  return level.size > 0
}

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null
