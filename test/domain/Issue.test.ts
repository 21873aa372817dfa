import { assert, describe, it } from "@effect/vitest"
import { Redacted, Schema, ParseResult, Either } from "effect"
import { Issue } from "../../src/index.js"
import { makeWork, nearest } from "../../src/domain/internal/nearest.js"
import { findingsOf } from "../../src/domain/internal/parseIssues.js"

describe("the type of a value", () => {
  it.each([
    [undefined, "nothing"],
    [null, "null"],
    ["", "an empty string"],
    ["secret", "a string"],
    [[], "an empty array"],
    [[1], "an array"],
    [{}, "an object"],
    [true, "a boolean"],
    [1, "a number"],
    [1.5, "a fraction"],
    [-1, "a negative number"],
    [-1.5, "a negative fraction"],
    [0, "zero"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "an infinite number"],
    [1n, "a bigint"],
    [Redacted.make("secret"), "a redacted value"]
  ])("of %s is %s", (value, words) => {
    assert.strictEqual(Issue.describeType(value), words)
  })
})

describe("a path", () => {
  it.each([
    [[], "(root)"],
    [["oauth", "scope"], "oauth.scope"],
    [["command", 0], "command[0]"],
    [["headers", "X-Key"], 'headers["X-Key"]'],
    [["a b", "c"], '["a b"].c']
  ])("%j is written %s", (path, words) => {
    assert.strictEqual(Issue.renderPath(path), words)
  })
})

describe("an issue", () => {
  it("is one line, with the hint if present", () => {
    const issue = { path: ["a"], expected: "b", found: "c" }
    assert.strictEqual(Issue.render(issue), "a: expected b, found c")
    assert.strictEqual(Issue.render({ ...issue, hint: "d" }), "a: expected b, found c (d)")
    assert.strictEqual(Issue.render({ ...issue, file: "/x.json" }), "/x.json: a: expected b, found c")
    assert.strictEqual(
      Issue.render({ ...issue, file: "/x.json", line: 3, column: 5 }),
      "/x.json:3:5: a: expected b, found c"
    )
    assert.strictEqual(Issue.renderAll([issue, issue]), "a: expected b, found c; a: expected b, found c")
  })
})

describe("the issues of a value", () => {
  const found = (schema: Schema.Schema.AnyNoContext, input: unknown) =>
    Either.match(ParseResult.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })(input), {
      onLeft: (issue) => Issue.renderAll(findingsOf(issue).issues),
      onRight: () => "nothing"
    })

  it("are at most as many as requested", () => {
    const schema = Schema.Struct({ a: Schema.Array(Schema.String) })
    const keys = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`k${index}`, 1]))
    const decode = ParseResult.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })
    const { issues, unknownKeys } = findingsOf(Either.getOrThrow(Either.flip(decode({ ...keys, a: [1, 2, 3, 4] }))), 3)
    assert.deepStrictEqual(
      issues.map(({ path }) => path),
      [
        ["a", 0],
        ["a", 1],
        ["a", 2]
      ]
    )
    assert.lengthOf(unknownKeys, 3)
  })

  it("describe the expectation of every kind of schema", () => {
    assert.strictEqual(found(Schema.NumberFromString, "secret"), "(root): expected NumberFromString, found a string")
    assert.strictEqual(
      found(Schema.parseJson(Schema.Struct({ a: Schema.Number })), '{"a":"secret"}'),
      "a: expected a number, found a string"
    )
    assert.strictEqual(
      found(Schema.Struct({ a: Schema.Number }).pipe(Schema.filter(() => true)), { a: "secret" }),
      "a: expected a number, found a string"
    )
    assert.strictEqual(
      found(Schema.Literal("a", 1, null), "secret"),
      '(root): expected "a", or 1, or null, found a string'
    )
    assert.strictEqual(
      found(Schema.Struct({ [Symbol.for("key")]: Schema.Number }), {}),
      '["Symbol(key)"]: expected a number, found nothing'
    )
    assert.strictEqual(found(Schema.Tuple(Schema.String), "secret"), "(root): expected an array, found a string")
    assert.strictEqual(found(Schema.Array(Schema.Null), ["secret"]), "[0]: expected null, found a string")
    assert.strictEqual(found(Schema.Undefined, "secret"), "(root): expected undefined, found a string")
    assert.strictEqual(
      found(Schema.Union(Schema.Array(Schema.Number), Schema.Number), ["secret"]),
      "[0]: expected a number, found a string"
    )
    assert.strictEqual(
      found(Schema.Struct({ a: Schema.Struct({ b: Schema.Number }) }), { a: {} }),
      "a.b: expected a number, found nothing"
    )
  })
})

describe("the nearest known word", () => {
  const known = ["timeout", "enabled", "clientId"]

  it("is close in spelling, ignoring case and separators", () => {
    assert.strictEqual(nearest("timout", known), "timeout")
    assert.strictEqual(nearest("CLIENT_ID", known), "clientId")
    assert.strictEqual(nearest("enable", known), "enabled")
  })

  it("is undefined if no word is close", () => {
    assert.isUndefined(nearest("headers", known))
    assert.isUndefined(nearest("x", []))
  })

  it("is undefined for a long word, and never a long word", () => {
    const long = "ab".repeat(100)
    assert.isUndefined(nearest(`${long}x`, [long]))
    assert.isUndefined(nearest("ab".repeat(64), [`${"ab".repeat(64)}c`]))
    assert.isUndefined(nearest(`${"ab".repeat(64)}c`, ["ab".repeat(64)]))
    assert.strictEqual(nearest(`${"ab".repeat(63)}cd`, ["ab".repeat(64)]), "ab".repeat(64))
    assert.strictEqual(nearest("ab".repeat(63), ["ab".repeat(64)]), "ab".repeat(64))
  })

  it("is searched with bounded work, which several searches can share", () => {
    let looked = 0
    const words = function* () {
      for (let index = 0; index < 1_000_000; index++) {
        looked += 1
        yield `${"ba".repeat(50)}${index}`
      }
    }
    const work = makeWork()
    for (let search = 0; search < 20; search++) nearest(`${"ab".repeat(50)}${search}`, words(), work)
    assert.isAbove(looked, 100)
    assert.isBelow(looked, 15_000)
    assert.strictEqual(nearest("timout", known), "timeout")
    assert.isUndefined(nearest("timout", known, work))
  })

  it("is searched until the work is used up, also in an endless list of words", () => {
    const looksAt = (word: string, candidate: string) => {
      let looked = 0
      const endless = function* () {
        for (;;) {
          looked += 1
          yield candidate
        }
      }
      assert.isUndefined(nearest(word, endless()))
      return looked
    }
    // words that are too long are skipped
    assert.isBelow(looksAt("a", "b".repeat(200)), 1_000_000)
    // the time of a comparison is the product of both lengths
    assert.isBelow(looksAt("a".repeat(60), "b".repeat(60)), makeWork().left / (60 * 60))
  })

  it("is found after many words of another length, which are not compared", () => {
    const word = "ab".repeat(30)
    const longer = Array.from({ length: 5_000 }, () => `${word}${"c".repeat(21)}`)
    assert.strictEqual(nearest(word, [...longer, `${word}c`]), `${word}c`)
  })
})
