/**
 * Limits what a server reports about itself in the handshake. It is kept as long as the session and is part of every snapshot.
 */
import type { Issue } from "../../domain/Issue.js"
import { isTooDeep, tooDeep } from "./results.js"
import { detachText } from "../../system/detachText.js"

/** The maximum number of characters of the instructions. Longer ones are cut. */
export const maxInstructions = 64 * 1024

/** The maximum number of characters of everything else, as JSON. It may include icons. */
export const maxIntroduction = 256 * 1024

/** The methods whose result introduces the server, one per era. */
export const introducing: ReadonlySet<string> = new Set(["initialize", "server/discover"])

/** The introduction within the limits, or the issue for which it is rejected. */
export const limited = (
  result: object,
  length: number,
  warn: (text: string) => void
): { readonly result: object } | { readonly issue: Issue } => {
  if (isTooDeep(result)) return { issue: tooDeep }
  // A shortcut: the result is shorter than the message that contains it.
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
