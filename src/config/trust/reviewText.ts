/**
 * Texts of an entry for the person who decides about it. Secrets that are written out are hidden. What is put in is always named,
 * whatever stands beside it: it leaves the machine.
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

/** The text with one mark for each placeholder. */
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

/** A character that the text does not have. */
const freeMark = (text: string): string | undefined => {
  for (let code = firstMark; code <= lastMark; code += 1) {
    const mark = String.fromCharCode(code)
    if (!text.includes(mark)) return mark
  }
  return undefined
}

/** A text whose parts are shown in different ways. A text that uses every mark there is, is shown as it is written. */
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

/** To be used on all parts of the text, in their order. */
interface Parts {
  readonly mark: string
  /** As it is written. */
  readonly full: (part: string) => string
  /** Without what is literal. */
  readonly veiled: (part: string) => string
  /** The same, but a default that would end the login is shown: it decides where the rest of the address begins. */
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

/** Only what is put in. The scheme of an authorization is no secret. */
export const withoutLiterals = (text: string): string =>
  inParts(text, ({ full, veiled }, whole) => {
    const [scheme = ""] = /^(?:bearer|basic|digest|token)\s+/i.exec(whole) ?? []
    return full(scheme) + veiled(whole.slice(scheme.length))
  })

const addressStart = /^(?:jdbc:)?[a-z][a-z\d+.-]*:\/\//i

/**
 * An address with its host and path in full: only what stands for a login, in the query and in the fragment is hidden. A
 * backslash ends the host as a slash does.
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

/** Everything up to the `@` of a login. A password may hold a slash: then what stands before the slash has no port at its end. */
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

/** A login in an address, made of nothing that a shell would take for a command. */
const plainLogin = /:\/\/[\w.~%+-]+(?::[\w.~%+!*-]*)?@/g

const sensitiveName = /key|cert|cookie|session|salt|signature|license|(?:^|_)(?:pass|pw|pin|dsn|login|creds?)(?:_|$)/i

/** The value of a variable: in full if it decides what runs, otherwise as far as it is certainly no secret. */
export const variableText = (name: string, text: string): string => {
  if (isSteering(name)) return text.replace(plainLogin, `://${hidden}@`)
  if (addressStart.test(text) && !/\s/.test(text) && text.split("://").length === 2) return addressText(text)
  if (hasPlaceholder(text) || Secrets.isSensitiveFlag(name) || sensitiveName.test(name)) return withoutLiterals(text)
  if (isPath(text)) return pathOf(text)
  const isWord = /^[\w.@+~-]{0,64}$/.test(text) && isMadeOfWords(text)
  return isWord || /^[\d.]{1,8}$/.test(text) ? text : hidden
}
