/**
 * Characters that a person cannot see, or that move what stands around them: control and format characters, line ends, fillers
 * without width, and spaces that are not the ordinary one.
 */

/**
 * Those that a terminal does not show, as a class for regular expressions with the flag `u`. The number signs of Arabic, Syriac
 * and Kaithi are format characters, too, but they can be seen. What is ignorable and not assigned yet counts.
 */
export const invisible =
  "(?:(?![\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}])" +
  "[\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800])"

const hiddenClass = `${invisible}|[\\p{Cc}\\p{Cs}]|(?! )\\p{Zs}`

const hidden = new RegExp(hiddenClass, "u")

const allHidden = new RegExp(hiddenClass, "gu")

export const hasHidden = (text: string): boolean => hidden.test(text)

const short: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** The text with each of them as an escape sequence. */
export const escapeHidden = (text: string): string =>
  text.replace(allHidden, (found) => short[found] ?? `\\u{${found.codePointAt(0)!.toString(16)}}`)
