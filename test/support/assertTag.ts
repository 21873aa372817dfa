import { assert } from "@effect/vitest"

/** Asserts the tag of an error and returns the error. */
export const assertTag = <E extends { readonly _tag: string }, Tag extends E["_tag"]>(
  error: E,
  tag: Tag
): Extract<E, { readonly _tag: Tag }> => {
  assert.strictEqual(error._tag, tag, JSON.stringify(error))
  return error as Extract<E, { readonly _tag: Tag }>
}
