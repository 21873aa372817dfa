/**
 * What a server may be called. Names are shown in terminals, typed in commands, put into addresses and before the names of tools.
 */
import { hasHidden } from "../internal/hiddenCharacters.js"
import type { Issue } from "../Issue.js"

const maxLength = 128

const expected = `a server name: one line of at most ${maxLength} characters, without space around it`

/** What is wrong with a name that somebody gives to a server. */
export const issues = (name: string): ReadonlyArray<Issue> => {
  const found = impossible(name) ?? unwise(name)
  return found === undefined ? [] : [{ path: [], expected, found }]
}

/** Why no server can be called that, wherever it is declared. */
export const impossible = (name: string): string | undefined => {
  if (name.trim() === "") return "an empty name"
  if (isStep(name)) return "a name that means a directory"
  // it means something else in every program that reads it as a key
  return name === "__proto__" ? "a name that is not to be used" : undefined
}

/** Every address that holds such a name is another one, however it is written. */
export const isStep = (name: string): boolean => name === "." || name === ".."

const unwise = (name: string): string | undefined => {
  if (name !== name.trim()) return "a name with space around it"
  if (hasHidden(name)) return "a name with characters that cannot be seen"
  return name.length > maxLength ? "a longer name" : undefined
}
