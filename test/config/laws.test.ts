import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { stringify } from "smol-toml"
import { combine, trusted } from "../../src/config/layers/combineLayers.js"
import * as LayerContent from "../../src/config/document/LayerContent.js"
import * as LayerEntry from "../../src/config/document/LayerEntry.js"
import { interpolate, placeholdersOf } from "../../src/config/layers/interpolate.js"
import * as ConfigLayer from "../../src/config/layers/ConfigLayer.js"
import { parse } from "../../src/config/document/parseDocument.js"
import { outline } from "../../src/config/document/tomlOutline.js"
import * as DocumentText from "../../src/config/document/DocumentText.js"
import * as Tree from "../../src/config/document/Tree.js"
import { runs } from "../laws/runs.js"
import { cpuMillis } from "../support/cpuTime.js"

const layerOf = (name: string): ConfigLayer.ConfigLayer => ({ kind: "file", name, directory: "/" })

const treeOf = (value: unknown, name: string) => Tree.fromPlain(value, layerOf(name))

/** Values that meet often: few keys, and every kind of value under each. */
const value: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(1, "x", false, null, [], [1]),
    tie("record")
  ),
  record: fc.dictionary(fc.constantFrom("a", "b", "*", "enabled"), tie("value"), { maxKeys: 4, noNullPrototype: true })
})).value

const entryValue = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(
      {
        type: fc.constantFrom("local", "stdio", "remote", "http", "sse", "nonsense"),
        command: fc.constantFrom<unknown>("x", "y", 3),
        args: value,
        environment: value,
        url: fc.constantFrom("http://a", "http://b"),
        headers: value,
        oauth: value,
        timeout: value,
        enabled: fc.boolean()
      },
      { requiredKeys: [] }
    )
  },
  { weight: 1, arbitrary: value }
)

/** What can be told of a tree: its values in order, and the layer of each. */
const told = (tree: Tree.Tree) =>
  Array.from(Tree.leaves(tree), ([path, leaf]) => [path, Tree.toPlain(leaf), leaf.origin.layer.name])

describe("merging", () => {
  it("is associative, in values, order and origins", () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        const [x, y, z] = [treeOf(a, "1"), treeOf(b, "2"), treeOf(c, "3")]
        const left = Tree.merge(Tree.merge(x, y), z)!
        const right = Tree.merge(x, Tree.merge(y, z))!
        assert.deepStrictEqual(told(left), told(right))
      }),
      runs(2000)
    )
  })

  it("of entries is associative, also for different kinds", () => {
    fc.assert(
      fc.property(entryValue, entryValue, entryValue, (a, b, c) => {
        const [x, y, z] = [a, b, c].map((each, index) => LayerEntry.make(treeOf(each, String(index)))) as [
          LayerEntry.LayerEntry,
          LayerEntry.LayerEntry,
          LayerEntry.LayerEntry
        ]
        const left = LayerEntry.merge(LayerEntry.merge(x, y), z)
        const right = LayerEntry.merge(x, LayerEntry.merge(y, z))
        assert.deepStrictEqual(told(left.tree), told(right.tree))
        assert.deepStrictEqual([...left.clears].sort(), [...right.clears].sort())
      }),
      runs(2000)
    )
  })

  it("uses the value of the highest layer, with its origin", () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const high = treeOf(b, "high")
        const merged = Tree.merge(treeOf(a, "low"), high)!
        for (const [path, leaf] of Tree.leaves(high)) {
          if (leaf._tag !== "Leaf") continue
          const found = Tree.find(merged, path)
          assert.deepStrictEqual(found.rest, [])
          assert.deepStrictEqual(Tree.toPlain(found.tree), Tree.toPlain(leaf))
          assert.strictEqual(found.tree.origin.layer.name, "high")
        }
        for (const [path, leaf] of Tree.leaves(merged)) {
          if (leaf.origin.layer.name !== "low") continue
          assert.deepStrictEqual(Tree.toPlain(Tree.find(treeOf(a, "low"), path).tree), Tree.toPlain(leaf))
        }
      }),
      runs(1000)
    )
  })

  it("with an empty layer changes nothing", () => {
    fc.assert(
      fc.property(entryValue, (a) => {
        const entry = LayerEntry.make(treeOf(a, "1"))
        const nothing = LayerEntry.make(treeOf({}, "2"))
        if (!Tree.isBranch(entry.tree)) return
        assert.deepStrictEqual(Tree.toPlain(LayerEntry.merge(entry, nothing).tree), Tree.toPlain(entry.tree))
        assert.deepStrictEqual(told(LayerEntry.merge(nothing, entry).tree), told(entry.tree))
      })
    )
  })

  it.each<[string, object, object, object]>([
    [
      "a command over a command in the other spelling",
      { command: ["a", "1"] },
      { command: "b", args: ["2"] },
      { command: "b", args: ["2"] }
    ],
    ["arguments alone", { command: ["a", "1"] }, { args: ["2"] }, { command: "a", args: ["2"] }],
    [
      "variables in both spellings",
      { environment: { A: "1", B: "1" } },
      { env: { B: "2" } },
      { environment: { A: "1", B: "2" } }
    ],
    [
      "a switch in the other spelling",
      { command: "a", enabled: true },
      { disabled: true },
      { command: "a", enabled: false }
    ],
    [
      "an address over a command",
      { command: "a", env: { A: "1" }, timeout: 5 },
      { url: "http://b" },
      { timeout: 5, url: "http://b" }
    ],
    [
      "a command over an address",
      { type: "sse", url: "http://b", headers: { A: "1" }, lazy: true },
      { command: "a" },
      { lazy: true, command: "a" }
    ],
    ["a switch", { command: "a" }, { enabled: false }, { command: "a", enabled: false }]
  ])("lets %s win", (_what, low, high, merged) => {
    const contents = [low, high].map((entry, index) => {
      const layer = layerOf(String(index))
      return trusted(Either.getOrThrow(LayerContent.ofTree(layer, Tree.fromPlain({ mcp: { a: entry } }, layer))))
    })
    const [server] = combine(contents).servers
    assert.deepStrictEqual(Tree.toPlain(server!.entry.tree), merged)
  })
})

