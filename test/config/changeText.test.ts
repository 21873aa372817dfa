import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck as fc } from "effect"
import { type EntryChange, change } from "../../src/config/edit/changeText.js"
import { parse } from "../../src/config/document/parseDocument.js"
import * as DocumentText from "../../src/config/document/DocumentText.js"
import { toPlain } from "../../src/config/document/Tree.js"
import { runs } from "../laws/runs.js"

const layer = { kind: "file", name: "", directory: "/" } as const

const plainOf = (name: string, raw: string): unknown =>
  toPlain(Either.getOrThrow(parse(DocumentText.make(name, raw), layer)).tree)

const made = (name: string, raw: string, wanted: EntryChange): string =>
  Either.getOrElse(change(name, raw, wanted), ({ issues, reason }) =>
    assert.fail(`${reason} ${JSON.stringify(issues)} in ${JSON.stringify(raw)}`)
  )

const add = (name: string, entry: Record<string, unknown>): EntryChange => ({ _tag: "Add", name, entry })
const remove = (name: string): EntryChange => ({ _tag: "Remove", name })
const turn = (name: string, enabled: boolean): EntryChange => ({ _tag: "Switch", name, enabled })

// --- documents as people write them -------------------------------------------------------------------------------------

const word = fc.oneof(
  fc.constantFrom("a", "b", "server", "my server", "服务器", "x.y", 'quo"te', "__proto__", "back\\slash"),
  fc.string({ minLength: 1, maxLength: 6 })
)

const entry = fc.record(
  {
    command: fc.constantFrom("npx", "node"),
    args: fc.array(fc.string({ maxLength: 5 }), { maxLength: 3 }),
    environment: fc.dictionary(fc.stringMatching(/^[A-Z]{1,4}$/), fc.string({ maxLength: 5 }), { maxKeys: 2 }),
    enabled: fc.boolean()
  },
  { requiredKeys: ["command"] }
)

const others = fc.record(
  { theme: fc.string(), keys: fc.array(fc.integer()), $schema: fc.webUrl() },
  { requiredKeys: [] }
)

/** What may stand between two tokens of a JSONC document. */
const gap = fc.oneof(
  { weight: 8, arbitrary: fc.constant("") },
  { weight: 4, arbitrary: fc.constantFrom(" ", "  ", "\t") },
  { weight: 4, arbitrary: fc.constantFrom("\n", "\n  ", "\n\n    ", "\r\n  ") },
  { weight: 2, arbitrary: fc.constantFrom("/* c */", " // c\n", "\n  // c, }\n  ", '/* "a": 1 */ ') }
)

/** Any spacing, with comments anywhere and commas at ends. */
const scattered = (value: unknown, gaps: () => string, trailing: () => boolean): string => {
  const g = gaps
  if (Array.isArray(value)) {
    return `[${g()}${value.map((item) => scattered(item, g, trailing)).join(`${g()},${g()}`)}${g()}]`
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value)
  const properties = entries.map(([key, item]) => `${JSON.stringify(key)}${g()}:${g()}${scattered(item, g, trailing)}`)
  const end = entries.length > 0 && trailing() ? `${g()},` : ""
  return `{${g()}${properties.join(`${g()},${g()}`)}${end}${g()}}`
}

interface Sample {
  readonly name: string
  readonly raw: string
}

const servers = fc.dictionary(word, entry, { maxKeys: 4, noNullPrototype: true })

const document = fc
  .record({
    servers: fc.option(servers, { nil: undefined }),
    others,
    key: fc.constantFrom("mcp", "mcpServers", "servers")
  })
  .map(({ key, others, servers }) => ({ ...others, ...(servers === undefined ? {} : { [key]: servers }) }))

const pretty = fc
  .tuple(
    document,
    fc.constantFrom(2, 4, "\t"),
    fc.constantFrom("\n", "\r\n"),
    fc.constantFrom("", "\uFEFF"),
    fc.boolean()
  )
  .map(
    ([value, indent, eol, mark, newline]): Sample => ({
      name: "x.json",
      raw: mark + JSON.stringify(value, null, indent).replaceAll("\n", eol) + (newline ? eol : "")
    })
  )

