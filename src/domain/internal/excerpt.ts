/**
 * Shortens names and values that are quoted in messages.
 */
/** Longer texts are shortened. */
const maxLength = 200

/** Quotes a name or value in a message. Of a long text, only the beginning and the length are shown. */
export const excerpt = (text: string): string =>
  text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, "")}… (${text.length} characters)`
