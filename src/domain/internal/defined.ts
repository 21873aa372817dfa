/**
 * The keys that have a value. Absent details stay absent instead of being `undefined`: they are compared and sent as JSON.
 */
export const defined = <A extends object>(keys: A): { readonly [K in keyof A]?: Exclude<A[K], undefined> } =>
  Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined)) as never
