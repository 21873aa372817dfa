/**
 * Collects the secrets of a config, and hides them in every text that leaves the supervisor.
 *
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"
import { largest } from "./internal/extremes.js"
import { matcher, type Range } from "./Secrets/match.js"

/**
 * A text of a config, redacted if it is secret.
 *
 * @since 0.1.0
 * @category models
 */
export type Text = string | Redacted.Redacted<string>

/**
 * The values that are hidden. They are stored redacted, so printing the set does not reveal them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Secrets {
  readonly values: ReadonlyArray<Redacted.Redacted<string>>
}

/**
 * The shortest value that is hidden. Shorter values are parts of ordinary words.
 *
 * @since 0.1.0
 * @category constants
 */
export const minLength = 4

/**
 * @since 0.1.0
 * @category guards
 */
export const isText = (value: unknown): value is Text =>
  typeof (Redacted.isRedacted(value) ? Redacted.value(value) : value) === "string"

/**
 * The plain text, for the place that passes it to a process or a server.
 *
 * @since 0.1.0
 * @category accessors
 */
export const reveal = (text: Text): string => (typeof text === "string" ? text : Redacted.value(text))

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (texts: Iterable<Text>): Secrets => {
  const distinct = new Set<string>()
  for (const text of texts) {
    for (const part of parts(reveal(text))) if (part.length >= minLength) distinct.add(part)
  }
  return { values: Array.from(distinct, (value) => Redacted.make(value)) }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const empty: Secrets = { values: [] }

/**
 * @since 0.1.0
 * @category constructors
 */
export const union = (...all: ReadonlyArray<Secrets>): Secrets => make(all.flatMap((secrets) => secrets.values))

/**
 * Creates a function that hides every secret in a text: plain, URL-encoded, JSON-escaped or in base64, also in combinations of
 * these. No such occurrence survives, not even one that a replacement would create.
 *
 * Creating the function is more expensive than calling it: keep it as long as the secrets stay the same. Texts with many
 * escapes (`%`, `\\`, `+`) take the longest, about a second for ten megabytes.
 *
 * @since 0.1.0
 * @category scrubbing
 */
export const scrub = (secrets: Secrets): ((text: string) => string) => {
  if (secrets.values.length === 0) return (text) => text
  const { find, placeholder } = matcher(secrets.values.map((value) => Redacted.value(value)))
  return (text) => {
    // removing one secret can leave half of an escape that forms another secret: repeat until there is none
    let clean = text
    for (let ranges = find(clean); ranges.length > 0; ranges = find(clean)) clean = replace(clean, ranges, placeholder)
    return clean
  }
}

/**
 * Creates a function that hides every secret in the beginning of a longer text. It drops the end of the text, because that can
 * be the first half of a secret.
 *
 * @since 0.1.0
 * @category scrubbing
 */
export const scrubBeginning = (secrets: Secrets): ((text: string) => string) => {
  const whole = scrub(secrets)
  // each character of a secret can take up to twelve characters: as bytes of UTF-8, each escaped twice
  const longest =
    12 *
    largest(
      secrets.values.map((value) => Redacted.value(value).length),
      0
    )
  return (text) => {
    const clean = whole(text)
    return clean.slice(0, Math.max(0, clean.length - longest))
  }
}

const replace = (text: string, ranges: ReadonlyArray<Range>, placeholder: string): string => {
  let replaced = ""
  let end = 0
  for (const [from, to] of ranges) {
    replaced += text.slice(end, from) + placeholder
    end = to
  }
  return replaced + text.slice(end)
}

/**
 * The parts of a secret that are hidden, too: the lines of a key file (a log shows one at a time), the value of a header line,
 * the credential after an authorization scheme, the password of a pair, the credentials in a URL.
 */
function* parts(value: string): Iterable<string> {
  for (const part of [value, ...value.split(/[\r\n]/)]) {
    yield part
    yield part.trim()
    yield* credentials(part.trim())
    yield* ofUrl(part.trim())
  }
}

function* credentials(value: string): Iterable<string> {
  const headerValue = /^[\w-]+:\s+(\S.*)/s.exec(value)?.[1]
  const credential = /^(?:bearer|basic|token|apikey|digest)\s+(\S.*)/is.exec(headerValue ?? value)?.[1]
  const password = /^[^:\s]+:(?!\d+$)([^:\s/][^:\s]*)$/.exec(value)?.[1]
  for (const part of [headerValue, credential, password]) if (part !== undefined) yield part
}

/**
 * The secrets in a URL: user, password and the values of its query, encoded and decoded.
 *
 * @since 0.1.0
 * @category constructors
 */
export function* ofUrl(text: string): Iterable<string> {
  if (!URL.canParse(text)) return
  const { password, search, username } = new URL(text)
  // also in the original spelling: parsing changes some characters
  const [user = "", secret = ""] = /^[^/?#]*\/\/([^/?#:@]*)(?::([^/?#]*))?@/.exec(text)?.slice(1) ?? []
  const query = /\?([^#]*)/.exec(text)?.[1] ?? ""
  const values = [search.slice(1), query].flatMap((part) =>
    part.split("&").map((pair) => pair.slice(pair.indexOf("=") + 1))
  )
  for (const raw of [username, password, user, secret, ...values]) {
    yield raw
    yield decode(raw)
    yield decode(raw.replaceAll("+", " "))
  }
}

/** Decodes the valid escapes and keeps the others. */
const decode = (raw: string): string =>
  raw.replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes
    }
  })

const sensitiveFlag =
  /token|secret|passw|passphrase|pwd|(?:api|access|private)[-_]?key|auth|credential|bearer|header|^pat$|^H$/i

/**
 * Whether the value of a flag with this name is a secret.
 *
 * @since 0.1.0
 * @category guards
 */
export const isSensitiveFlag = (name: string): boolean => sensitiveFlag.test(name)

/**
 * The secrets in a command line: the values of flags such as `--token` or `--api-key=`, of environment variables such as
 * `TOKEN=…`, and in URLs.
 *
 * @since 0.1.0
 * @category constructors
 */
export function* ofArguments(args: ReadonlyArray<Text>): Iterable<Text> {
  for (const [index, arg] of args.entries()) {
    if (typeof arg !== "string") {
      yield arg
      continue
    }
    const option = /^--?([^=\s]+)(?:=(.*))?$/s.exec(arg)
    const flag = option?.[1]
    const value = option?.[2]
    const variable = /^[A-Za-z_]\w*=(.*)/s.exec(value ?? arg)?.[1]
    // a key in base64 can look like a variable, with the padding as its value
    if (flag !== undefined && isSensitiveFlag(flag)) yield value ?? args[index + 1] ?? ""
    if (variable !== undefined) yield variable
    else yield* ofUrl(value ?? arg)
  }
}
