/**
 * Limits the total weight of all lists of one session, over all their pages.
 *
 * A list counts with the weight of its last complete walk or, during walks, with their weight so far. The last complete result
 * stays in memory until the next walk is complete, but does not count during it: a list that could be fetched once can be
 * fetched again. So at most twice the limit is in memory.
 */
export interface ListBudget {
  /** Begins a walk through the pages of a list. */
  readonly begin: (list: string) => Walk
}

export interface Walk {
  /** Counts a page. Returns whether all lists are still within the limit. */
  readonly add: (weight: number) => boolean
  /** Ends the walk. An incomplete walk leaves the weight of the list unchanged. */
  readonly end: (isComplete: boolean) => void
}

interface ListUsage {
  /** The weight of the last complete walk. */
  weight: number
  walks: number
}

export const make = (limit: number): ListBudget => {
  const lists = new Map<string, ListUsage>()
  let total = 0

  const listOf = (name: string): ListUsage => {
    const list = lists.get(name) ?? { weight: 0, walks: 0 }
    lists.set(name, list)
    return list
  }

  return {
    begin: (name) => {
      const list = listOf(name)
      let walked = 0
      let isOver = false
      if (list.walks === 0) total -= list.weight
      list.walks += 1
      return {
        add: (weight) => {
          walked += weight
          total += weight
          return total <= limit
        },
        end: (isComplete) => {
          if (isOver) return
          isOver = true
          total -= walked
          if (isComplete) list.weight = walked
          list.walks -= 1
          if (list.walks === 0) total += list.weight
        }
      }
    }
  }
}