const plainValue: fc.Arbitrary<unknown> = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.boolean(),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
    fc.array(fc.string(), { maxLength: 3 }),
    tie("record")
  ),
  record: fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("a.b", 'q"', "__proto__", "服务器", "")), tie("value"), {
    maxKeys: 4,
    noNullPrototype: true
  })
})).record

describe("formats", () => {
  const read = (name: string, raw: string) =>
    Tree.toPlain(
      Either.getOrThrowWith(
        parse(DocumentText.make(name, raw), layerOf(name)),
        (issues) => new Error(JSON.stringify(issues))
      ).tree
    )

  it("give the same config: JSON, JSONC with comments, and TOML", () => {
    fc.assert(
      fc.property(plainValue, (value) => {
        const json = read("x.json", JSON.stringify(value))
        const jsonc = read("x.jsonc", `// a\n${JSON.stringify(value, null, 2).replaceAll("\n", "\r\n")} /* b */`)
        const toml = read("x.toml", stringify(value as object))
        assert.deepStrictEqual(json, value)
        assert.deepStrictEqual(jsonc, value)
        // a document of TOML has no order of tables and values
        assert.deepStrictEqual(toml, value)
      }),
      runs(500)
    )
  })

  it("are recognized by content if there is no file extension", () => {
    fc.assert(
      fc.property(plainValue, (value) => {
        assert.deepStrictEqual(read("VARIABLE", ` \n// x\n${JSON.stringify(value)}`), value)
        if (Object.keys(value as object).length > 0)
          assert.deepStrictEqual(read("VARIABLE", stringify(value as object)), value)
      })
    )
  })

  it("return the place of every value", () => {
    fc.assert(
      fc.property(plainValue, (value) => {
        const raws = [
          ["x.json", JSON.stringify(value, null, 2)],
          ["x.toml", stringify(value as object)]
        ] as const
        for (const [name, raw] of raws) {
          const text = DocumentText.make(name, raw)
          const { tree } = Either.getOrThrow(parse(text, { ...layerOf(name), text }))
          for (const [path, leaf] of Tree.leaves(tree)) {
            if (leaf._tag !== "Leaf" || typeof leaf.value !== "boolean") continue
            const { column, line } = ConfigLayer.place(leaf.origin)
            const rest = raw.split("\n")[line! - 1]!.slice(column! - 1)
            // of JSON it is the value, of TOML the key
            assert.isTrue(
              name === "x.json" ? rest.startsWith(String(leaf.value)) : rest.includes(`= ${leaf.value}`),
              `${path} ${rest}`
            )
          }
        }
      })
    )
  })

  it("never throw or hang, for ten thousand arbitrary texts", () => {
    const samples = [
      '{"mcp":{"a":{"command":["x","y"],"env":{"A":"{env:B}"}}},"tools":{"a_*":true}}',
      '[mcp.a]\ncommand = "x"\nargs = ["a", """b"""]\n[[mcp.b.c]]\nx = { y = 1, z.w = 2 }\n'
    ]
    const tokens = [
      "{",
      "}",
      "[",
      "]",
      "[[",
      "]]",
      '"',
      '"""',
      "'''",
      ",",
      ":",
      "=",
      ".",
      "#",
      "//",
      "/*",
      "*/",
      "\\",
      "\n",
      "\r",
      "\0",
      "\uFEFF",
      "\uD800",
      "mcp",
      "null",
      "1e999",
      "-",
      "{env:",
      "${",
      "}"
    ]
    const mutated = fc
      .tuple(
        fc.constantFrom(...samples),
        fc.array(fc.tuple(fc.nat(), fc.nat(6), fc.oneof(fc.constantFrom(...tokens), fc.string({ maxLength: 3 }))), {
          minLength: 1,
          maxLength: 6
        })
      )
      .map(([sample, edits]) =>
        edits.reduce((text, [at, cut, put]) => {
          const from = at % (text.length + 1)
          return text.slice(0, from) + put + text.slice(from + cut)
        }, sample)
      )
    const bytes = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes).toString("utf8"))
    const soup = fc.array(fc.constantFrom(...tokens), { maxLength: 60 }).map((all) => all.join(""))
    let right = 0
    const law = fc.property(
      fc.oneof(mutated, bytes, soup, fc.string({ unit: "binary" })),
      fc.constantFrom("x.json", "x.toml", "x"),
      (raw, name) => {
        const text = DocumentText.make(name, raw)
        const layer = { ...layerOf(name), text }
        const content = LayerContent.read(layer, text)
        outline(text.text)
        if (Either.isRight(content)) {
          right += 1
          combine([trusted(content.right)])
        } else {
          assert.isAtLeast(content.left.length, 1)
          for (const { expected, file, found } of content.left)
            assert.isTrue(expected !== "" && found !== "" && file === name)
        }
      }
    )
    const took = cpuMillis(() => fc.assert(law, runs(10_000)))
    assert.isAbove(right, 0)
    assert.isBelow(took / Number(process.env.LAWS ?? 1), 60_000)
  })

  it.each([
    ["x.json", "[".repeat(200_000)],
    ["x.json", '{"a":'.repeat(50_000)],
    ["x.toml", `a = ${"[".repeat(200_000)}`],
    ["x.toml", `${"[".repeat(100_000)}`],
    ["x.json", `{"a": "${"x".repeat(5_000_000)}"}`],
    ["x.json", `{${" ".repeat(300_000)}`],
    ["x.toml", `a = "${"\\".repeat(300_000)}`],
    ["x.json", "/*".repeat(200_000)]
  ])("say what is wrong with a monstrous %s", (name, raw) => {
    const text = DocumentText.make(name, raw)
    const took = cpuMillis(() => assert.isTrue(Either.isLeft(LayerContent.read({ ...layerOf(name), text }, text))))
    assert.isBelow(took, 5000)
  })
})

