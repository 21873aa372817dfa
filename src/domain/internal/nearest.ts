import leven from "leven"

/** Spellings that differ in case and separators only are the same word to the person who wrote it. */
const fold = (word: string): string => word.toLowerCase().replace(/[^a-z0-9]/g, "")

/** Longer words get no hint and are none: comparing two words takes as long as the product of their lengths. */
const maxLength = 128

/** Comparing two characters is one step, of 2 ns or so. */
const maxSteps = 5_000_000

/** Steps to look at a candidate, and for each of its characters. */
const stepsOfLook = 20
const stepsOfCharacter = 4

/** What is left of the work that a search may take. Several searches may share it. */
export interface Work {
  left: number
}

/** The work for one answer, however many hints it gives. */
export const makeWork = (): Work => ({ left: maxSteps })

/**
 * The known word that was most likely meant. Nothing where none is close: a far-fetched guess is worse than none. The known
 * words may come from a server: those beyond the work are not looked at.
 */
export const nearest = (word: string, known: Iterable<string>, work: Work = makeWork()): string | undefined => {
  if (word.length > maxLength) return undefined
  const folded = fold(word)
  const maxDistance = Math.max(1, Math.floor(folded.length / 3))
  let best: string | undefined
  let bestDistance = maxDistance + 1
  for (const candidate of known) {
    work.left -= stepsOfLook
    if (work.left < 0) break
    if (candidate.length > maxLength) continue
    const other = fold(candidate)
    work.left -= stepsOfCharacter * candidate.length
    if (Math.abs(other.length - folded.length) >= bestDistance) continue
    work.left -= folded.length * other.length
    const distance = leven(folded, other, { maxDistance: bestDistance })
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}
