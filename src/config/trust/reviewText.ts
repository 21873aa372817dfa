/**
 * Renders texts of an entry for review. Literal secrets are hidden. Placeholders are always named, whatever is beside them,
 * because their values leave the machine.
 */
import { isMadeOfWords } from "../../domain/internal/looksLikeName.js"
import * as Secrets from "../../domain/Secrets.js"
import { hasPlaceholder, type Placeholder, replace } from "../layers/interpolate.js"
import { hidden, isPath, pathOf } from "../explain/redactParts.js"
import { isSteering } from "./steeringVariables.js"

interface Taken {
  readonly placeholder: Placeholder
  readonly written: string
}

/** A text in which each placeholder is replaced by one mark. */
interface Marked {
  readonly text: string
  readonly mark: string
  readonly taken: ReadonlyArray<Taken>
}

const firstMark = 0xe000
const lastMark = 0xf8ff

const marked = (text: string): Marked | undefined => {
  const mark = freeMark(text)
  if (mark === undefined) return undefined
  const taken: Array<Taken> = []
  const result = replace(text, (placeholder, written) => {
    if (placeholder._tag === "Escaped") return written
    taken.push({ placeholder, written })
    return mark
  })
  return { text: result, mark, taken }
}

/** A mark character that the text does not contain. */
const freeMark = (text: string): string | undefined => {
  for (let code = firstMark; code <= lastMark; code += 1) {
    const mark = String.fromCharCode(code)
    if (!text.includes(mark)) return mark
  }
  return undefined
}

/** Renders the parts of a text in different ways. A text that contains every possible mark is shown as it is written. */
const inParts = (text: string, show: (parts: Parts, whole: string) => string): string => {
  const found = marked(text)
  if (found === undefined) return text
  let next = 0
  const named = (part: string, literal: (text: string) => string, name: (taken: Taken) => string) =>
    part
      .split(found.mark)
      .map((piece, index) => (index === 0 ? "" : name(found.taken[next++]!)) + literal(piece))
      .join("")
  return show(
    {
      mark: found.mark,
      full: (part) =>
        named(
          part,
          (piece) => piece,
          ({ written }) => written
        ),
      veiled: (part) => named(part, veil, nameOf),
      login: (part) => named(part, veil, (taken) => (leads(taken) ? taken.written : nameOf(taken)))
    },
    found.text
  )
}

/** Renderers of parts. They must be applied to all parts of the text in order. */
interface Parts {
  readonly mark: string
  /** Renders the part as it is written. */
  readonly full: (part: string) => string
  /** Hides the literal text and names the placeholders. */
  readonly veiled: (part: string) => string
  /** Hides the literal text, but shows a default that would end the login: it decides where the rest of the URL begins. */
  readonly login: (part: string) => string
}

const veil = (literal: string): string => (literal.trim() === "" ? literal : hidden)

const leads = ({ placeholder }: Taken): boolean =>
  placeholder._tag === "Variable" && /[/\\?#@]/.test(placeholder.fallback ?? "")

const nameOf = ({ placeholder, written }: Taken): string => {
  switch (placeholder._tag) {
    case "Variable":
      return `{env:${placeholder.name}${placeholder.fallback === undefined ? "" : `:-${hidden}`}}`
    case "File":
      return `{file:${placeholder.path}}`
    case "Input":
    case "Escaped":
      return written
  }
}

/** Names the placeholders and hides the literal text. The scheme of an authorization is not secret. */
export const withoutLiterals = (text: string): string =>
  inParts(text, ({ full, veiled }, whole) => {
    const [scheme = ""] = /^(?:bearer|basic|digest|token)\s+/i.exec(whole) ?? []
    return full(scheme) + veiled(whole.slice(scheme.length))
  })

const addressStart = /^(?:jdbc:)?[a-z][a-z\d+.-]*:\/\//i

/**
 * Renders a URL with its host and path in full; the login, the query and the fragment are hidden. A backslash ends the host
 * like a slash.
 */
export const addressText = (text: string): string =>
  inParts(text, (parts, whole) => {
    const [scheme = ""] = addressStart.exec(whole) ?? []
    const user = scheme === "" ? "" : loginIn(whole.slice(scheme.length), parts.mark)
    const [, path = "", query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(
      whole.slice(scheme.length + user.length)
    )!
    const start = parts.full(scheme) + (user === "" ? "" : `${parts.login(user.slice(0, -1))}@`) + parts.full(path)
    const search = query === undefined ? "" : `?${query.split("&").map(pairText(parts)).join("&")}`
    return start + search + (fragment === undefined ? "" : `#${parts.veiled(fragment)}`)
  })

/** Everything up to the `@` of a login. A password may hold a slash: then the text before the slash has no port at its end. */
const loginIn = (rest: string, mark: string): string => {
  const [authority = ""] = /^[^/\\?#]*/.exec(rest) ?? []
  const end = authority.lastIndexOf("@")
  if (end !== -1) return rest.slice(0, end + 1)
  const [, port] = /:([^:\]]*)$/.exec(authority) ?? []
  const isPassword = port !== undefined && [...port].some((unit) => unit !== mark && !/\d/.test(unit))
  return isPassword ? rest.slice(0, rest.lastIndexOf("@") + 1) : ""
}

const pairText =
  ({ full, veiled }: Parts) =>
  (pair: string): string => {
    const at = pair.indexOf("=")
    if (at !== -1) return `${full(pair.slice(0, at))}=${veiled(pair.slice(at + 1))}`
    return /^[\w.-]{0,32}$/.test(pair) && isMadeOfWords(pair) ? full(pair) : veiled(pair)
  }

/** A login in a URL, without characters that a shell interprets. */
const plainLogin = /:\/\/[\w.~%+-]+(?::[\w.~%+!*-]*)?@/g

const sensitiveName = /key|cert|cookie|session|salt|signature|license|(?:^|_)(?:pass|pw|pin|dsn|login|creds?)(?:_|$)/i

/** Renders the value of a variable: in full if it decides what runs, otherwise only what is certainly no secret. */
export const variableText = (name: string, text: string): string => {
  if (isSteering(name)) return text.replace(plainLogin, `://${hidden}@`)
  if (addressStart.test(text) && !/\s/.test(text) && text.split("://").length === 2) return addressText(text)
  if (hasPlaceholder(text) || Secrets.isSensitiveFlag(name) || sensitiveName.test(name)) return withoutLiterals(text)
  if (isPath(text)) return pathOf(text)
  const isWord = /^[\w.@+~-]{0,64}$/.test(text) && isMadeOfWords(text)
  return isWord || /^[\d.]{1,8}$/.test(text) ? text : hidden
}
