import { assert, describe, it } from "@effect/vitest"
import { parsePs } from "../../src/connection/process/processRows.js"
import { straysOf, targets } from "../../src/connection/process/taggedProcesses.js"

const row = (pid: number, group: number, run?: string, child?: string) => ({
  pid,
  group,
  run,
  child,
  guards: undefined as number | undefined
})
const guard = (pid: number, guards: number) => ({ ...row(pid, pid), guards })
const self = row(10, 9)

/** No group is known to have been started by a supervisor. */
const none = new Map<string, ReadonlySet<number>>()

describe("the processes that a cleanup ends", () => {
  it("include the whole group of a leader with the tag", () => {
    assert.deepStrictEqual(targets([self, row(20, 20, "a"), row(21, 20, "a"), row(22, 20)], 10, none), {
      groups: [20],
      singles: []
    })
  })

  it("include single processes of a group whose leader has no tag or has exited", () => {
    assert.deepStrictEqual(targets([self, row(20, 20), row(21, 20, "a"), row(31, 30, "a")], 10, none), {
      groups: [],
      singles: [21, 31]
    })
  })

  it("never include this process, its group or process 1", () => {
    assert.deepStrictEqual(targets([row(1, 1, "a"), row(9, 9, "a"), row(10, 9, "a"), row(11, 9, "a")], 10, none), {
      groups: [],
      singles: [9, 11]
    })
  })

  it("include no group if our own group is unknown", () => {
    assert.deepStrictEqual(targets([row(20, 20, "a"), row(21, 20, "a")], 10, none), { groups: [], singles: [20, 21] })
  })

  it("exclude a supervisor with its own guard, also in the group of a process that is ended", () => {
    const rows = [self, row(20, 20, "a"), row(21, 20, "a"), guard(30, 21), row(40, 40, "a"), guard(50, 40)]
    assert.deepStrictEqual(targets(rows, 10, none), { groups: [], singles: [20] })
  })

  it("include a server that is itself a supervisor, with its group, and exclude one that left the group", () => {
    const known = new Map([
      ["a", new Set([20, 60])],
      ["b", new Set([40])]
    ])
    const rows = [
      self,
      // the server, and one whose supervisor is not the leader
      row(20, 20, "a"),
      guard(30, 20),
      row(60, 60),
      row(61, 60, "a"),
      guard(31, 61),
      // a supervisor in a group of its own, and one in a group of another run
      row(50, 50, "a"),
      guard(32, 50),
      row(40, 40, "a"),
      guard(33, 40)
    ]
    assert.deepStrictEqual(targets(rows, 10, known), { groups: [20, 60], singles: [] })
  })

  it("never include our own group, also if a supervisor started it", () => {
    assert.deepStrictEqual(targets([row(9, 9, "a"), row(10, 9, "a")], 10, new Map([["a", new Set([9])]])), {
      groups: [],
      singles: [9]
    })
  })

  it("include no process without the tag", () => {
    assert.deepStrictEqual(targets([self, row(20, 20), row(21, 20)], 10, none), { groups: [], singles: [] })
  })
})

describe("straysOf", () => {
  it("finds the processes of one server outside of its group, and no supervisor", () => {
    const rows = [
      self,
      row(20, 20, "a", "1"),
      row(21, 20, "a", "1"),
      row(22, 22, "a", "1"),
      row(23, 22, "a", "1"),
      row(24, 24, "a", "2"),
      row(25, 25, "b", "1"),
      row(26, 26, "a"),
      row(27, 27, "a", "1"),
      guard(28, 27)
    ]
    assert.deepStrictEqual(straysOf(rows, { run: "a", child: "1" }, 20, 10), [22, 23])
  })
})

describe("parsePs", () => {
  const plain = [
    "    1     1 /sbin/launchd",
    "  200   200 node server.js",
    "  201   200 grep MCP_SUPERVISOR_RUN=a",
    "  202   200 node other.js"
  ].join("\n")
  const full = [
    "    1     1 /sbin/launchd",
    "  200   200 node server.js HOME=/Users/ada MCP_SUPERVISOR_RUN=a MCP_SUPERVISOR_CHILD=7 LANG=C",
    "  201   200 grep MCP_SUPERVISOR_RUN=a HOME=/Users/ada",
    "  202   200 node other.js MCP_SUPERVISOR_RUN=ab XMCP_SUPERVISOR_RUN=a",
    "  203   200 node new.js MCP_SUPERVISOR_RUN=a"
  ].join("\n")

  it("reads whole entries of the environment, and nothing from a command line", () => {
    assert.deepStrictEqual(parsePs(new Set(["a"]), plain, full), [
      row(1, 1),
      row(200, 200, "a", "7"),
      row(201, 200),
      row(202, 200),
      row(203, 200)
    ])
  })
})
