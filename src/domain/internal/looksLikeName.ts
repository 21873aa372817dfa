/**
 * Distinguishes names chosen by people from generated tokens: a token pasted in place of a name must not be shown.
 */

/** The prefixes of tokens of well-known services. */
const tokenPrefix =
  /^(?:gh[a-z]_|github_pat_|gl[a-z]+-|sk[-_]|[pr]k_|xox[a-z]-|xapp-|eyJ|AKIA|ASIA|AIza|ya29|hf_[A-Za-z]{20}|whsec_|shpat_|lin_api_|ntn_)/

/** Whether a step of a path is an index, or a key that is safe to show. */
export const looksLikeName = (step: string | number | undefined): boolean =>
  typeof step !== "string" || (/^[\w.$*-]{1,64}$/.test(step) && isMadeOfWords(step))

/** A date, as in a version. */
const date = /(?<![A-Za-z\d])20[23]\d([-.])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?![A-Za-z\d])/

/**
 * Whether all parts of a text are words as people write them: pronounceable, with digits only at the end. One part may be
 * irregular, and there are at most four digits in all: a generated key often consists of groups, each of which could be a word.
 */
export const isMadeOfWords = (text: string): boolean => {
  const undated = text.replace(date, "")
  const parts = undated.split(/[^A-Za-z\d]/)
  const digits = undated.replace(/\D/g, "").length
  return !tokenPrefix.test(text) && digits <= 4 && parts.every(isWord) && parts.filter(isIrregular).length <= 1
}

/** Whether a part mixes letters and digits, such as "k8s", "i18n", "x64" or "h264". */
const isIrregular = (part: string): boolean => /\d[A-Za-z]/.test(part) || /^(?!v)[A-Za-z]{1,2}\d{2,}/i.test(part)

const isWord = (part: string): boolean => {
  const letters = part.replace(/\d+$/, "")
  if (/\d/.test(letters)) return part.length <= 4
  if (letters.length > 24) return false
  const words = letters.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  const single = words.filter((word) => word.length === 1).length
  return words.length <= 5 && (single < 2 || letters.length <= 4) && !/[bcdfghjklmnpqrstvwxz]{7}/i.test(letters)
}
