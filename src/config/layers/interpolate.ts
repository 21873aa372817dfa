/**
 * Replaces placeholders in texts by variables and files. Runs no commands, and does not interpolate inserted text again.
 */

import { pathOf, variableName } from "../explain/redactParts.js"

/** A placeholder in a text. */
export type Placeholder =
  | { readonly _tag: "Variable"; readonly name: string; readonly fallback: string | undefined }
  | { readonly _tag: "File"; readonly path: string }
  /** `${input:…}`, a value that only an editor can ask for. */
  | { readonly _tag: "Input"; readonly name: string }
  /** `$${NAME}` stands for `${NAME}`. */
  | { readonly _tag: "Escaped"; readonly text: string }

const name = "[A-Za-z_][A-Za-z0-9_]*"

const pattern = new RegExp(
  [
    String.raw`\$(\$\{[^{}]*\})`,
    // after "env:", any text is meant as a name
    String.raw`\$?\{env:((?:(?!:-)[^{}])*)(?::-([^{}]*))?\}`,
    String.raw`\$\{(${name}|/)(?::-([^{}]*))?\}`,
    String.raw`\$?\{file:([^{}]+)\}`,
    String.raw`\$\{input:([^{}]*)\}`
  ].join("|"),
  "g"
)

/** Text that is meant as a placeholder and is malformed. */
const unfinished = new RegExp(String.raw`\{(?:env|file):|\$\{${name}:-`)

/** Replaces each placeholder by the result of `value`, which gets the placeholder and its text. */
export const replace = (text: string, value: (placeholder: Placeholder, written: string) => string): string =>
  text.replace(pattern, (all, escaped, variable, fallback, shellVariable, shellFallback, file, input) => {
    if (escaped !== undefined) return value({ _tag: "Escaped", text: escaped }, all)
    if (variable !== undefined) return value({ _tag: "Variable", name: variable, fallback }, all)
    if (shellVariable !== undefined)
      return value({ _tag: "Variable", name: shellVariable, fallback: shellFallback }, all)
    return value(file === undefined ? { _tag: "Input", name: input } : { _tag: "File", path: file.trim() }, all)
  })

export const placeholdersOf = (text: string): ReadonlyArray<Placeholder> => {
  const found: Array<Placeholder> = []
  replace(text, (placeholder) => {
    found.push(placeholder)
    return ""
  })
  return found
}

export const hasPlaceholder = (text: string): boolean => placeholdersOf(text).length > 0

/** The values of placeholders. */
export interface Values {
  readonly variable: (name: string) => string | undefined
  /** Names that editors define (`workspaceFolder`, `userHome`). They are not secret. */
  readonly known: (name: string) => string | undefined
  /** Why a name that editors define has no value now. */
  readonly withheld?: ((name: string) => Interpolated["missing"][number] | undefined) | undefined
  /** The content of a file, or why it cannot be read. */
  readonly file: (path: string) => { readonly content: string } | { readonly problem: string }
}

export interface Interpolated {
  readonly text: string
  /** All inserted values. */
  readonly secrets: ReadonlyArray<string>
  /** The placeholders without a value, by name. */
  readonly missing: ReadonlyArray<{ readonly expected: string; readonly found: string; readonly hint: string }>
}

/** The largest length of inserted text, in UTF-16 units. Systems accept no argument or variable of more than 128 KiB. */
export const limits = { value: 1024 * 1024, entry: 4 * 1024 * 1024, document: 16 * 1024 * 1024 } as const

/** The rest of a limit. Each inserted value reduces it. */
export interface Allowance {
  readonly of: keyof typeof limits
  left: number
}

export const allowance = (of: keyof typeof limits): Allowance => ({ of, left: limits[of] })

const within: Readonly<Record<keyof typeof limits, string>> = {
  value: "one value",
  entry: "one entry",
  document: "all config files together"
}

/** Replaces the placeholders of a text. An empty variable counts as not set: an empty token is never intended. */
export const interpolate = (
  text: string,
  values: Values,
  /** Limits that are shared with other texts. Defaults to none: then only the limit of one value applies. */
  shared: ReadonlyArray<Allowance> = []
): Interpolated => {
  if (!text.includes("{")) return { text, secrets: [], missing: [] }
  const allowances = [allowance("value"), ...shared]
  let exceeded: Allowance | undefined
  const secrets: Array<string> = []
  const missing: Array<Interpolated["missing"][number]> = []
  const secret = (value: string): string => {
    const inserted = insert(value)
    if (inserted !== "") secrets.push(inserted)
    return inserted
  }
  /** Inserts nothing more once a limit is reached: the text will be rejected. */
  const insert = (value: string): string => {
    for (const each of allowances) each.left -= value.length
    exceeded ??= allowances.find(({ left }) => left < 0)
    return exceeded === undefined ? value : ""
  }
  const result = replace(text, (placeholder) => {
    switch (placeholder._tag) {
      case "Escaped":
        return placeholder.text
      case "Variable": {
        const { fallback, name } = placeholder
        const value = values.variable(name)
        if (value !== undefined && value !== "") return secret(value)
        const known = values.known(name)
        if (known !== undefined) return insert(known)
        if (fallback !== undefined) return secret(fallback)
        const withheld = values.withheld?.(name)
        if (withheld !== undefined) {
          missing.push(withheld)
          return ""
        }
        const found = value === undefined ? "a variable that is not set" : "a variable that is empty"
        const shown = variableName(name)
        const hint =
          shown === name
            ? `set ${name}, or give a default: {env:${name}:-…}`
            : "name a variable: {env:NAME} holds no value itself"
        missing.push({ expected: `the environment variable ${shown}`, found, hint })
        return ""
      }
      case "File": {
        const found = values.file(placeholder.path)
        if ("content" in found) return secret(found.content)
        missing.push({
          expected: "a file that can be read",
          found: found.problem,
          hint: `{file:${pathOf(placeholder.path)}}`
        })
        return ""
      }
      case "Input": {
        const hint = `use {env:NAME} instead of \${input:${variableName(placeholder.name)}}`
        missing.push({ expected: "a value", found: "a question that only an editor can ask", hint })
        return ""
      }
    }
  })
  if (exceeded !== undefined) {
    missing.push({
      expected: `at most ${limits[exceeded.of]} characters of variables and files in ${within[exceeded.of]}`,
      found: "more",
      hint: "use a shorter variable or file, or use it in fewer places"
    })
  }
  if (unfinished.test(text.replace(pattern, ""))) {
    const hint = "a default holds no braces, and every brace has its end"
    missing.push({ expected: "{env:NAME:-default} or {file:path}", found: "a placeholder that cannot be read", hint })
  }
  return { text: result, secrets, missing }
}
