import { assert, describe, it } from "@effect/vitest"
import { ToolName } from "../../src/index.js"

describe("a public name", () => {
  const nameOf = ToolName.namer(["files", "git", "supervisor"])

  it("is server_tool wherever that is valid and unambiguous", () => {
    assert.strictEqual(nameOf({ server: "files", tool: "read_file" }), "files_read_file")
    assert.strictEqual(nameOf({ server: "git", tool: "x".repeat(60) }), `git_${"x".repeat(60)}`)
  })

  it("keeps a readable beginning before the hash", () => {
    assert.match(nameOf({ server: "files", tool: "read.file" }), /^files_read_file_[0-9a-v]{10}$/)
    assert.match(nameOf({ server: "git", tool: "x".repeat(61) }), /^git_x{49}_[0-9a-v]{10}$/)
  })

  it("is equal on every machine and in every release", () => {
    assert.strictEqual(nameOf({ server: "files", tool: "read.file" }), "files_read_file_fu8eqf5ver")
  })

  it("is never the name of a supervisor tool, even for a server called supervisor", () => {
    assert.strictEqual(ToolName.ofManagement("restart"), "supervisor_restart")
    assert.match(nameOf({ server: "supervisor", tool: "restart" }), /^supervisor_restart_[0-9a-v]{10}$/)
  })
})

describe("the server prefixes of a public name", () => {
  it("are the texts before each underscore", () => {
    assert.deepStrictEqual(ToolName.beginnings("a_b_c"), ["a", "a_b"])
    assert.deepStrictEqual(ToolName.beginnings("_a"), [""])
    assert.deepStrictEqual(ToolName.beginnings("plain"), [])
  })

  it("are at most as long as the longest server name", () => {
    const ambiguous = { server: "a", tool: `b_${"x".repeat(60)}` }
    assert.deepStrictEqual(ToolName.beginnings(ToolName.plain(ambiguous)), ["a", "a_b"])
    assert.match(ToolName.namer(["a", "a_b"])(ambiguous), /^a_b_x{49}_[0-9a-v]{10}$/)
    assert.deepStrictEqual(ToolName.beginnings(`${ToolName.plain(ambiguous)}x`), [])
  })
})

describe("assign", () => {
  it("returns each colliding tool once, however often it is listed", () => {
    const [one, other] = [
      { server: "a", tool: "x" },
      { server: "b", tool: "y" }
    ]
    const { byName, collisions } = ToolName.assign([one, other, { ...one }, { ...other }], () => "same")
    assert.deepStrictEqual(collisions, [{ name: "same", refs: [one, other] }])
    assert.strictEqual(byName.size, 0)
  })
})

