/** `KEY=value` words as a record, or the first word that is none. */
export const pairs = (words: ReadonlyArray<string>): Readonly<Record<string, string>> | string => {
  const found: Array<readonly [string, string]> = []
  for (const word of words) {
    const equals = word.indexOf("=")
    if (equals < 1) return word
    found.push([word.slice(0, equals), word.slice(equals + 1)])
  }
  return Object.fromEntries(found)
}