const compact = document.map((value): Sample => ({ name: "x.json", raw: JSON.stringify(value) }))

const odd = fc
  .tuple(document, fc.infiniteStream(gap), fc.infiniteStream(fc.boolean()), gap, gap)
  .map(([value, gaps, trailing, before, after]): Sample => {
    const next =
      <A>(stream: Iterator<A>) =>
      () =>
        stream.next().value as A
    return { name: "x.jsonc", raw: before + scattered(value, next(gaps), next(trailing)) + after }
  })

/** Somebody made a file and put nothing into it. */
const blank = fc.constantFrom("", " ", "\n", " \n\n", "\r\n", "\uFEFF").map((raw): Sample => ({ name: "x.json", raw }))

const json = fc.oneof(pretty, compact, odd, blank)

const tomlEnd = fc.constantFrom("", "\n", "\n\n", "\n# the end", "\n# the end\n", "\n   ")

const toml = fc
  .tuple(servers, tomlEnd, fc.constantFrom("\n", "\r\n"), fc.constantFrom("", "# head\n\n", "theme = 'x' # why\n\n"))
  .map(([servers, end, eol, head]): Sample => {
    const blocks = Object.entries(servers).map(([name, { args, command, enabled, environment }]) =>
      [
        `[mcp.${JSON.stringify(name)}] # about it`,
        `command = ${JSON.stringify(command)}`,
        ...(args === undefined ? [] : [`args = [ ${args.map((arg) => JSON.stringify(arg)).join(",\n  ")} ]`]),
        ...(enabled === undefined ? [] : [`enabled = ${enabled} # for now`]),
        ...(environment === undefined
          ? []
          : [
              "",
              `[mcp.${JSON.stringify(name)}.environment]`,
              ...Object.entries(environment).map(([k, v]) => `${k} = ${JSON.stringify(v)}`)
            ])
      ].join("\n")
    )
    return { name: "x.toml", raw: (head + blocks.join("\n\n") + end).replaceAll("\n", eol) }
  })
  // the few texts that are no TOML as JSON writes them
  .filter(({ name, raw }) => Either.isRight(parse(DocumentText.make(name, raw), layer)))

const any = fc.oneof({ weight: 2, arbitrary: json }, { weight: 1, arbitrary: toml })

const serversIn = (sample: Sample): Record<string, unknown> => {
  const found = plainOf(sample.name, sample.raw) as Record<string, Record<string, unknown>>
  return { ...found.servers, ...found.mcpServers, ...found.mcp }
}

const fresh = fc.tuple(any, word, entry).filter(
  // a name that means something else in JavaScript is refused
  ([sample, name]) => name !== "__proto__" && !Object.hasOwn(serversIn(sample), name)
)

const known = any
  .filter((sample) => Object.keys(serversIn(sample)).length > 0)
  .chain((sample) => fc.tuple(fc.constant(sample), fc.constantFrom(...Object.keys(serversIn(sample)))))

