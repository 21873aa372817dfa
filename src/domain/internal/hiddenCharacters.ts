/**
 * Finds characters that cannot be seen, or that change how the text around them is displayed: control and format characters,
 * line ends, fillers without width, and spaces other than the ordinary one.
 */

/**
 * The characters that a terminal does not show, as a class for regular expressions with the flag `u`. The number signs of
 * Arabic, Syriac and Kaithi are format characters, too, but they are visible. Unassigned ignorable code points are included.
 */
export const invisible =
  "(?:(?![\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}])" +
  "[\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u2800])"

const hiddenClass = `${invisible}|[\\p{Cc}\\p{Cs}]|(?! )\\p{Zs}`

const hidden = new RegExp(hiddenClass, "u")

const allHidden = new RegExp(hiddenClass, "gu")

export const hasHidden = (text: string): boolean => hidden.test(text)

const shortEscapes: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

/** Replaces each hidden character by an escape sequence. */
export const escapeHidden = (text: string): string =>
  text.replace(allHidden, (character) => shortEscapes[character] ?? `\\u{${character.codePointAt(0)!.toString(16)}}`)
