/**
 * What a server may be called by those who add one. Names are shown in terminals, typed in commands, put into addresses and
 * before the names of tools.
 */
import type { Issue } from "./Issue.js"

const maxLength = 128

const expected = `a server name: one line of at most ${maxLength} characters, without space around it`

/** What is wrong with a name. */
export const issues = (name: string): ReadonlyArray<Issue> => {
  const found = fault(name)
  return found === undefined ? [] : [{ path: [], expected, found }]
}

const fault = (name: string): string | undefined => {
  if (name.trim() === "") return "an empty name"
  if (name !== name.trim()) return "a name with space around it"
  if (/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return "a name with characters that cannot be seen"
  if (name.length > maxLength) return "a longer name"
  // it means something else in every program that reads the file
  return name === "__proto__" ? "a name that is not to be used" : undefined
}
