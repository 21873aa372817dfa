import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import type { Issue } from "../../src/domain/Issue.js"
import type { Snapshot } from "../../src/config/layers/loadLayers.js"
import * as History from "../../src/config/watch/snapshotHistory.js"

const issue: Issue = { path: [], expected: "an object", found: "an array" }

/** A reading of the user's file and the project's file. Invalid files have issues. */
const reading = (texts: Record<string, string>, invalid: ReadonlyArray<string> = []): Snapshot =>
  ({
    desired: Either.right({ servers: {} }),
    texts: new Map(Object.entries(texts)),
    issuesByFile: new Map(invalid.map((file) => [file, [{ ...issue, file }]])),
    reads: (["global", "project"] as const).map((kind) => ({
      layer: { kind, name: kind, directory: "/" },
      realPath: kind,
      content: invalid.includes(kind) ? Either.left([issue]) : Either.right({ layer: { kind, name: kind } })
    }))
  }) as unknown as Snapshot

/** What the update says: `applied`, or the files with issues. */
const summary = (updates: ReadonlyArray<Either.Either<unknown, { readonly issues: ReadonlyArray<Issue> }>>) =>
  updates.map(Either.match({ onLeft: ({ issues }) => issues.map(({ file }) => file).join(), onRight: () => "applied" }))

describe("the history of readings", () => {
  const first = History.start(reading({ global: "=a", project: "=a" }))

  it("applies a valid reading", () => {
    assert.deepStrictEqual(summary(History.advance(first, reading({ global: "=b", project: "=a" })).updates), [
      "applied"
    ])
  })

  it("rejects a reading with an invalid file of the user", () => {
    const broken = reading({ global: "=b", project: "=a" }, ["global"])
    assert.deepStrictEqual(summary(History.advance(first, broken).updates), ["global"])
  })

  it("reports an invalid shared file once, and applies other changes beside it", () => {
    const broken = History.advance(first, reading({ global: "=a", project: "=b" }, ["project"]))
    assert.deepStrictEqual(summary(broken.updates), ["project"])
    assert.isTrue(broken.history.lastValid.has("project"))
    const edited = reading({ global: "=b", project: "=b" }, ["project"])
    assert.deepStrictEqual(summary(History.advance(broken.history, edited).updates), ["applied"])
    const forgotten = History.forgetReported(broken.history)
    assert.deepStrictEqual(summary(History.advance(forgotten, edited).updates), ["project", "applied"])
  })

  it("notices a file that lost its text", () => {
    assert.isTrue(History.lostText(first, reading({ global: "=\n", project: "=a" })))
    assert.isTrue(History.lostText(first, reading({ global: "", project: "=a" })))
    assert.isFalse(History.lostText(first, reading({ global: "=b", project: "=a" })))
    assert.isTrue(History.isUnchanged(first, reading({ global: "=a", project: "=a" })))
  })
})
