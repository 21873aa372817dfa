/**
 * What a server says of itself when it is greeted. It is kept for as long as the session and is part of every snapshot, so it
 * is limited before it is kept.
 */
import type { Issue } from "../../domain/Issue.js"
import { isTooDeep, tooDeep } from "./results.js"
import { detachText } from "../../system/detachText.js"

/** Characters of the instructions that are kept. */
export const maxInstructions = 64 * 1024

/** Characters of everything else, as JSON. Icons may be part of it. */
export const maxIntroduction = 256 * 1024

/** The methods whose answer introduces the server, one of each era. */
export const introducing: ReadonlySet<string> = new Set(["initialize", "server/discover"])

/** The introduction as it may be kept, or what is wrong with it. */
export const limited = (
  result: object,
  length: number,
  warn: (text: string) => void
): { readonly result: object } | { readonly issue: Issue } => {
  if (isTooDeep(result)) return { issue: tooDeep }
  // the message that it stands in is longer
  if (length <= maxInstructions) return { result }
  const { instructions, ...rest } = result as { readonly instructions?: unknown }
  if (JSON.stringify(rest).length > maxIntroduction) return { issue: tooLong }
  if (typeof instructions !== "string" || instructions.length <= maxInstructions) return { result }
  warn(`the instructions of the server were cut: of ${instructions.length} characters, ${maxInstructions} are kept`)
  return { result: { ...rest, instructions: detachText(instructions.slice(0, maxInstructions)) } }
}

const tooLong: Issue = {
  path: [],
  expected: `at most ${maxIntroduction} characters besides the instructions`,
  found: "more"
}
