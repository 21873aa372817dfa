import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { onMachine } from "./support.js"

const json = (value: unknown) => JSON.stringify(value)

describe("trust", () => {
  const project = json({
    mcp: { a: { command: "a", args: ["${SECRET}"] }, b: { url: "https://b.example.com" } },
    tools: { "a_*": false },
    permission: { "*": "allow" }
  })

  onMachine("is required for a project's servers at first, and again after each change", (machine) =>
    Effect.gen(function* () {
      machine.env.SECRET = "secret-value"
      const file = machine.write("mcp-supervisor.json", project)
      const before = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(before.desired.untrusted, ["a", "b"])
      assert.deepStrictEqual(before.desired.servers, {
        a: { command: "untrusted" },
        b: { url: "https://untrusted.invalid/" }
      })
      assert.isUndefined(before.desired.tools)
      assert.isUndefined(before.desired.permission)
      assert.deepStrictEqual(before.layers, [{ kind: "project", name: file, untrusted: ["a", "b"] }])
      // what it would run is shown to whoever is to decide
      const [a] = (yield* ConfigFiles.explain(machine.host)).servers
      assert.deepStrictEqual(
        a?.values.map(({ value }) => value),
        ["a", "{env:SECRET}"]
      )

      const [trusted] = (yield* ConfigFiles.trust(machine.host)).files
      assert.deepStrictEqual([trusted?.file, trusted?.servers], [file, ["a", "b"]])
      const approved = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(approved.desired.untrusted, [])
      assert.deepInclude(approved.desired.servers?.a, { args: ["secret-value"] })
      assert.deepStrictEqual(approved.desired.tools, { "a_*": false })
      assert.deepStrictEqual(approved.desired.permission, { "*": "allow" })

      // spacing and order mean nothing; a word more means everything, for that server
      machine.write("mcp-supervisor.json", JSON.stringify(JSON.parse(project), null, 4))
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, [])
      machine.write("mcp-supervisor.json", project.replace('"args":["${SECRET}"]', '"args":["${SECRET}","--evil"]'))
      const changed = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(changed.desired.untrusted, ["a"])
      assert.deepInclude(changed.desired.servers?.b, { url: "https://b.example.com" })
      machine.write("mcp-supervisor.json", project.replace("allow", "deny"))
      const settings = yield* ConfigFiles.load(machine.host)
      assert.isUndefined(settings.desired.permission)
      assert.deepStrictEqual(settings.desired.untrusted, [])
      assert.deepStrictEqual(
        settings.diagnostics.map(({ code }) => code),
        ["permission_not_applied", "untrusted_settings"]
      )

      machine.write("mcp-supervisor.json", project)
      yield* ConfigFiles.distrust({ ...machine.host, file: "mcp-supervisor.json" })
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, ["a", "b"])
    })
  )

  onMachine("applies to one file and one state directory, and cannot be forged", (machine) =>
    Effect.gen(function* () {
      machine.env.SECRET = "secret-value"
      machine.write("mcp-supervisor.json", project)
      yield* ConfigFiles.trust(machine.host)
      machine.write("other/.git/HEAD", "")
      machine.write("other/mcp-supervisor.json", project)
      const elsewhere = { ...machine.host, cwd: join(machine.cwd, "other") }
      assert.deepStrictEqual((yield* ConfigFiles.load(elsewhere)).desired.untrusted, ["a", "b"])
      const trustFile = machine.read(join(machine.stateDir, "trust.json"))
      assert.notInclude(trustFile, "secret-value")
      const other = join(machine.root, "state2")
      machine.write(join(other, "trust.json"), trustFile)
      assert.deepStrictEqual((yield* ConfigFiles.load({ ...machine.host, stateDir: other })).desired.untrusted, [
        "a",
        "b"
      ])
      // a file of a later version is left alone
      const newer = json({ version: 4, files: {}, directories: {} })
      machine.write(join(other, "trust.json"), newer)
      const error = yield* Effect.flip(ConfigFiles.trust({ ...machine.host, stateDir: other }))
      assert.include(error.message, "newer version")
      assert.strictEqual(machine.read(join(other, "trust.json")), newer)
    })
  )

  onMachine("is required for an entry to change another one, by keys or by disabling it", (machine) =>
    Effect.gen(function* () {
      machine.write(
        machine.globalFile(),
        json({ mcp: { a: { command: "mine" }, b: { command: "mine" }, switched: { enabled: false } } })
      )
      machine.write(
        "mcp-supervisor.json",
        json({
          mcp: { a: { command: "evil" }, b: { enabled: false }, c: { enabled: true }, switched: { command: "new" } }
        })
      )
      const { desired, diagnostics } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(desired.servers?.a, { command: "mine", cwd: machine.home })
      assert.deepStrictEqual(desired.servers?.b, { command: "mine", cwd: machine.home })
      assert.deepStrictEqual(desired.untrusted, ["switched"])
      assert.deepStrictEqual(
        diagnostics.map(({ subject }) => subject),
        ["a", "b"]
      )
      yield* ConfigFiles.trust(machine.host)
      const after = (yield* ConfigFiles.load(machine.host)).desired
      assert.deepInclude(after.servers?.a, { command: "evil" })
      assert.deepInclude(after.servers?.b, { command: "mine", enabled: false })
      assert.deepInclude(after.servers?.switched, { command: "new", enabled: false })
    })
  )
})