describe("tool filters", () => {
  const ref = (server: string, tool: string) => ({ server, tool })

  it("apply global patterns, which an agent's filters can override", () => {
    const global = { "filesystem_*": true, "sentry_*": false, "github-mcp_*": true }
    const everybody = ToolName.filter({ global })
    assert.isTrue(everybody(ref("filesystem", "read")))
    assert.isFalse(everybody(ref("sentry", "issues")))
    assert.isTrue(everybody(ref("github-mcp", "search")))
    assert.isTrue(everybody(ref("unmentioned", "tool")))
    assert.isTrue(ToolName.filter({ global, agent: { "sentry_*": true } })(ref("sentry", "issues")))
  })

  it("of a server match its own tool names; those of all servers and of agents match server_tool", () => {
    const allowed = ToolName.filter({ server: { "*": false, "read_*": true } })
    assert.isTrue(allowed(ref("files", "read_file")))
    assert.isFalse(allowed(ref("files", "write_file")))
    assert.isTrue(ToolName.filter({ global: { "read_*": false } })(ref("files", "read_file")))
  })

  it("match the plain form also if the public name has a hash", () => {
    assert.isFalse(ToolName.filter({ global: { "a b_*": false } })(ref("a b", "c.d")))
  })

  it("match names literally, also those that look like paths", () => {
    const off = (pattern: string) => ToolName.filter({ server: { [pattern]: false } })
    for (const tool of ["a/b", ".hidden", ".", "..", "../x", "./x", "/../x", "del/../x", "a\nb", "", "\ud800", "🔧"]) {
      for (const pattern of ["*", "**", "{*,y}"]) assert.isFalse(off(pattern)(ref("s", tool)), `${pattern} ${tool}`)
    }
    assert.isFalse(off("a?b")(ref("s", "a/b")))
    assert.isFalse(off("a?b")(ref("s", "a🔧b")))
    assert.isFalse(off("del*")(ref("s", "del/../x")))
  })

  it("support alternatives, ranges and escapes", () => {
    const off = (pattern: string) => ToolName.filter({ server: { [pattern]: false } })
    assert.isFalse(off("{read,write}_*")(ref("s", "write_file")))
    assert.isTrue(off("{read,write}_*")(ref("s", "list_files")))
    assert.isFalse(off("[a-c]*")(ref("s", "b/x")))
    assert.isTrue(off("[a-c]*")(ref("s", "d")))
    assert.isFalse(off("a\\*")(ref("s", "a*")))
    assert.isTrue(off("a\\*")(ref("s", "ab")))
    assert.isFalse(off("!a")(ref("s", "!a")))
    assert.isTrue(off("!a")(ref("s", "b")))
    assert.isTrue(off("A*")(ref("s", "a")))
    assert.isTrue(off("")(ref("s", "a")))
    assert.isFalse(off("f(x|y)+[1]")(ref("s", "f(x|y)+1")))
    assert.isFalse(off('{a,b}\\(\\\\(x)"y"')(ref("s", 'b(\\(x)"y"')))
    assert.isTrue(off("a?")(ref("s", "a")))
    assert.isFalse(off("a*b**")(ref("s", "ab")))
    assert.isTrue(off("{a,b}/c")(ref("s", "ac")))
    assert.isFalse(off("{a,b}?[\\\\]")(ref("s", "a\\\\")))
    assert.isFalse(off("{**,b}")(ref("s", "one line\nanother line")))
  })

  it("match patterns that are too complicated literally, in bounded time", () => {
    const off = (pattern: string) => ToolName.filter({ server: { [pattern]: false } })
    for (const pattern of ["[a]*b*c*d*e*f", "{".repeat(300)]) {
      assert.isFalse(off(pattern)(ref("s", pattern)))
      assert.isTrue(off(pattern)(ref("s", "abcdef")))
    }
    const many = (length: number) => `{${"a".repeat(length - 4)},b}`
    assert.isFalse(off(many(256))(ref("s", "b")))
    assert.isTrue(off(many(257))(ref("s", "b")))
    assert.isFalse(off("[a]*b*c*d**")(ref("s", "abcd")))
    assert.isTrue(off("[a]*b*c*d*e*")(ref("s", "abcde")))
    assert.isFalse(off("[a]*")(ref("s", "a".repeat(128))))
    assert.isTrue(off("[a]*")(ref("s", "a".repeat(129))))
    assert.isTrue(off("*_*_*_*x")(ref("s", "_".repeat(20_000))))
    assert.isTrue(off("*a*a*a*a*a*a*b")(ref("s", "a".repeat(20_000))))
    assert.isTrue(off("(a+)+x")(ref("s", "a".repeat(20_000))))
    assert.isTrue(off("(".repeat(30_000))(ref("s", "a")))
  })

  it("that match nothing are reported", () => {
    assert.deepStrictEqual(ToolName.unmatched({ "a_*": true, "b_*": false }, ["a_x"]), ["b_*"])
    assert.deepStrictEqual(ToolName.unmatched({ "a_*": true, "b_*": false }, ["a_x", "c_y"]), ["b_*"])
  })
})

describe("a very long name", () => {
  it("takes time in proportion to its length", () => {
    const nameOf = ToolName.namer(["a", "a_b"])
    const tool = "_".repeat(16_000)
    const names = new Set(Array.from({ length: 1_000 }, (_, index) => nameOf({ server: "a", tool: `${tool}${index}` })))
    assert.strictEqual(names.size, 1_000)
    for (const name of names) assert.match(name, /^a_{52}_[0-9a-v]{10}$/)
    assert.deepStrictEqual(ToolName.beginnings(tool), [])
  })

  it("keeps its readable part, also with surrogate pairs", () => {
    const name = ToolName.namer([])({ server: "a", tool: "😀".repeat(100) })
    assert.match(name, /^a_{52}_[0-9a-v]{10}$/)
  })
})

describe("mayBelongTo", () => {
  const nameOf = ToolName.namer(["my server", "a", "a_b"])

  it("is true for every name with a hash of a tool of the server", () => {
    for (const ref of [
      { server: "my server", tool: "t" },
      { server: "a", tool: "b_c" },
      { server: "x".repeat(80), tool: "long" }
    ]) {
      assert.isTrue(ToolName.mayBelongTo(nameOf(ref), ref.server))
    }
  })

  it("is false for other servers and for plain names", () => {
    assert.isFalse(ToolName.mayBelongTo(nameOf({ server: "my server", tool: "t" }), "a"))
    assert.isFalse(ToolName.mayBelongTo("a_x", "a"))
  })
})
