import { spawn } from "node:child_process"
import { once } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"
import { serversRunning } from "../../src/cli/supervisor/shutdownNotice.js"
import { parameters, resultText } from "../../src/cli/show/showCatalog.js"
import { eventLine, planLines } from "../../src/cli/show/showEvents.js"
import { detail, duration, serverCard, serverTable, statusesOf, statusLine } from "../../src/cli/show/showServers.js"
import { coloured, plain } from "../../src/cli/terminal/style.js"
import { cut, harmless, oneLine, table, visible, widthOf, wrap } from "../../src/cli/terminal/table.js"
import { isNewOutcome } from "../../src/cli/terminal/watch.js"
import type { ServerSnapshot } from "../../src/domain/server/ServerSnapshot.js"
import type { ServerStatus } from "../../src/domain/server/ServerStatus.js"

const snapshot = (name: string, status: ServerStatus, more: Partial<ServerSnapshot> = {}): ServerSnapshot => ({
  name,
  origin: "config",
  status,
  generation: 1,
  restarts: 0,
  tools: 0,
  resources: 0,
  prompts: 0,
  diagnostics: [],
  ...more
})

const connected: ServerStatus = {
  status: "connected",
  since: 0,
  transport: "stdio",
  protocolVersion: "2025-11-25",
  era: "legacy",
  tools: 1,
  resources: 0,
  prompts: 0,
  push: "open"
}

const failed: ServerStatus = {
  status: "failed",
  error: "b: it broke",
  errorTag: "ProcessExited",
  failures: 2,
  retryAt: 3000
}

describe("the output for servers", () => {
  it("describes the status of each server in one line", () => {
    assert.strictEqual(
      detail(snapshot("a", connected, { pid: 7, restarts: 2 }), 61_000),
      "for 1 min, pid 7, restarted 2×"
    )
    assert.strictEqual(detail(snapshot("b", failed), 0), "it broke; retry in 3 s")
    assert.strictEqual(
      detail(snapshot("b", { ...failed, retryAt: undefined, gaveUp: "5 restarts in 60 s" }), 0),
      "it broke; gave up: 5 restarts in 60 s"
    )
    assert.strictEqual(statusLine(snapshot("c", { status: "disabled", by: "config" }), 0), "c: disabled (by config)")
    assert.strictEqual(
      detail(snapshot("d", { status: "connecting", attempt: 2, since: 0, phase: "spawn" }), 0),
      "spawn, attempt 2"
    )
  })

  it("is a table that fits the width, whatever its texts contain", () => {
    const text = FastCheck.oneof(
      FastCheck.string(),
      FastCheck.fullUnicodeString(),
      FastCheck.constant("漢字\u001b[2J\n")
    )
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(FastCheck.tuple(text, text)),
        FastCheck.integer({ min: 50, max: 200 }),
        (rows, width) => {
          const snapshots = rows.map(([name, error]) => snapshot(name, { ...failed, error }))
          for (const line of serverTable(snapshots, { style: plain, width, now: 0 })) {
            assert.isAtMost(widthOf(line), width)
            // oxlint-disable-next-line no-control-regex
            assert.notMatch(line, /[\u0000-\u001f]/)
          }
        }
      )
    )
  })

  it("never moves the cursor, whatever its texts contain", () => {
    const evil = "a\u001b[2J\u009b1A\r\n  b\tc"
    const status = { ...failed, error: evil, stderr: evil }
    const diagnostics = [{ severity: "error", code: "x", message: evil }] as const
    const shown = snapshot("x", status, { instructions: evil, diagnostics })
    const lines = [...serverCard(shown, { style: plain, width: 80, now: 0 }), statusLine(shown, 0)]
    // oxlint-disable-next-line no-control-regex
    for (const line of lines) assert.notMatch(line, /[\u0000-\u001f\u007f-\u009f]/)
    assert.strictEqual(harmless(coloured.bad(evil), coloured), `${coloured.bad("a�[2J�1A\n  b\tc")}\u001b[0m`)
  })

  it("resets colours at the end of a text, and removes them from plain output", () => {
    const red = "\u001b[31mred\u001b[0m, \u001b[38;5;208mnone of ours\u001b[m, \u001b[8mhidden, \u001b[32mgreen"
    const shown = "\u001b[31mred\u001b[0m, none of ours\u001b[m, hidden, \u001b[32mgreen\u001b[0m"
    assert.strictEqual(harmless(red, coloured), shown)
    assert.strictEqual(harmless(red, plain), "red, none of ours, hidden, green")
  })

  it("escapes control characters in JSON without changing the value", () => {
    const value = { text: "a\u009b31mb\u007f" }
    const text = visible(JSON.stringify(value))
    assert.deepStrictEqual(JSON.parse(text), value)
    // oxlint-disable-next-line no-control-regex
    assert.notMatch(text, /[\u0000-\u001f\u007f-\u009f]/)
  })

  it("names the servers whose process runs during a shutdown", async () => {
    const child = spawn("sleep", ["60"])
    const over = spawn("true")
    await once(over, "exit")
    const starting: ServerStatus = { status: "connecting", attempt: 1, since: 0, phase: "spawn" }
    const servers = [
      snapshot("runs", connected, { pid: child.pid }),
      snapshot("ended", connected, { pid: over.pid }),
      snapshot("starts", starting, { transport: "stdio" }),
      snapshot("remote", starting)
    ]
    assert.deepStrictEqual(serversRunning(servers, 1), ["runs"])
    assert.deepStrictEqual(serversRunning(servers, 2), ["runs", "starts"])
    child.kill()
    await once(child, "exit")
    assert.deepStrictEqual(serversRunning(servers, 0), [])
  })

  it("reports a failing server once in a log, until it fails in another way", () => {
    const connecting: ServerStatus = { status: "connecting", attempt: 2, since: 0, phase: "spawn" }
    const again: ServerStatus = { ...failed, failures: 3, retryAt: 9000 }
    assert.isTrue(isNewOutcome(connected, connecting))
    assert.isTrue(isNewOutcome(connecting, failed))
    assert.isFalse(isNewOutcome(failed, connecting))
    assert.isFalse(isNewOutcome(failed, again))
    assert.isTrue(isNewOutcome(failed, { ...again, gaveUp: "5 restarts in 60 s" }))
    assert.isTrue(isNewOutcome(failed, connected))
  })

  it("is the body of GET /mcp with --json", () => {
    assert.deepStrictEqual(statusesOf([snapshot("a", connected), snapshot("b", failed)]), { a: connected, b: failed })
  })

  it("shows durations with one unit", () => {
    assert.deepStrictEqual([-5, 0, 59_000, 60_000, 7_200_000, 172_800_000].map(duration), [
      "0 s",
      "0 s",
      "59 s",
      "1 min",
      "2 h",
      "2 d"
    ])
  })
})

