export type Pairs =
  | { readonly _tag: "Pairs"; readonly values: Readonly<Record<string, string>> }
  | { readonly _tag: "NoPair"; readonly word: string }
  | { readonly _tag: "Twice"; readonly key: string }

/**
 * `KEY=value` words as a record; or the first word that is none, or the first key that was there before.
 *
 * @param same what two keys have in common that mean the same. Defaults to the key.
 */
export const pairs = (words: ReadonlyArray<string>, same: (key: string) => string = String): Pairs => {
  const found = new Map<string, readonly [string, string]>()
  for (const word of words) {
    const equals = word.indexOf("=")
    if (equals < 1) return { _tag: "NoPair", word }
    const key = word.slice(0, equals)
    if (found.has(same(key))) return { _tag: "Twice", key }
    found.set(same(key), [key, word.slice(equals + 1)])
  }
  return { _tag: "Pairs", values: Object.fromEntries(found.values()) }
}
