/** Checks that the page of known attacks lists every finding, and that the tests it names exist. */
import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const root = new URL("../", import.meta.url)
const read = (file: string) => readFileSync(new URL(file, root), "utf8")

interface Attack {
  readonly label: string
  readonly tests: ReadonlyArray<{ readonly file: string; readonly names: ReadonlyArray<string> }>
}

/** Parses the last cell of a row: `[name](../file): "group › name", "group › name"`, separated by `<br>`. */
const testsIn = (cell: string): Attack["tests"] =>
  cell.split("<br>").map((text) => {
    const [, file = "", names = ""] = /^\[[^\]]+\]\(\.\.\/(test\/[^)]+)\): ("[^"]+"(?:, "[^"]+")*)$/.exec(text) ?? []
    assert.isNotEmpty(file, text)
    return { file, names: Array.from(names.matchAll(/"([^"]+)"/g), ([, name]) => name!) }
  })

const attacks: ReadonlyArray<Attack> = Array.from(
  read("docs/attacks.md").matchAll(/^\| ([A-Z]\d+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$/gm),
  ([, label, cell]) => ({ label: label!, tests: testsIn(cell!) })
)

const labels = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)

/** The position of a whole string literal in a source text, from a position on. */
const literalIn = (source: string, text: string, from: number): number =>
  Math.max(...['"', "`", "'"].map((quote) => source.indexOf(`${quote}${text}${quote}`, from)))

describe("the page of attacks", () => {
  it("lists every finding", () => {
    const expected = [...labels("B", 10), ...labels("H", 2), ...labels("M", 7), ...labels("L", 11), ...labels("S", 4)]
    assert.sameMembers([...new Set(attacks.map(({ label }) => label))], expected)
  })

  it("has no row in another form", () => {
    const rows = read("docs/attacks.md")
      .split("\n")
      .filter((line) => /^\|(?! \| Attack| ---)/.test(line))
    assert.lengthOf(attacks, rows.length)
  })

  it("names only tests that exist, in the group that it names", () => {
    const missing = attacks.flatMap(({ label, tests }) =>
      tests.flatMap(({ file, names }) => {
        if (!existsSync(new URL(file, root))) return [`${label}: ${file}`]
        const source = read(file)
        return names
          .filter((name) => {
            const [group = "", test = "", ...rest] = name.split(" › ")
            const start = literalIn(source, group, 0)
            return rest.length > 0 || start < 0 || literalIn(source, test, start) < 0
          })
          .map((name) => `${label}: ${file}: ${name}`)
      })
    )
    assert.deepStrictEqual(missing, [])
  })

  it("is linked from the index, the page on security and the page on reliability", () => {
    for (const page of ["README", "security", "reliability"]) assert.include(read(`docs/${page}.md`), "](attacks.md)")
  })
})
