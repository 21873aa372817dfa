import leven from "leven"

/** Spellings that differ in case and separators only are the same word to the person who wrote it. */
const fold = (word: string): string => word.toLowerCase().replace(/[^a-z0-9]/g, "")

/**
 * The known word that somebody most likely meant. Nothing where none is close: a far-fetched guess is worse than none.
 */
export const nearest = (word: string, known: Iterable<string>): string | undefined => {
  const folded = fold(word)
  const maxDistance = Math.max(1, Math.floor(folded.length / 3))
  let best: string | undefined
  let bestDistance = maxDistance + 1
  for (const candidate of known) {
    const distance = leven(folded, fold(candidate), { maxDistance: bestDistance })
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}