describe("interpolation", () => {
  const values = (variables: Record<string, string>) => ({
    variable: (name: string) => (Object.hasOwn(variables, name) ? variables[name] : undefined),
    known: (name: string) => (name === "userHome" ? "/home/ada" : undefined),
    file: (path: string) => (path === "token" ? { content: "from-file" } : { problem: "no file of that name" })
  })

  it("keeps a text without placeholders", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        fc.pre(placeholdersOf(text).length === 0)
        assert.deepStrictEqual(interpolate(text, values({})), { text, secrets: [], missing: [] })
      }),
      runs(1000)
    )
  })

  it("does not interpolate inserted values", () => {
    fc.assert(
      fc.property(fc.constantFrom("${B}", "{env:B}", "{file:token}", "$${B}", "`id`", "$(id)"), (value) => {
        const { missing, secrets, text } = interpolate("<${A}>", values({ A: value, B: "no" }))
        assert.deepStrictEqual([text, secrets, missing], [`<${value}>`, [value], []])
      })
    )
  })

  it.each([
    ["{env:A}", "1234"],
    ["${A}", "1234"],
    ["${env:A}", "1234"],
    ["${A:-x}", "1234"],
    ["{env:NONE:-x y}", "x y"],
    ["${NONE:-}", ""],
    ["${EMPTY:-x}", "x"],
    ["Bearer {env:A}/${A}", "Bearer 1234/1234"],
    ["{file:token}", "from-file"],
    ["{file: token }", "from-file"],
    ["${userHome}/x", "/home/ada/x"],
    ["$${A}", "${A}"],
    ["${1} ${a.b} $A {A} {env} ${}", "${1} ${a.b} $A {A} {env} ${}"]
  ])("%s is %s", (text, result) => {
    const interpolated = interpolate(text, values({ A: "1234", EMPTY: "" }))
    assert.deepStrictEqual([interpolated.text, interpolated.missing], [result, []])
  })

  it.each([
    "{env:NONE}",
    "${NONE}",
    "${env:NONE}",
    "{env:EMPTY}",
    "{env:}",
    "{env:WITH-DASH}",
    "{file:none}",
    "${input:token}",
    "${constructor}"
  ])("%s is missing, never empty", (text) => {
    assert.lengthOf(interpolate(text, values({ EMPTY: "" })).missing, 1)
  })
})
