/** Longer texts are cut where they are quoted in a message. */
const maxLength = 200

/** A name or value as it is quoted in a message: its beginning and its length if it is very long. */
export const excerpt = (text: string): string =>
  text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "")}… (${text.length} characters)`
