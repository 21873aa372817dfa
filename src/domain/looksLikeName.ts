/**
 * Tells names that people give from tokens that machines make: a token pasted where a name belongs must not be shown as one.
 */

/** How the tokens of well-known services begin. */
const issued =
  /^(?:gh[a-z]_|github_pat_|gl[a-z]+-|sk[-_]|[pr]k_|xox[a-z]-|xapp-|eyJ|AKIA|ASIA|AIza|ya29|hf_[A-Za-z]{20}|whsec_|shpat_|lin_api_|ntn_)/

/** Whether a step of a path is an index, or a key that may be shown. */
export const looksLikeName = (step: string | number | undefined): boolean =>
  typeof step !== "string" || (/^[\w.$*-]{1,64}$/.test(step) && isMadeOfWords(step))

/** Whether all parts of a text are words as people write them: with a number at the end at most, and pronounceable. */
export const isMadeOfWords = (text: string): boolean =>
  !issued.test(text) && text.split(/[^A-Za-z\d]+/).every((part) => part === "" || isWord(part))

const isWord = (part: string): boolean => {
  const [, letters = "", digits] = /^([A-Za-z]*)(\d*)$/.exec(part) ?? []
  // such as "k8s" and "i18n"
  if (digits === undefined) return part.length <= 4
  if (digits.length > 4 || letters.length > 24) return false
  const words = letters.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  const single = words.filter((word) => word.length === 1).length
  return words.length <= 5 && (single < 2 || letters.length <= 4) && !/[bcdfghjklmnpqrstvwxz]{7}/i.test(letters)
}
