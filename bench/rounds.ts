/**
 * All take turns, and it is not always the same one that begins: what else happens on the machine happens to all.
 */
export const inTurns = async <Name extends string, A>(
  rounds: number,
  names: ReadonlyArray<Name>,
  measure: (name: Name) => Promise<A>
): Promise<Record<Name, ReadonlyArray<A>>> => {
  const found = Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<Name, Array<A>>
  for (let round = 0; round < rounds; round += 1) {
    const first = round % names.length
    for (const name of [...names.slice(first), ...names.slice(0, first)]) found[name].push(await measure(name))
  }
  return found
}