describe("a change of a config file", () => {
  it("that adds a server changes nothing else", () => {
    fc.assert(
      fc.property(fresh, ([sample, name, entry]) => {
        const after = made(sample.name, sample.raw, add(name, entry))
        const found = serversIn({ ...sample, raw: after })
        assert.deepStrictEqual(JSON.parse(JSON.stringify(found[name])), entry)
        delete found[name]
        assert.deepStrictEqual(found, serversIn(sample))
      }),
      runs(500)
    )
  })

  it("that is reverted restores the bytes", () => {
    fc.assert(
      fc.property(fresh, ([sample, name, entry]) => {
        const added = made(sample.name, sample.raw, add(name, entry))
        assert.strictEqual(made(sample.name, added, remove(name)), sample.raw)
      }),
      runs(1000)
    )
  })

  it("that adds a server keeps every existing line", () => {
    fc.assert(
      fc.property(fresh, ([sample, name, entry]) => {
        const after = made(sample.name, sample.raw, add(name, entry))
        const comments = (text: string) => text.match(/(\/\*.*?\*\/|\/\/ c.*|# .*)/g) ?? []
        const texts = JSON.stringify([name, entry, plainOf(sample.name, sample.raw)])
        if (!/[#/]/.test(texts)) assert.deepStrictEqual(comments(after), comments(sample.raw))
        // what was there is there in the same order
        let at = 0
        for (const character of sample.raw) {
          at = after.indexOf(character, at)
          assert.notStrictEqual(at, -1)
          at += 1
        }
      })
    )
  })

  it("that removes a server keeps all others", () => {
    fc.assert(
      fc.property(known, ([sample, name]) => {
        const after = made(sample.name, sample.raw, remove(name))
        const left = serversIn(sample)
        delete left[name]
        assert.deepStrictEqual(serversIn({ ...sample, raw: after }), left)
      }),
      runs(500)
    )
  })

  it("that enables or disables a server sets one key", () => {
    fc.assert(
      fc.property(known, fc.boolean(), ([sample, name], enabled) => {
        const after = made(sample.name, sample.raw, turn(name, enabled))
        const wanted = serversIn(sample)
        wanted[name] = { ...(wanted[name] as object), enabled }
        assert.deepStrictEqual(serversIn({ ...sample, raw: after }), wanted)
        assert.strictEqual(made(sample.name, after, turn(name, enabled)), after)
      }),
      runs(500)
    )
  })
})

describe("in a formatted file", () => {
  const file = `{
  // my servers
  "mcp": {
    "a": { "command": "x" }, // the first
    "b": {
      "url": "https://b.example.com" // soon to move
    } // the second
    // more to come
  },
  "theme": "dark"
}
`

  it("a new server is added after the others, with their indentation", () => {
    assert.strictEqual(
      made("x.jsonc", file, add("c", { command: "y", args: ["1"] })),
      file.replace(
        "    } // the second\n",
        `    }, // the second
    "c": {
      "command": "y",
      "args": [
        "1"
      ]
    }
`
      )
    )
  })

  it("removing a server removes the comment on its line, and no other", () => {
    assert.strictEqual(
      made("x.jsonc", file, remove("a")),
      file.replace('\n    "a": { "command": "x" }, // the first', "")
    )
    assert.strictEqual(made("x.jsonc", file, remove("b")), file.replace(/,( \/\/ the first)\n {4}"b"[^]*second/, "$1"))
  })

  it("enabling or disabling changes one place", () => {
    assert.strictEqual(
      made("x.jsonc", file, turn("a", false)),
      file.replace('"command": "x" }', '"command": "x", "enabled": false }')
    )
    assert.strictEqual(
      made("x.json", '{"mcpServers":{"a":{"command":"x","disabled":true}}}', turn("a", true)),
      '{"mcpServers":{"a":{"command":"x","disabled":false}}}'
    )
  })

  it("a server named like a key of an entry is found where it is read", () => {
    const nested = '{"mcp":{"servers":{"enabled":{"command":"x"}}}}'
    assert.deepStrictEqual(plainOf("x.json", made("x.json", nested, turn("enabled", false))), {
      mcp: { servers: { enabled: { command: "x", enabled: false } } }
    })
  })

  it("disabling a server of another file adds an entry", () => {
    assert.deepStrictEqual(plainOf("x.json", made("x.json", "{}", turn("jira", false))), {
      mcp: { jira: { enabled: false } }
    })
  })

  it("inline tables, tables and sub-tables of TOML are changed in place", () => {
    const toml = `[mcp]\na = { command = "x" } # short\nb = {}\n\n[mcp.c]\n  command = "z"\n[mcp.c.environment]\nK = "v"\n`
    assert.strictEqual(made("x.toml", toml, turn("a", false)), toml.replace('"x" }', '"x", enabled = false }'))
    assert.strictEqual(made("x.toml", toml, turn("b", false)), toml.replace("{}", "{ enabled = false }"))
    assert.strictEqual(
      made("x.toml", toml, turn("c", false)),
      toml.replace('command = "z"\n', 'command = "z"\n  enabled = false\n')
    )
    assert.strictEqual(made("x.toml", toml, remove("a")), toml.replace('a = { command = "x" } # short\n', ""))
  })

  it.each([
    ["x.json", '{ "mcp": { "a": ', "it cannot be read"],
    ["x.toml", "[mcp.a\n", "it cannot be read"],
    ["x.json", "[]", "no object"],
    ["x.json", '{ "mcp": [] }', "not an object"],
    ["x.json", '{ "mcp": { "new": {} } }', "already"],
    ["x.toml", 'mcp = ["x"]', "not an object"]
  ])("%s with %s is left alone, with the reason", (name, raw, reason) => {
    const refused = Either.flip(change(name, raw, add("new", { command: "secret-canary" })))
    if (Either.isLeft(refused)) return assert.fail("it was changed")
    assert.include(refused.right.reason, reason)
    assert.notInclude(JSON.stringify(refused.right), "canary")
  })

  it.each([
    ['mcp = { a = { command = "x" } }', 'mcp = { a = { command = "x", enabled = false } }', "mcp = {}"],
    [
      'mcp = { b = { command = "y" }, a = { command = "x" } } # c',
      'mcp = { b = { command = "y" }, a = { command = "x", enabled = false } } # c',
      'mcp = { b = { command = "y" } } # c'
    ],
    [
      'mcp = { a.command = "x", a.args = ["1"], b.command = "y" }',
      'mcp = { a.command = "x", a.args = ["1"], a.enabled = false, b.command = "y" }',
      'mcp = { b.command = "y" }'
    ],
    [
      'mcp.a.command = "x"\nmcp.a.env = { K = "v" }\n[other]\nk = 1\n',
      'mcp.a.command = "x"\nmcp.a.env = { K = "v" }\nmcp.a.enabled = false\n[other]\nk = 1\n',
      "[other]\nk = 1\n"
    ],
    [
      '[mcp]\n  "a".command = "x"\nb = { command = "y" }\n',
      '[mcp]\n  "a".command = "x"\n  a.enabled = false\nb = { command = "y" }\n',
      '[mcp]\nb = { command = "y" }\n'
    ]
  ])(
    "an entry in inline tables or dotted keys of TOML is switched and removed where it is: %s",
    (raw, off, without) => {
      assert.strictEqual(made("x.toml", raw, turn("a", false)), off)
      assert.strictEqual(made("x.toml", off, turn("a", true)), off.replace("enabled = false", "enabled = true"))
      assert.strictEqual(made("x.toml", raw, remove("a")), without)
      const entry = { command: "z", args: ["1"], environment: { "x y": "v" } }
      assert.strictEqual(made("x.toml", made("x.toml", raw, add("n", entry)), remove("n")), raw)
    }
  )

  it.each([
    ["mcp = { }"],
    ["mcp = {   } # c"],
    ["mcp = {\n}\n"],
    ["mcp = {\n  # none, yet\n}\n"],
    ['mcp = {\n  b = { command = "y" }, # about b\n}\n'],
    ['mcp = {\n  b = { command = "y" } # about b\n}\n']
  ])("what is put into an inline table of TOML and taken out again leaves the bytes: %s", (raw) => {
    assert.strictEqual(made("x.toml", made("x.toml", raw, add("n", { command: "z" })), remove("n")), raw)
  })

  it.each([
    ["b", "mcp = {\n  a.command = 'x', # about a\n  b.command = 'y'\n}\n"],
    ["b", "mcp = {\n  a.command = 'x',\n  # about c\n  b.command = 'y'\n}\n"],
    ["b", "mcp = {\n  a.command = 'x',\n  b.command = 'y' # about b\n}\n"],
    ["b", "mcp = {\n  a.command = 'x',\n  b.command = 'y', # about b\n  c.command = 'z'\n}\n"],
    ["a", "mcp = {\n  a.command = 'x', # about a\n  b.command = 'y'\n}\n"],
    ["a", "mcp = {\n  a.command = 'x',\n  # about b\n  b.command = 'y'\n}\n"],
    ["a", "mcp = {\n  # about all\n  a.command = 'x'\n}\n"],
    ["a", "mcp = {\n  a.command = 'x'\n  # more to come\n}\n"]
  ])("is not taken out of an inline table of TOML at the cost of a comment: %s from %s", (name, raw) => {
    const refused = change("x.toml", raw, remove(name))
    assert.include(Either.isLeft(refused) ? refused.left.reason : refused.right, "do it by hand")
  })
})
