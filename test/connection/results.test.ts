import { assert, describe, it } from "@effect/vitest"
import { Exit, Redacted } from "effect"
import { callResult, decodeResult, protocolError, requestFailure } from "../../src/connection/session/results.js"
import { WireFailure } from "../../src/connection/wire/Wire.js"
import * as Errors from "../../src/domain/Errors.js"
import type { Issue } from "../../src/domain/Issue.js"
import * as Protocol from "../../src/domain/catalog/Protocol.js"
import * as Secrets from "../../src/domain/Secrets.js"

const server = "a"
const limited = new Errors.HttpFailed({ server, status: 429, retryAfter: 7000 })

describe("the error of a request whose message was lost", () => {
  for (const [stage, tag] of [
    // the message was not sent, so it can be sent again although the server was busy with others
    ["unsent", "NotSent"],
    ["refused", "RateLimited"],
    ["sent", "OutcomeUnknown"]
  ] as const) {
    it(`is ${tag} after a 429 when the message was ${stage}`, () =>
      assert.strictEqual(requestFailure(server, new WireFailure(limited, stage))._tag, tag))
  }

  it("keeps the server's Retry-After", () =>
    assert.deepInclude(requestFailure(server, new WireFailure(limited, "refused")), { retryAfter: 7000 }))
})

const times = <A>(count: number, value: A): ReadonlyArray<A> => Array.from({ length: count }, () => value)

const issuesOf = (exit: Exit.Exit<unknown, Errors.InvalidResult>) => {
  if (Exit.isFailure(exit) && exit.cause._tag === "Fail") return exit.cause.error.issues as ReadonlyArray<Issue>
  return assert.fail("the result is valid")
}

describe("an invalid result", () => {
  const text = { type: "text", text: "a" }
  const bad = { type: 1 }

  it("is described by at most 20 issues, with the place of the first one", () => {
    const issues = issuesOf(callResult(server, { content: [...times(9_000, text), ...times(1_000, bad)] }))
    assert.lengthOf(issues, 20)
    assert.deepStrictEqual(issues[0], { path: ["content", 9_000, "type"], expected: "a string", found: "a number" })
    assert.deepStrictEqual(issues[19]!.path, ["content", 9_019, "type"])
    const values = { completion: { values: [...times(50, "a"), ...times(900, 1)], total: "x" } }
    const told = issuesOf(decodeResult(server, Protocol.CompleteResult, values)).map(({ path }) => path)
    assert.lengthOf(told, 20)
    assert.deepStrictEqual(told[0], ["completion", "values", 50])
  })

  it("is described by all its issues if they are few", () => {
    const issues = issuesOf(callResult(server, { content: [text, bad, text, bad], isError: "no" }))
    assert.deepStrictEqual(
      issues.map(({ path }) => path),
      [["content", 1, "type"], ["content", 3, "type"], ["isError"]]
    )
    assert.deepStrictEqual(issuesOf(callResult(server, [])).length, 1)
    assert.deepStrictEqual(issuesOf(callResult(server, { content: 5 }))[0]!.path, ["content"])
  })

  it("is every result of more than 10,000 entries", () => {
    const tooMany = (path: ReadonlyArray<string>): ReadonlyArray<unknown> => [
      { path, expected: "at most 10000 entries", found: "more" }
    ]
    const contents = times(10_001, { uri: "u:1", text: "a" })
    const messages = times(10_001, { role: "user", content: text })
    assert.deepStrictEqual(issuesOf(callResult(server, { content: times(10_001, text) })), tooMany(["content"]))
    assert.deepStrictEqual(issuesOf(callResult(server, { content: times(10_001, bad) })), tooMany(["content"]))
    assert.deepStrictEqual(
      issuesOf(decodeResult(server, Protocol.ReadResourceResult, { contents })),
      tooMany(["contents"])
    )
    assert.deepStrictEqual(
      issuesOf(decodeResult(server, Protocol.GetPromptResult, { messages })),
      tooMany(["messages"])
    )
    assert.deepStrictEqual(
      issuesOf(decodeResult(server, Protocol.CompleteResult, { completion: { values: times(10_001, "a") } })),
      tooMany(["completion", "values"])
    )
    assert.isTrue(Exit.isSuccess(callResult(server, { content: times(10_000, text) })))
  })
})

describe("an error response of a server", () => {
  const secrets = Secrets.make([Redacted.make("secret-1234")])
  const scrubbers = { scrub: Secrets.scrub(secrets), scrubBeginning: Secrets.scrubBeginning(secrets) }
  const of = (error: unknown) => protocolError(server, error, scrubbers)

  it("is passed on as it was sent if it is small, without secrets", () => {
    const error = of({ code: -32000, message: "no secret-1234", data: { a: ["secret-1234", 1, null] } })
    assert.deepInclude(error, { code: -32000, message: "no [redacted]", data: { a: ["[redacted]", 1, null] } })
  })

  it("has a message of at most 8 KiB that gives the original length", () => {
    const { message } = of({ code: 1, message: "x".repeat(1_000_000) })
    assert.isAtMost(message.length, 8 * 1024 + 50)
    assert.match(message, /^x{8000,}… \(1000000 characters in all\)$/)
    // the scrubbed part is longer than the shown one, so the cut leaves no half of a secret
    assert.notInclude(of({ code: 1, message: "secret-1234".repeat(100_000) }).message, "secret")
    assert.notMatch(of({ code: 1, message: "secret-1234".repeat(100_000) }).message, /sec|ret-/)
  })

  it.each<[string, unknown]>([
    ["many values", times(300_000, { k: "v" })],
    ["many keys", Object.fromEntries(times(300_000, 0).map((_, index) => [`k${index}`, index]))],
    ["a long text", { text: "x".repeat(5_000_000) }],
    ["long keys", Object.fromEntries(times(100, 0).map((_, index) => [`${"k".repeat(50_000)}${index}`, 1]))],
    ["many lists", times(3_000, times(3_000, 1))]
  ])("has data of at most 64 KiB with a mark where it was cut: %s", (_, data) => {
    const text = JSON.stringify(of({ code: 1, message: "m", data }).data)
    assert.isAtMost(text.length, 2 * 64 * 1024)
    assert.include(text, "…")
  })
})
