/**
 * Texts of a server that we repeat: without secrets, and no longer than they have to be.
 */
import { detachText } from "../../system/detachText.js"

/** How secrets are hidden, in a text and in one that goes on where it is not seen. */
export interface Scrubbers {
  readonly scrub: (text: string) => string
  readonly scrubBeginning: (text: string) => string
}

/**
 * The beginning of a text. Of a long one no more is scrubbed than is shown, and a little besides: the last cut could leave
 * half a secret.
 */
export const shown = ({ scrub, scrubBeginning }: Scrubbers, text: string, length: number): string =>
  text.length <= 2 * length
    ? scrub(text).slice(0, length)
    : detachText(scrubBeginning(text.slice(0, 2 * length)).slice(0, length))

/** The same, and where it is cut its length is said. */
export const excerptOf = (scrubbers: Scrubbers, text: string, length: number): string =>
  text.length <= length
    ? scrubbers.scrub(text)
    : `${shown(scrubbers, text, length)}… (${text.length} characters in all)`
