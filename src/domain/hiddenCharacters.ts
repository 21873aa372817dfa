/**
 * Characters that a person cannot see, or that move what stands around them: control and format characters, line ends, fillers
 * without width, and spaces that are not the ordinary one.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}/u

const allHidden = new RegExp(hidden, "gu")

export const hasHidden = (text: string): boolean => hidden.test(text)

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** The text with each of them as an escape sequence. */
export const escapeHidden = (text: string): string =>
  text.replace(allHidden, (found) => short[found] ?? `\\u{${found.codePointAt(0)!.toString(16)}}`)
