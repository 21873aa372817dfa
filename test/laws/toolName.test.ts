import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { ToolName } from "../../src/index.js"
import { runs } from "./runs.js"

const publicName = /^[A-Za-z0-9_-]{1,64}$/
const hashSuffix = /_[0-9a-v]{10}$/

/** Few letters, so that names collide often, and all special characters of the naming rule. */
const word = fc.oneof(
  { arbitrary: fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom("a", "b", "_") }), weight: 4 },
  {
    arbitrary: fc.constantFrom(
      "a.b",
      "a b",
      "a-b",
      "a_b",
      "a/b",
      "ä",
      "名前",
      "🔧",
      "\ud800",
      "\udc00",
      "supervisor",
      "super",
      "visor_x"
    ),
    weight: 2
  },
  {
    arbitrary: fc.constantFrom(
      "x_0123456789",
      "0123456789",
      "a_vvvvvvvvvv",
      "x".repeat(200),
      `${"x".repeat(200)}y`,
      "x".repeat(62)
    ),
    weight: 1
  },
  { arbitrary: fc.string({ minLength: 1, maxLength: 80 }), weight: 1 }
)

const ref: fc.Arbitrary<ToolName.Ref> = fc.record({ server: word, tool: word })
const refs = fc.array(ref, { maxLength: 12 })
const serversOf = (refs: ReadonlyArray<ToolName.Ref>) => [...new Set(refs.map(({ server }) => server))]
const key = ({ server, tool }: ToolName.Ref) => JSON.stringify([server, tool])

const often = runs(3_000)

describe("public tool names", () => {
  it("are valid and at most 64 characters long", () =>
    fc.assert(
      fc.property(fc.array(word), ref, (servers, ref) => {
        assert.match(ToolName.namer([ref.server, ...servers])(ref), publicName)
      }),
      often
    ))

  it("do not depend on the order of servers or tools", () =>
    fc.assert(
      fc.property(refs, fc.array(word), (refs, idle) => {
        const servers = [...serversOf(refs), ...idle]
        const forward = ToolName.assign(refs, ToolName.namer(servers))
        const backward = ToolName.assign(refs.toReversed(), ToolName.namer(servers.toReversed()))
        const sorted = (assignment: ToolName.Assignment) =>
          [...assignment.byName].map(([name, ref]) => [name, key(ref)].join(" ")).sort()
        assert.deepStrictEqual(sorted(forward), sorted(backward))
      }),
      often
    ))

  it("do not depend on which servers are connected", () =>
    fc.assert(
      fc.property(refs, fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }), (refs, up) => {
        const nameOf = ToolName.namer(serversOf(refs))
        const all = ToolName.assign(refs, nameOf)
        const some = ToolName.assign(
          refs.filter((_, index) => up[index]),
          nameOf
        )
        for (const [name, ref] of some.byName) assert.deepStrictEqual(all.byName.get(name), ref)
      }),
      often
    ))

  it("are plain exactly if the naming rule allows it", () =>
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), ref, (others, ref) => {
        const name = `${ref.server}_${ref.tool}`
        const foreign = ["supervisor", ...others.filter((other) => other !== ref.server)]
        const plain =
          publicName.test(name) && !hashSuffix.test(name) && !foreign.some((other) => name.startsWith(`${other}_`))
        const given = ToolName.namer([ref.server, ...others])(ref)
        assert.strictEqual(given === name, plain)
        if (!plain) assert.match(given, hashSuffix)
      }),
      often
    ))

  it("are different for different tools", () =>
    fc.assert(
      fc.property(refs, (refs) => {
        const { byName, collisions } = ToolName.assign(refs, ToolName.namer(serversOf(refs)))
        assert.deepStrictEqual(collisions, [])
        assert.strictEqual(byName.size, new Set(refs.map(key)).size)
        assert.strictEqual(new Set([...byName.values()].map(key)).size, byName.size)
      }),
      often
    ))

  it("of two tools that collide are reported and neither is listed", () =>
    fc.assert(
      fc.property(refs, fc.integer({ min: 1, max: 3 }), (refs, buckets) => {
        // a hash this short collides often
        const nameOf = ({ server, tool }: ToolName.Ref) => String((server.length + tool.length) % buckets)
        const { byName, collisions } = ToolName.assign(refs, nameOf)
        const reported = collisions.flatMap(({ refs }) => refs)
        assert.sameMembers([...[...byName.values()].map(key), ...reported.map(key)], [...new Set(refs.map(key))])
        for (const { name, refs } of collisions) {
          assert.isTrue(refs.length > 1)
          assert.isFalse(byName.has(name))
        }
      }),
      often
    ))

  it("never take a name of the supervisor's own tools", () =>
    fc.assert(
      fc.property(
        fc.array(word),
        ref,
        fc.string({ minLength: 1, maxLength: 10, unit: fc.constantFrom("a", "x", "_") }),
        (servers, ref, own) => {
          assert.notStrictEqual(ToolName.namer([ref.server, ...servers])(ref), ToolName.ofManagement(own))
        }
      ),
      often
    ))

  it("distinguish a_b + c from a + b_c", () => {
    const nameOf = ToolName.namer(["a", "a_b"])
    const one = nameOf({ server: "a_b", tool: "c" })
    const other = nameOf({ server: "a", tool: "b_c" })
    assert.match(one, /^a_b_c_[0-9a-v]{10}$/)
    assert.match(other, /^a_b_c_[0-9a-v]{10}$/)
    assert.notStrictEqual(one, other)
  })
})

describe("tool filters", () => {
  const globs = fc.dictionary(
    fc.oneof(word, fc.constantFrom("*", "a_*", "*_b", "a?", "{a,b}_*", "[", "", "!a", "**")),
    fc.boolean(),
    { maxKeys: 4 }
  )

  it("accept any pattern and any name", () =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.boolean()), ref, (globs, ref) => {
        assert.isBoolean(ToolName.filter({ global: globs, server: globs, agent: globs })(ref))
      }),
      often
    ))

  it("let a later match override an earlier one", () =>
    fc.assert(
      fc.property(globs, globs, globs, fc.boolean(), ref, (global, server, agent, last, ref) => {
        const allowed = ToolName.filter({ global, server, agent: { ...without(agent, "*"), "*": last } })
        assert.strictEqual(allowed(ref), last)
      }),
      often
    ))

  it("change nothing if nothing matches", () =>
    fc.assert(
      fc.property(globs, ref, (global, ref) => {
        const allowed = ToolName.filter({ global })(ref)
        assert.strictEqual(ToolName.filter({ global, server: { "no such tool": !allowed } })(ref), allowed)
      }),
      often
    ))

  const without = (globs: ToolName.Globs, pattern: string) =>
    Object.fromEntries(Object.entries(globs).filter(([key]) => key !== pattern))
})
