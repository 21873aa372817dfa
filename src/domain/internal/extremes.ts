/**
 * Finds the largest and the smallest of many numbers. `Math.max(...numbers)` fails above about 120,000 of them.
 */

/** The largest number, or `minimum` if there is none or all are smaller. */
export const largest = (numbers: Iterable<number>, minimum: number): number => {
  let result = minimum
  for (const each of numbers) if (each > result) result = each
  return result
}

/** The smallest number, or `Infinity` if there is none. */
export const smallest = (numbers: Iterable<number>): number => {
  let result = Infinity
  for (const each of numbers) if (each < result) result = each
  return result
}
