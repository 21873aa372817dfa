/**
 * What all lists of one session may weigh together, over all their pages. A list counts with what its last complete walk had,
 * or with what the walks that go on have so far. Its last complete walk is kept until the next one is complete, and does not
 * count meanwhile: a list that may be fetched once may be fetched again. So twice the limit is in memory at most.
 */
export interface ListBudget {
  /** Begins to walk through a list. */
  readonly begin: (list: string) => Walk
}

export interface Walk {
  /** Counts a page. Whether all lists are still within the limit. */
  readonly add: (weight: number) => boolean
  /** The walk is over. One that did not get to its end leaves the list as it was. */
  readonly end: (isComplete: boolean) => void
}

interface List {
  /** Of the last complete walk. */
  weight: number
  walks: number
}

export const make = (limit: number): ListBudget => {
  const lists = new Map<string, List>()
  let total = 0

  const listOf = (name: string): List => {
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
