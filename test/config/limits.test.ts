import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import type { InvalidConfig } from "../../src/domain/Errors.js"
import { loadFile, onMachine } from "./support.js"

const kb100 = "a".repeat(100_000)

const issueOf = (error: InvalidConfig | undefined) =>
  error?.issues.map(({ expected, found, path }) => `${path.join(".")}: ${expected}, ${found}`).join("\n") ?? ""

describe("the size that variables and files add to a config", () => {
  onMachine("is limited in one value, with the path and the limit in the issue", (machine) =>
    Effect.gen(function* () {
      machine.env.A1 = kb100
      const entry = { command: ["true", "{env:A1}".repeat(100_000)], enabled: false }
      const { desired } = yield* loadFile(
        machine,
        "c.json",
        JSON.stringify({ mcp: { big: entry, ok: { command: "x" } } })
      )
      const issue = issueOf(desired.unreadable?.big)
      assert.match(issue, /^mcp\.big\.command\.1: at most 1048576 characters .* in one value, more$/)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["ok"])
    })
  )

  onMachine("is limited in one entry, also if each value is small", (machine) =>
    Effect.gen(function* () {
      machine.env.A1 = kb100
      const command = ["true", ...Array.from({ length: 100_000 }, () => "{env:A1}")]
      const { desired } = yield* loadFile(machine, "c.json", JSON.stringify({ mcp: { big: { command } } }))
      const issue = issueOf(desired.unreadable?.big)
      assert.match(issue, /^mcp\.big\.command\.\d+: at most 4194304 characters .* in one entry, more$/)
    })
  )

  onMachine("is limited over all entries together", (machine) =>
    Effect.gen(function* () {
      machine.env.A1 = kb100
      const environment = Object.fromEntries(Array.from({ length: 35 }, (_, index) => [`K${index}`, "{env:A1}"]))
      const mcp = Object.fromEntries(
        Array.from({ length: 8 }, (_, index) => [`s${index}`, { command: "x", environment }])
      )
      const { desired } = yield* loadFile(machine, "c.json", JSON.stringify({ mcp }))
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["s0", "s1", "s2", "s3"])
      assert.match(
        issueOf(desired.unreadable?.s4),
        /at most 16777216 characters .* in all config files together, more$/
      )
    })
  )

  onMachine("is limited for files as well, one by one and together", (machine) =>
    Effect.gen(function* () {
      machine.write("big.txt", "b".repeat(1024 * 1024 + 1))
      for (let index = 0; index < 20; index++) machine.write(`part${index}.txt`, "p".repeat(1_000_000))
      const mcp = Object.fromEntries([
        ["big", { command: "x", environment: { K: "{file:big.txt}" } }],
        ...Array.from({ length: 20 }, (_, index) => [
          `s${index}`,
          { command: "x", environment: { K: `{file:part${index}.txt}` } }
        ])
      ])
      const { desired } = yield* loadFile(machine, "c.json", JSON.stringify({ mcp }))
      assert.include(issueOf(desired.unreadable?.big), "a file of more than 1048576 bytes")
      assert.property(desired.servers, "s0")
      assert.include(issueOf(desired.unreadable?.s19), "a file beyond the limit of 16777216 bytes")
    })
  )
})

describe("an entry with a very large number of unknown keys", () => {
  onMachine("is loaded, with the first warnings and the number of the rest", (machine) =>
    Effect.gen(function* () {
      const odd = Object.fromEntries(Array.from({ length: 130_000 }, (_, index) => [`k${index}`, 1]))
      const text = JSON.stringify({ mcp: { odd: { command: "x", ...odd } } })
      const { desired, diagnostics } = yield* loadFile(machine, "c.json", text)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["odd"])
      assert.isAtMost(diagnostics.length, 60)
      assert.isTrue(diagnostics.some(({ message }) => message.includes("more")))
    })
  )

  onMachine("is imported in the same way", (machine) =>
    Effect.gen(function* () {
      const odd = Object.fromEntries(Array.from({ length: 130_000 }, (_, index) => [`k${index}`, 1]))
      const file = join(machine.home, ".cursor/mcp.json")
      machine.write(file, JSON.stringify({ mcpServers: { odd: { command: "x", ...odd } } }))
      const { diagnostics } = yield* ConfigFiles.importFrom("cursor", machine.host)
      assert.isAtMost(diagnostics.length, 60)
    })
  )
})
