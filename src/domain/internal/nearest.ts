/**
 * Finds the known word that a misspelled word most likely means.
 */
import leven from "leven"

/** Removes case and separators, so that spellings that differ only in these are equal. */
const fold = (word: string): string => word.toLowerCase().replace(/[^a-z0-9]/g, "")

/** Longer words are skipped: comparing two words takes time proportional to the product of their lengths. */
const maxLength = 128

/** The limit of work for one search. A step is the comparison of two characters, about 2 ns. */
const maxSteps = 5_000_000

/** Steps for each candidate, and for each of its characters. */
const stepsPerCandidate = 20
const stepsPerCharacter = 4

/** The steps that remain for a search. Several searches can share them. */
export interface Work {
  left: number
}

/** The steps for one response, however many hints it contains. */
export const makeWork = (): Work => ({ left: maxSteps })

/**
 * Returns the known word that is most similar, or undefined if none is close: a wrong hint is worse than none. The known words
 * can come from a server: when no steps are left, the rest is skipped.
 */
export const nearest = (word: string, known: Iterable<string>, work: Work = makeWork()): string | undefined => {
  if (word.length > maxLength) return undefined
  const folded = fold(word)
  const maxDistance = Math.max(1, Math.floor(folded.length / 3))
  let best: string | undefined
  let bestDistance = maxDistance + 1
  for (const candidate of known) {
    work.left -= stepsPerCandidate
    if (work.left < 0) break
    if (candidate.length > maxLength) continue
    const foldedCandidate = fold(candidate)
    work.left -= stepsPerCharacter * candidate.length
    if (Math.abs(foldedCandidate.length - folded.length) >= bestDistance) continue
    work.left -= folded.length * foldedCandidate.length
    const distance = leven(folded, foldedCandidate, { maxDistance: bestDistance })
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}
