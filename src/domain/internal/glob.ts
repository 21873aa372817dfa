/**
 * Matches names with glob patterns. The patterns come from configs, the names from servers: matching stays fast for every name,
 * and a name that looks like a path is matched like any other.
 */
import picomatch from "picomatch"

/** Limits for patterns with braces or brackets, which picomatch matches: within them, its time is bounded. */
const maxRichPattern = 256
const maxRichStars = 4
const maxRichName = 128

/**
 * Compiles a pattern to a predicate on names. `*` is any text, `?` any one character; `{a,b}` and `[a-z]` are alternatives; a
 * backslash takes the next character literally. Slashes, dots and line breaks are ordinary characters. A pattern above the
 * limits matches only itself, literally.
 */
export const glob = (pattern: string): ((name: string) => boolean) =>
  /[[\]{}]/.test(pattern) ? matchRich(pattern) : matchWildcards(pattern)

const matchRich = (pattern: string): ((name: string) => boolean) => {
  const stars = pattern.replace(/\*+/g, "*").split("*").length - 1
  const literally = (name: string) => name === pattern
  if (pattern.length > maxRichPattern || stars > maxRichStars) return literally
  const matches = picomatch(anchored(literalRest(pattern)), { flags: "s", windows: false })
  return (name) => literally(name) || (name.length <= maxRichName && matches(anchored(name)))
}

/** Escapes the other characters that are special to picomatch, unless there is a backslash before them. */
const literalRest = (pattern: string): string =>
  pattern.replace(/(\\.)|[()+|"]/gs, (text, escaped) => escaped ?? `\\${text}`)

/** Makes slashes and leading dots ordinary characters for picomatch: a letter is put in front, and slashes are replaced. */
const anchored = (text: string): string => `x${text.replaceAll("/", "\u2215")}`

const manyCharacters = Symbol("*")
const oneCharacter = Symbol("?")

type Token = string | typeof manyCharacters | typeof oneCharacter

const tokensOf = (pattern: string): ReadonlyArray<Token> =>
  Array.from(pattern.matchAll(/\\(.)|./gsu), ([text, escaped]) => {
    if (escaped !== undefined) return escaped
    if (text === "*") return manyCharacters
    return text === "?" ? oneCharacter : text
  })

/** Matches name and pattern character by character; after a mismatch, the last star takes one more character. */
const matchWildcards = (pattern: string): ((name: string) => boolean) => {
  const tokens = tokensOf(pattern)
  return (name) => {
    const characters = Array.from(name)
    let at = 0
    let token = 0
    let star = -1
    let resumeAt = 0
    while (at < characters.length) {
      const expected = tokens[token]
      if (expected === manyCharacters) {
        star = token++
        resumeAt = at
      } else if (expected === oneCharacter || expected === characters[at]) {
        token++
        at++
      } else if (star !== -1) {
        token = star + 1
        at = ++resumeAt
      } else return false
    }
    return tokens.slice(token).every((rest) => rest === manyCharacters)
  }
}
