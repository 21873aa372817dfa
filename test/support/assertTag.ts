import { assert } from "@effect/vitest"

/** The error, known to be of one kind. */
export const assertTag = <E extends { readonly _tag: string }, Tag extends E["_tag"]>(
  error: E,
  tag: Tag
): Extract<E, { readonly _tag: Tag }> => {
  assert.strictEqual(error._tag, tag, JSON.stringify(error))
  return error as Extract<E, { readonly _tag: Tag }>
}