describe("a text in a table", () => {
  it("is cut between characters, and ends with …", () => {
    assert.strictEqual(cut("abcdef", 4), "abc…")
    assert.strictEqual(cut("漢字漢字", 5), "漢字…")
    assert.strictEqual(cut("👩‍👩‍👧 x", 10), "👩‍👩‍👧 x")
    assert.strictEqual(oneLine("a\n b\u0007"), "a b�")
  })

  it.each([
    ["é", 1],
    ["e\u0301", 1],
    ["日本語", 6],
    ["𠀀", 2],
    ["🫠", 2],
    ["👩‍👩‍👧", 2],
    ["🇩🇪", 2],
    ["1️⃣", 2],
    ["⚠️", 2],
    ["⚠", 1],
    ["✔", 1],
    ["©", 1],
    ["● → …", 5]
  ])("%s takes %i columns", (text, columns) => {
    assert.strictEqual(widthOf(text), columns)
  })

  it("is not cut without a width", () => {
    const long = "x".repeat(500)
    assert.include(table([{ title: "A", flexible: true }], [[{ text: long }]], { head: String })[1]!, long)
  })

  it("does not widen the column without limit", () => {
    const rows = ["x".repeat(5000), "a", "y".repeat(59)].map((text) => [{ text }, { text: "end" }])
    const [head, long, short, fits] = table([{ title: "A", flexible: true }, { title: "B" }], rows, { head: String })
    assert.strictEqual(long, `${"x".repeat(5000)}  end`)
    for (const line of [head, short, fits]) assert.match(line!, /^.{60} {2}\w+$/)
  })

  it("is wrapped between words", () => {
    assert.deepStrictEqual(wrap("one two three", 8), ["one two", "three"])
    assert.deepStrictEqual(wrap("a\nb", 8), ["a", "b"])
  })
})

describe("the output for events", () => {
  it("is one line for each event", () => {
    const line = eventLine({ seq: 1, at: 0, type: "StatusChanged", server: "a", from: connected, to: failed }, plain)
    assert.match(line, /^\d\d:\d\d:\d\d\.\d{3} a connected → failed: b: it broke$/)
    const removed = ["1", "2", "3", "4", "5", "6", "7"]
    const catalog = eventLine(
      { seq: 1, at: 0, type: "CatalogChanged", server: "a", revision: 2, kind: "tools", added: ["x"], removed },
      plain
    )
    assert.match(catalog, /tools: \+x −1 −2 −3 −4 −5 −2 more$/)
  })

  it("lists the changes of a plan", () => {
    const tools = { appear: ["a_x"], vanish: [] }
    const plan = { start: ["a"], stop: ["b"], restart: [], update: [], keep: ["c", "d"], tools }
    assert.deepStrictEqual(planLines(plan, plain), ["a added", "b removed", "+ a_x", "2 unchanged"])
    const nothing = { start: [], stop: [], restart: [], update: [], keep: [], tools: { appear: [], vanish: [] } }
    assert.deepStrictEqual(planLines(nothing, plain), ["no changes"])
  })
})

describe("the output for tools and calls", () => {
  it("is the text of a result, or its structured content", () => {
    assert.strictEqual(resultText({ content: [{ type: "text", text: "a" }] }), "a")
    assert.strictEqual(resultText({ content: [], structuredContent: { a: 1 } }), '{\n  "a": 1\n}')
  })

  it("marks optional parameters", () => {
    assert.deepStrictEqual(parameters({ properties: { a: {}, b: {} }, required: ["a"] }), ["a", "b?"])
    assert.deepStrictEqual(parameters({ type: "object" }), [])
  })
})
