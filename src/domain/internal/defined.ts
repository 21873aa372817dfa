/**
 * Removes keys whose value is `undefined`: objects are compared and sent as JSON, where absent and `undefined` differ.
 */
export const defined = <A extends object>(keys: A): { readonly [K in keyof A]?: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined)) as never
