/** Whether objects and lists are nested in more than so many levels. Looked at level by level: no stack is too short for it. */
export const isDeeper = (value: unknown, levels: number): boolean => {
  let level = [value].filter(isNested)
  for (let depth = 0; depth < levels && level.length > 0; depth++) {
    level = level.flatMap((each) => Object.values(each).filter(isNested))
  }
  return level.length > 0
}

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null
