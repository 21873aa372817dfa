/**
 * The bytes that all lists of one session may have together, over all their pages. A list counts with what its last complete
 * walk had, or with what the walk that goes on has so far.
 */
export interface ListBudget {
  /** Begins to walk through a list. */
  readonly begin: (list: string) => Walk
}

export interface Walk {
  /** Counts a page. Whether all lists are still within the limit. */
  readonly add: (bytes: number) => boolean
  /** The walk is over. One that did not get to its end leaves the list as it was. */
  readonly end: (isComplete: boolean) => void
}

interface Counted {
  readonly list: string
  bytes: number
}

export const make = (limit: number): ListBudget => {
  const complete = new Map<string, number>()
  const walks = new Set<Counted>()

  const total = () => {
    let bytes = 0
    const walked = new Set<string>()
    for (const walk of walks) {
      bytes += walk.bytes
      walked.add(walk.list)
    }
    for (const [list, size] of complete) if (!walked.has(list)) bytes += size
    return bytes
  }

  return {
    begin: (list) => {
      const walk: Counted = { list, bytes: 0 }
      walks.add(walk)
      return {
        add: (bytes) => {
          walk.bytes += bytes
          return total() <= limit
        },
        end: (isComplete) => {
          if (walks.delete(walk) && isComplete) complete.set(list, walk.bytes)
        }
      }
    }
  }
}
