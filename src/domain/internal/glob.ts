/**
 * Glob patterns on names. The patterns come from configs, the names from servers: no name may make matching slow, and none may
 * slip through because it looks like a path.
 */
import picomatch from "picomatch"

/** Patterns with braces or brackets are left to picomatch, within what it can do in bounded time. */
const maxRichPattern = 256
const maxRichStars = 4
const maxRichName = 128

/**
 * Whether a name matches, asked for one pattern and many names. `*` is any text, `?` any one character; `{a,b}` and `[a-z]` are
 * alternatives; a backslash takes the next character literally. Slashes, dots and line breaks are characters like any other.
 * A pattern that is too complicated is taken literally.
 */
export const glob = (pattern: string): ((name: string) => boolean) =>
  /[[\]{}]/.test(pattern) ? rich(pattern) : wildcards(pattern)

const rich = (pattern: string): ((name: string) => boolean) => {
  const stars = pattern.replace(/\*+/g, "*").split("*").length - 1
  const literally = (name: string) => name === pattern
  if (pattern.length > maxRichPattern || stars > maxRichStars) return literally
  const matches = picomatch(anchored(literalRest(pattern)), { flags: "s", windows: false })
  return (name) => literally(name) || (name.length <= maxRichName && matches(anchored(name)))
}

/** To picomatch these characters are special, too, unless there is a backslash before them. */
const literalRest = (pattern: string): string =>
  pattern.replace(/(\\.)|[()+|"]/gs, (text, escaped) => escaped ?? `\\${text}`)

/** To picomatch slashes and leading dots are special: a letter in front and another one in their place make them ordinary. */
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

/** Walks through name and pattern side by side; where it gets stuck, the last star takes one more character. */
const wildcards = (pattern: string): ((name: string) => boolean) => {
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
