import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { onMachine } from "./support.js"

describe("a project of another author", () => {
  onMachine("is ignored if it is nested too deeply, without an effect on other layers", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), '{ "mcp": { "mine": { "command": "mine" } } }')
      machine.write(
        join(machine.cwd, "mcp-supervisor.json"),
        `{"permission":${'{"a":'.repeat(2_500)}1${"}".repeat(2_500)}}`
      )
      const { desired } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["mine"])
    })
  )

  onMachine("has no server approved by enabling or disabling it", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), '{ "mcp": { "x": { "command": "good" } } }')
      machine.write(
        join(machine.cwd, "mcp-supervisor.json"),
        '{ "mcp": { "x": { "command": "evil", "enabled": true } } }'
      )
      const error = yield* Effect.flip(ConfigFiles.enable("x", { ...machine.host, scope: "project" }))
      assert.include(error.message, "trust it first")
      const { desired } = yield* ConfigFiles.load(machine.host)
      assert.include(JSON.stringify(desired.servers?.x), "good")
    })
  )

  onMachine(
    "very many mistakes are told before anybody loses patience",
    (machine) =>
      Effect.gen(function* () {
        const tools = Array.from({ length: 60_000 }, (_, index) => `"s${index}": 1`).join(",\n")
        const file = machine.write("many.json", `{"tools":{${tools}}}`)
        const error = yield* Effect.flip(ConfigFiles.load({ ...machine.host, files: [file] }))
        assert.include(error.message, "many.json:1:")
        assert.strictEqual(error.issues.length, 51)
        assert.include(error.message, "and 59950 more")
      }),
    180_000
  )
})

describe("very many diagnostics", () => {
  onMachine("are limited for each file and each entry", (machine) =>
    Effect.gen(function* () {
      const keys = (value: unknown) =>
        Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`key_of_${index}`, value]))
      const mcp = { a: { command: "x", ...keys(1) }, b: { command: "x", env: keys(1) }, c: { command: "x", c: 1 } }
      machine.write(machine.globalFile(), JSON.stringify({ mcp }))
      const file = machine.write("other.json", '{ "mcp": { "d": { "command": "x", "d": 1 } } }')
      const { desired, diagnostics } = yield* ConfigFiles.load({ ...machine.host, files: [file] })
      const own = diagnostics.filter((each) => each.file === machine.globalFile())
      assert.strictEqual(own.length, 51)
      assert.deepInclude(own.at(-1), { code: "more", message: "and 151 more" })
      assert.strictEqual(diagnostics.filter((each) => each.file === file).length, 1)
      assert.strictEqual(desired.unreadable?.b?.issues.length, 51)
    })
  )
})

describe("a placeholder that cannot be read", () => {
  for (const text of [
    "{env:UNSET:-{env:TOKEN}}",
    "${UNSET:-${TOKEN}}",
    '{env:UNSET:-{"x":1}}',
    "{env:TOKEN",
    "{file:}"
  ]) {
    onMachine(`is an error of its server and not a literal text: ${text}`, (machine) =>
      Effect.gen(function* () {
        machine.write(
          machine.globalFile(),
          JSON.stringify({ mcp: { x: { url: "https://example.com", headers: { a: text } }, y: { command: "y" } } })
        )
        const { desired } = yield* ConfigFiles.load(machine.host)
        assert.deepStrictEqual(Object.keys(desired.unreadable ?? {}), ["x"])
        assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["y"])
      })
    )
  }
})
