/**
 * Counts how many entries of maps, sets and arrays a piece of code visits: a measure of work that does not depend on the machine.
 */
import { Effect } from "effect"

type Method = (this: unknown, ...args: Array<unknown>) => unknown

/** A step is a visit of one entry. */
const stepsOf = (subject: unknown): number => (Array.isArray(subject) ? subject.length : 1)

const counted = [
  [Map.prototype, ["get", "has", "set", "delete"]],
  [Set.prototype, ["has", "add", "delete"]],
  [Array.prototype, ["map", "filter", "flatMap", "every", "some", "forEach", "sort", "toSorted"]]
] as const

/** The number of steps while the effect runs, including all other code that runs meanwhile. */
export const visits = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<number, E, R> =>
  Effect.suspend(() => {
    let steps = 0
    const restore = counted.flatMap(([prototype, names]) =>
      names.map((name) => {
        const methods = prototype as unknown as Record<string, Method>
        const original = methods[name]!
        const method: Method = function (...args) {
          steps += stepsOf(this)
          return original.apply(this, args)
        }
        Object.defineProperty(prototype, name, { value: method, writable: true, configurable: true })
        return () => Object.defineProperty(prototype, name, { value: original, writable: true, configurable: true })
      })
    )
    return effect.pipe(
      Effect.ensuring(Effect.sync(() => restore.forEach((each) => each()))),
      Effect.map(() => steps)
    )
  })
