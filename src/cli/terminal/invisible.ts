/**
 * Shows the code points of characters that a terminal does not display or that reorder the text around them. A server could use
 * them to hide words or to imitate a name. Emoji sequences stay, and so do the joiners and marks that scripts need.
 */
import { invisible } from "../../domain/internal/hiddenCharacters.js"

/** Replaces each hidden character, by default with its code point: `<U+202E>`. */
export const revealHidden = (text: string, reveal: (codePoint: number) => string = codePointLabel): string =>
  hidden.test(text)
    ? text.replace(sequenceOrHidden, (found, sequence: string | undefined) =>
        sequence === undefined ? reveal(found.codePointAt(0)!) : found
      )
    : text

const codePointLabel = (codePoint: number): string => `<U+${codePoint.toString(16).toUpperCase().padStart(4, "0")}>`

/** More marks on one letter than any script needs: they cover the lines above and below. */
const tooManyMarks = "(?<=\\p{M}{8})\\p{M}"

const hiddenOrMark = `(?:${invisible}|${tooManyMarks})`

const hidden = new RegExp(hiddenOrMark, "u")

/** Scripts whose spelling needs joiners. In the others, a joiner only hides. */
const joining =
  "[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}" +
  "\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}" +
  "\\p{Script=Sinhala}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tibetan}]"

/** Selects the form of an ideograph. */
const form = "[\\ufe00-\\ufe0d\\u{e0100}-\\u{e01ef}]"

const wholeSequences = [
  // a flag of a region: the black flag, tag letters and digits, the end tag
  "\\u{1f3f4}[\\u{e0030}-\\u{e0039}\\u{e0061}-\\u{e007a}]{3,6}\\u{e007f}",
  // emoji, with or without presentation selectors, modifiers and joiners between two of them
  "\\p{Extended_Pictographic}[\\p{Emoji_Modifier}\\ufe0e\\ufe0f]?" +
    "(?:\\u200d\\p{Extended_Pictographic}[\\p{Emoji_Modifier}\\ufe0e\\ufe0f]?)*",
  // a key: without its cap, the selector only hides
  "[#*0-9]\\ufe0f?\\u20e3",
  // an ideograph in a certain form, but not one after the other: each selector could carry a byte
  `(?<!${form})\\p{Script=Han}${form}`,
  // one joiner behind a letter, also at the end of a word
  `(?<=${joining})[\\u200c\\u200d](?![\\u200c\\u200d])`,
  "(?<=\\p{Script=Mongolian})[\\u180b-\\u180f]"
]

const sequenceOrHidden = new RegExp(`(${wholeSequences.join("|")})|${hiddenOrMark}`, "gu")
