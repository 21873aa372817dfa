import { assert, describe, it } from "@effect/vitest"
import { type Identity, judge, parsePs, parseStat } from "../../src/system/processIdentity.js"

const here = { boot: "boot", space: "pid:[1]", machine: "machine" }
const owner: Identity = { pid: 7, startedAt: "100", ...here }
const without = (key: keyof Identity): Identity => {
  const { [key]: _, ...rest } = owner
  return rest as Identity
}

describe("judge", () => {
  const seen = { startedAt: "100" }
  const rows = [
    ["the one that was started then", owner, here, seen, "alive"],
    ["a number that is free", owner, here, undefined, "dead"],
    ["a number that another has now", owner, here, { startedAt: "200" }, "dead"],
    ["a process we may not look at", owner, here, {}, "alive"],
    ["an owner who did not know when he was started", without("startedAt"), here, seen, "alive"],
    ["an owner who did not know it, and a free number", without("startedAt"), here, undefined, "dead"],
    ["another boot", { ...owner, boot: "before" }, here, seen, "dead"],
    ["another boot and namespace", { ...owner, boot: "before", space: "pid:[2]" }, here, undefined, "dead"],
    ["another boot of another machine", { ...owner, boot: "before", machine: "other" }, here, undefined, "unknown"],
    ["another namespace", { ...owner, space: "pid:[2]" }, here, undefined, "unknown"],
    ["another namespace, and somebody of that number", { ...owner, space: "pid:[2]" }, here, seen, "unknown"],
    ["no namespace where we have one", without("space"), here, undefined, "unknown"],
    ["no boot, and a free number", without("boot"), here, undefined, "unknown"],
    ["no boot, and somebody else of that number", without("boot"), here, { startedAt: "200" }, "unknown"],
    ["a system that tells nothing, and a number in use", { pid: 7 }, {}, {}, "alive"],
    ["a system that tells nothing, and a free number", { pid: 7 }, {}, undefined, "unknown"],
    ["only the machine, and a number in use", { pid: 7, machine: "pc" }, { machine: "pc" }, {}, "alive"],
    ["only the machine, and a free number", { pid: 7, machine: "pc" }, { machine: "pc" }, undefined, "dead"],
    ["only another machine, and a free number", { pid: 7, machine: "pc" }, { machine: "mac" }, undefined, "unknown"]
  ] as const
  for (const [name, identity, place, found, expected] of rows) {
    it(`${name}: ${expected}`, () => {
      assert.strictEqual(judge(identity, place, found), expected)
    })
  }
})

describe("parseStat", () => {
  const line = (name: string, state: string) =>
    `4242 (${name}) ${state} 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 11 0 987654 1 2 3\n`

  for (const name of ["node", "a b", ") R 1 2", "((", "x) Z 9 9 9", "two\nlines"]) {
    it(`parses the line of a program called ${JSON.stringify(name)}`, () => {
      assert.deepStrictEqual(parseStat(line(name, "S")), { group: 77, startedAt: "987654", runs: true })
    })
  }

  it("recognises zombies", () => {
    assert.deepStrictEqual(
      ["Z", "X", "T", "D"].map((state) => parseStat(line("node", state))?.runs),
      [false, false, true, true]
    )
  })

  it("returns nothing for other text", () => {
    for (const text of ["", "1 (x) S", "nonsense"]) assert.isUndefined(parseStat(text))
  })
})

describe("parsePs", () => {
  it("returns the start time unchanged", () => {
    assert.deepStrictEqual(parsePs("Ss   Mon Nov 16 19:41:00 2026    \n"), { startedAt: "Mon Nov 16 19:41:00 2026" })
  })

  it("returns nothing for zombies and for no process", () => {
    for (const text of ["", "\n", "Z+   Mon Nov 16 19:41:00 2026\n"]) assert.isUndefined(parsePs(text))
  })
})
