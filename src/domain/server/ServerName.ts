/**
 * Checks server names. They are shown in terminals, typed in commands, and used in URLs and in public tool names.
 */
import { hasHidden } from "../internal/hiddenCharacters.js"
import type { Issue } from "../Issue.js"

const maxLength = 128

const expected = `a server name: one line of at most ${maxLength} characters, without space around it`

/** The issues of a new server name: those of `impossible`, and those that make a name impractical. */
export const issues = (name: string): ReadonlyArray<Issue> => {
  const found = impossible(name) ?? unwise(name)
  return found === undefined ? [] : [{ path: [], expected, found }]
}

/** Why a name is rejected everywhere, also in existing files. Undefined if it is allowed. */
export const impossible = (name: string): string | undefined => {
  if (name.trim() === "") return "an empty name"
  if (isStep(name)) return "a name that means a directory"
  // many programs treat this key specially
  return name === "__proto__" ? "a name that is not to be used" : undefined
}

/** Whether a name is a dot segment: URL parsers remove it from every path, also if it is encoded. */
export const isStep = (name: string): boolean => name === "." || name === ".."

const unwise = (name: string): string | undefined => {
  if (name !== name.trim()) return "a name with space around it"
  if (hasHidden(name)) return "a name with characters that cannot be seen"
  return name.length > maxLength ? "a longer name" : undefined
}
