import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, FastCheck as fc } from "effect"
import type { Definition } from "../../src/supervision/servers/Definition.js"
import * as DecodeConfig from "../../src/supervision/servers/decodeConfig.js"
import * as Reconciler from "../../src/supervision/servers/Reconciler.js"
import type { Desired } from "../../src/supervision/model.js"
import { runs } from "./runs.js"

const possible = ["a", "b", "c", "d", "constructor"] as const
const name = fc.constantFrom(...possible, "__proto__")
const good = fc.constantFrom<unknown>(
  { command: "x" },
  { command: "y" },
  { command: "x", timeout: 5 },
  { command: "x", enabled: false },
  { url: "https://example.com" },
  { url: "https://example.com", headers: { A: "1" } }
)
const entry = fc.oneof(good, fc.constantFrom<unknown>({ command: 1 }, { url: "no" }, 1, { enabled: false }))
const entries = fc.uniqueArray(fc.tuple(name, entry), { selector: ([name]) => name, maxLength: 5 })

const desired: fc.Arbitrary<Desired> = fc.record({
  servers: entries.map((entries) => Object.fromEntries(entries) as never),
  defaults: fc.constantFrom({}, { timeout: 7 }),
  untrusted: fc.subarray(["a", "b"])
})

const resolve = (desired: Desired) => Effect.runSync(DecodeConfig.decode(desired))

const running: fc.Arbitrary<ReadonlyMap<string, Definition>> = fc
  .tuple(desired, fc.array(fc.tuple(fc.constantFrom(...possible), good), { maxLength: 3 }))
  .map(([desired, added]) => {
    const dynamic = added.map(
      ([name, input]) => [name, Either.getOrThrow(DecodeConfig.define(name, input, {}))] as const
    )
    return new Map([...dynamic, ...resolve(desired).definitions])
  })

const classes = (changes: Reconciler.Changes) => ({
  start: changes.start.map(({ name }) => name),
  stop: changes.stop,
  change: changes.change.map(({ change, definition }) => `${definition.name} ${change}`),
  keep: changes.keep,
  taken: changes.taken
})

describe("reconciling", () => {
  it("twice changes nothing more than once", () =>
    fc.assert(
      fc.property(running, desired, (before, desired) => {
        const wanted = resolve(desired)
        const after = Reconciler.apply(before, Reconciler.compare(before, wanted))
        const again = Reconciler.compare(after, wanted)
        assert.deepStrictEqual(classes(again), { start: [], stop: [], change: [], keep: [...after.keys()], taken: [] })
        assert.deepStrictEqual(Reconciler.apply(after, again), after)
      }),
      runs(300)
    ))

  it("keeps servers that were added while running, unless the config takes their name", () =>
    fc.assert(
      fc.property(running, desired, (before, desired) => {
        const changes = Reconciler.compare(before, resolve(desired))
        const after = Reconciler.apply(before, changes)
        for (const definition of before.values()) {
          if (definition.origin !== "dynamic") continue
          if (changes.taken.includes(definition.name)) assert.strictEqual(after.get(definition.name)!.origin, "config")
          else assert.strictEqual(after.get(definition.name), definition)
        }
      }),
      runs(300)
    ))

  it("puts every name in exactly one class", () =>
    fc.assert(
      fc.property(running, desired, (before, desired) => {
        const wanted = resolve(desired)
        const changes = Reconciler.compare(before, wanted)
        const { keep, restart, start, stop, update } = Reconciler.toPlan(changes, { appear: [], vanish: [] })
        const all = [...new Set([...before.keys(), ...wanted.definitions.keys()])]
        assert.deepStrictEqual([...start, ...stop, ...restart, ...update, ...keep].toSorted(), all.toSorted())
      }),
      runs(300)
    ))

  it("does not depend on the order of the entries", () =>
    fc.assert(
      fc.property(running, entries, (before, entries) => {
        const classified = (list: typeof entries) =>
          Object.values(
            classes(Reconciler.compare(before, resolve({ servers: Object.fromEntries(list) as never })))
          ).map((names) => names.toSorted())
        assert.deepStrictEqual(classified(entries), classified(entries.toReversed()))
      }),
      runs(300)
    ))
})
