/**
 * Parses `KEY=value` words to a record.
 */

/** The record, or the first word that is no pair, or the first key that occurs twice. */
export type Pairs =
  | { readonly _tag: "Pairs"; readonly values: Readonly<Record<string, string>> }
  | { readonly _tag: "NotAPair"; readonly word: string }
  | { readonly _tag: "Duplicate"; readonly key: string }

/** @param identity two keys with the same identity are duplicates. Defaults to the key itself. */
export const pairs = (words: ReadonlyArray<string>, identity: (key: string) => string = String): Pairs => {
  const found = new Map<string, readonly [string, string]>()
  for (const word of words) {
    const equals = word.indexOf("=")
    if (equals < 1) return { _tag: "NotAPair", word }
    const key = word.slice(0, equals)
    if (found.has(identity(key))) return { _tag: "Duplicate", key }
    found.set(identity(key), [key, word.slice(equals + 1)])
  }
  return { _tag: "Pairs", values: Object.fromEntries(found.values()) }
}
