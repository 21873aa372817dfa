/**
 * The largest and the smallest of many numbers. `Math.max(...numbers)` fails above about 120,000 of them.
 */

/** `otherwise` for none, and where all are smaller than it. */
export const largest = (numbers: Iterable<number>, otherwise: number): number => {
  let found = otherwise
  for (const each of numbers) if (each > found) found = each
  return found
}

/** `Infinity` for none. */
export const smallest = (numbers: Iterable<number>): number => {
  let found = Infinity
  for (const each of numbers) if (each < found) found = each
  return found
}
