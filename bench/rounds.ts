/**
 * Runs all contenders in turn, starting with a different one each round, so that other load affects all of them.
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
