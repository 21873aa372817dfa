/**
 * Shows the parts of a text that are certainly no secret. Everything else is hidden, even if it would be useful: the place
 * of the value is shown, and a person can read it there.
 */
import { isMadeOfWords } from "../../domain/internal/looksLikeName.js"
import * as Secrets from "../../domain/Secrets.js"
import { type Placeholder, replace } from "../layers/interpolate.js"
import { anyMark, hidden, isPath, isPlain, isUrl, namesOf, pathOf, urlOf, variableName } from "./redactParts.js"

// Placeholders are replaced before a text is checked and restored afterwards: one character of the private use area stands
// for each.
const firstMark = 0xe000

/** Applies `show` to the text, and restores the names of placeholders without their defaults. */
const around = (text: string, show: (text: string) => string): string => {
  if (anyMark.test(text)) return hidden
  const all: Array<string> = []
  const marked = replace(text, (placeholder) => {
    all.push(written(placeholder))
    return String.fromCharCode(firstMark + all.length - 1)
  })
  if (all.length > 256) return hidden
  return show(marked).replace(new RegExp(anyMark, "g"), (mark) => all[mark.charCodeAt(0) - firstMark] ?? hidden)
}

const written = (placeholder: Placeholder): string => {
  switch (placeholder._tag) {
    case "Escaped":
      return hidden
    case "File":
      return `{file:${path(placeholder.path)}}`
    case "Input":
      return `\${input:${variableName(placeholder.name)}}`
    case "Variable":
      return `{env:${variableName(placeholder.name)}${placeholder.fallback === undefined ? "" : `:-${hidden}`}}`
  }
}

/** Shows a text that consists of placeholders only; with any other word beside them, it is hidden. */
export const namesOnly = (text: string): string => around(text, namesOf)

/** Shows a text that matches the pattern, or that consists of placeholders only. */
export const oneOf = (allowed: RegExp) => (text: string) => (allowed.test(text) ? text : namesOnly(text))

/** Shows a program: a word, or its path. Further words in the same text are arguments. */
export const program = (text: string): string =>
  around(text, (marked) => {
    if (isPath(marked)) return pathOf(marked)
    const [first = "", ...rest] = marked.split(/\s+/)
    return (isPlain(first) ? first : isPath(first) ? pathOf(first) : hidden) + (rest.length > 0 ? ` ${hidden}` : "")
  })

/** Shows a file, a directory, or the URL of one. A single word may be anything, and is hidden. */
export const path = (text: string): string =>
  around(text, (marked) =>
    isUrl(marked) ? urlOf(marked) : isPath(marked) || /[\\/]/.test(marked) ? pathOf(marked) : namesOf(marked)
  )

export const address = (text: string): string =>
  around(text, (marked) => (isUrl(marked) ? urlOf(marked) : namesOf(marked)))

/** Shows one argument, given the one before it. */
export const argument = (text: string, before: string | undefined): string =>
  around(text, (marked) => argumentOf(marked, before))

/** Subcommands of launchers, which are no secret. */
const subcommands = /^(?:run|exec|start|serve|server|stdio|http|sse|mcp|tool|dlx|x|dev|latest)$/

/** Whether a text is a scoped package, or one whose name says its purpose, with an optional version. */
const isPackage = (text: string): boolean =>
  /^@[a-z\d][\w.-]*\/[\w.-]+(?:@[\w.^~-]+)?$/.test(text) || /(?:^|[^a-z])(?:mcp|server)s?(?:[^a-z]|$)/.test(text)

const argumentOf = (text: string, before: string | undefined): string => {
  const [, previous] = /^--?([A-Za-z][\w.-]*)$/.exec(before ?? "") ?? []
  if (previous !== undefined && Secrets.isSensitiveFlag(previous)) return namesOf(text)
  const [, dashes = "", flag, value] = /^(--?)([A-Za-z][\w.-]*)(?:=(.*))?$/s.exec(text) ?? []
  if (flag !== undefined) {
    // a short flag with more characters holds its value
    const isFlag = dashes === "--" ? isPlain(flag) : /^(?:[A-Za-z]{1,2}|jar)$/.test(flag)
    if (!isFlag) return hidden
    if (value === undefined) return text
    return `${dashes}${flag}=${Secrets.isSensitiveFlag(flag) ? namesOf(value) : argumentOf(value, undefined)}`
  }
  const [, variable, content = ""] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? []
  if (variable !== undefined) return `${isPlain(variable) ? variable : hidden}=${namesOf(content)}`
  if (isUrl(text)) return urlOf(text)
  if (isPath(text)) return pathOf(text)
  const isVariable = /^(?:e|env)$/.test(previous ?? "") && /^[A-Z][A-Z_]+$/.test(text)
  const isPort = /port/i.test(previous ?? "") && /^\d{1,5}$/.test(text)
  const isName = /^[\w.@/:^~-]+$/.test(text) && isPackage(text) && isMadeOfWords(text)
  return subcommands.test(text) || isPort || ((isVariable || isName) && isMadeOfWords(text)) ? text : namesOf(text)
}
