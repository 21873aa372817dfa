/**
 * Removes secrets from texts of a server, and limits their length for display.
 */
import { detachText } from "../../system/detachText.js"

/** The functions that remove secrets from a text, and from the beginning of a text whose rest is unknown. */
export interface Scrubbers {
  readonly scrub: (text: string) => string
  readonly scrubBeginning: (text: string) => string
}

/**
 * The beginning of a text, without secrets. Of a long text, only twice the shown length is scrubbed: scrubbing exactly what is
 * shown could leave half a secret at the cut.
 */
export const shown = ({ scrub, scrubBeginning }: Scrubbers, text: string, length: number): string =>
  text.length <= 2 * length
    ? scrub(text).slice(0, length)
    : detachText(scrubBeginning(text.slice(0, 2 * length)).slice(0, length))

/** The beginning of a text, without secrets. If it is cut, the length of the whole text is appended. */
export const excerptOf = (scrubbers: Scrubbers, text: string, length: number): string =>
  text.length <= length
    ? scrubbers.scrub(text)
    : `${shown(scrubbers, text, length)}… (${text.length} characters in all)`
