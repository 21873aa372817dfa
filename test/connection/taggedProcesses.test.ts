import { assert, describe, it } from "@effect/vitest"
import { parsePs, targets } from "../../src/connection/taggedProcesses.js"

const row = (pid: number, group: number, run?: string) => ({ pid, group, run })
const self = row(10, 9)

describe("targets", () => {
  it("takes a group whose leader carries the tag as a whole", () => {
    assert.deepStrictEqual(targets([self, row(20, 20, "a"), row(21, 20, "a"), row(22, 20)], 10), {
      groups: [20],
      singles: []
    })
  })

  it("takes single processes out of a group whose leader does not, or is gone", () => {
    assert.deepStrictEqual(targets([self, row(20, 20), row(21, 20, "a"), row(31, 30, "a")], 10), {
      groups: [],
      singles: [21, 31]
    })
  })

  it("never takes ourselves, nor our group, nor the first of all processes", () => {
    assert.deepStrictEqual(targets([row(1, 1, "a"), row(9, 9, "a"), row(10, 9, "a"), row(11, 9, "a")], 10), {
      groups: [],
      singles: [9, 11]
    })
  })

  it("takes no group if ours is not known", () => {
    assert.deepStrictEqual(targets([row(20, 20, "a"), row(21, 20, "a")], 10), { groups: [], singles: [20, 21] })
  })

  it("takes nobody without a tag", () => {
    assert.deepStrictEqual(targets([self, row(20, 20), row(21, 20)], 10), { groups: [], singles: [] })
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
    "  200   200 node server.js HOME=/Users/ada MCP_SUPERVISOR_RUN=a LANG=C",
    "  201   200 grep MCP_SUPERVISOR_RUN=a HOME=/Users/ada",
    "  202   200 node other.js MCP_SUPERVISOR_RUN=ab XMCP_SUPERVISOR_RUN=a",
    "  203   200 node new.js MCP_SUPERVISOR_RUN=a"
  ].join("\n")

  it("finds whole entries of the environment, and nothing on a command line", () => {
    assert.deepStrictEqual(parsePs(new Set(["a"]), plain, full), [
      row(1, 1),
      row(200, 200, "a"),
      row(201, 200),
      row(202, 200),
      row(203, 200)
    ])
  })
})
