/**
 * Shows the parts of paths and URLs that are certainly no secret, and hides the others. A character of the private use area
 * stands for each placeholder.
 */
import { isMadeOfWords, looksLikeName } from "../../domain/internal/looksLikeName.js"

export const hidden = "[redacted]"

/** Replaces a name that does not look like one. */
export const notShown = "(not shown)"

export const isHidden = (shown: unknown): boolean =>
  typeof shown === "string" && (shown.includes(hidden) || shown.includes(notShown))

/** Names that editors define, beside variables. */
const editorName = /^(?:workspaceFolder(?:Basename)?|userHome|pathSeparator|\/)$/

/** The name of a variable if it looks like one: in capitals, or in several words. A pasted token does not. */
export const variableName = (name: string): string => {
  const isName = /^[A-Z_][A-Z\d_]*$/.test(name) || /^[a-z]+(?:_[a-z\d]+)+$/.test(name)
  return editorName.test(name) || (isName && looksLikeName(name)) ? name : notShown
}

/** A mark that stands for a placeholder. */
export const anyMark = /[\uE000-\uF8FF]/

/** Shows a text that consists of placeholders only; with any other word beside them, it is hidden. */
export const namesOf = (marked: string): string => {
  const isOnlyNames = anyMark.test(marked) && /^(?:bearer|basic|token)?\s*[\uE000-\uF8FF]+$/i.test(marked.trim())
  return isOnlyNames ? marked : hidden
}

/** Whether a text consists of ordinary words. */
export const isPlain = (text: string): boolean =>
  /^[\w.$*@+~ \uE000-\uF8FF-]{1,64}$/.test(text) && text.trim() === text && isMadeOfWords(text)

export const isPath = (text: string): boolean =>
  /^(?:\.{1,2}|~)$/.test(text) ||
  /^(?:~|\.{1,2}|[A-Za-z]:|[\uE000-\uF8FF])?[\\/]/.test(text) ||
  /^[^\s:]+\.(?:[cm]?[jt]sx?|py|sh|rb|jar|exe|bat|cmd|ps1|wasm|jsonc?|toml|ya?ml|pem|crt|cer)$/i.test(text)

export const pathOf = (text: string): string =>
  text
    .split(/([\\/]+|^[A-Za-z]:)/)
    .map((part, index) => (index % 2 === 1 || part === "" || isPlain(part) ? part : hidden))
    .join("")

const urlParts = /^(https?|wss?|file):\/\/([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/is

export const isUrl = (text: string): boolean => urlParts.test(text)

/** Shows a URL and hides everything that is no ordinary word: some servers take their key in the path or the host name. */
export const urlOf = (text: string): string => {
  const [, scheme = "", authority = "", rest = "", query, fragment] = urlParts.exec(text) ?? []
  const at = authority.lastIndexOf("@")
  const user = at === -1 ? "" : `${namesOf(authority.slice(0, at))}@`
  const host = authority
    .slice(at + 1)
    .split(/([.:])/)
    .map((part, index) =>
      index % 2 === 1 || /^\d{1,5}$|^\[?[\da-f]{1,4}\]?$/i.test(part) || part === "" || isPlain(part) ? part : hidden
    )
    .join("")
  const pairs = query?.split("&").map((pair) => {
    const [, key, value = ""] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
    return key === undefined ? namesOf(pair) : `${isPlain(key) ? key : hidden}=${value === "" ? "" : namesOf(value)}`
  })
  const search = pairs === undefined ? "" : `?${pairs.join("&")}`
  return `${scheme}://${user}${host}${pathOf(rest)}${search}${fragment === undefined ? "" : `#${hidden}`}`
}
