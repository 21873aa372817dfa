/**
 * Characters that a terminal does not show, or that reorder the text around them. A server could use them to hide words or to
 * make a name look like another one, so the terminal shows their code points instead. Emoji sequences and the joiners and
 * marks that scripts need stay as they are.
 */

/** Replaces each hidden character, by default with its code point: `<U+202E>`. */
export const revealHidden = (text: string, reveal: (codePoint: number) => string = codePointLabel): string =>
  hidden.test(text)
    ? text.replace(sequenceOrHidden, (found, sequence: string | undefined) =>
        sequence === undefined ? reveal(found.codePointAt(0)!) : found
      )
    : text

const codePointLabel = (codePoint: number): string => `<U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}>`

/**
 * Format characters except the visible Arabic and Syriac number signs, line and paragraph separators, variation selectors,
 * and the letters and marks that have no glyph.
 */
const hiddenClass =
  "(?:(?![\\u0600-\\u0605\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u{110bd}\\u{110cd}])" +
  "[\\p{Cf}\\p{Zl}\\p{Zp}\\p{Variation_Selector}\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u2800\\u3164\\uffa0])"

const hidden = new RegExp(hiddenClass, "u")

/** Scripts whose spelling needs joiners. In the others, a joiner only hides. */
const joining =
  "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}" +
  "\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}" +
  "\\p{Script=Sinhala}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}]"

const wholeSequences = [
  // a flag of a region: the black flag, tag letters and digits, the end tag
  "\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}",
  // emoji, with or without presentation selectors, modifiers and joiners between two of them
  "(?:[\\p{Extended_Pictographic}#*0-9][\\p{Emoji_Modifier}\\ufe0e\\ufe0f]?\\u20e3?)" +
    "(?:\\u200d\\p{Extended_Pictographic}[\\p{Emoji_Modifier}\\ufe0e\\ufe0f]?)*",
  // an ideograph in a certain form
  "\\p{Script=Han}[\\ufe00-\\ufe0d\\u{e0100}-\\u{e01ef}]",
  // a joiner within a word
  `(?<=${joining})[\\u200c\\u200d](?=${joining})`,
  "(?<=\\p{Script=Mongolian})[\\u180b-\\u180f]"
]

const sequenceOrHidden = new RegExp(`(${wholeSequences.join("|")})|${hiddenClass}`, "gu")
