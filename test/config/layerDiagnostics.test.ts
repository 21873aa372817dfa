import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { loadFile, onMachine } from "./support.js"

describe("an error in a config file", () => {
  onMachine(
    "is reported with file, line, column, path, types and the nearest key, and affects only its server",
    (machine) =>
      Effect.gen(function* () {
        const text = `{
  // three servers
  "mcpServers": {
    "good": { "command": "x" },
    "bad": { "comand": "secret-canary" },
    "late": { "url": "https://x.example.com", "timeout": { "call": -5 }, "headers": { "A": 7 } },
    "odd": { "command": "x", "tiemout": 5 }
  }
}`
        const { desired, diagnostics } = yield* loadFile(machine, "servers.json", text)
        assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["good", "odd"])
        const file = join(machine.cwd, "servers.json")
        const messages = Object.values(desired.unreadable ?? {}).map(({ message }) => message)
        assert.deepStrictEqual(messages, [
          `bad: invalid config: ${file}:5:12: mcpServers.bad: expected an object with "command" (a local server) or "url" (a remote one), found neither ("comand" looks like a misspelling of "command")`,
          `late: invalid config: ${file}:6:92: mcpServers.late.headers.A: expected a string, found a number; ` +
            `${file}:6:68: mcpServers.late.timeout.call: expected a positive duration: milliseconds or a text such as "30 seconds", found a negative number`
        ])
        assert.deepStrictEqual(
          diagnostics.map(({ file, line, message, subject }) => [subject, file, line, message]),
          [["odd", file, 7, 'unknown key tiemout; did you mean "timeout"?']]
        )
      })
  )

  onMachine("is reported for TOML, too", (machine) =>
    Effect.gen(function* () {
      const text = `# mine\n[mcp.a]\ncommand = "x"\n\n[mcp.b]\nurl = "https://b.example.com"\nheaders = { A = "1",\n  B = 2 }\n\n[mcp.b.timeout]\ncall = 0\n`
      const { desired } = yield* loadFile(machine, "servers.toml", text.replace(",\n  B", ", B"))
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["a"])
      const places = desired.unreadable?.b?.issues.map(({ column, line, path }) => [path.join("."), line, column])
      assert.deepStrictEqual(places, [
        ["mcp.b.headers.B", 7, 22],
        ["mcp.b.timeout.call", 10, 1]
      ])
      const error = yield* Effect.flip(loadFile(machine, "broken.toml", '[mcp.a]\ncommand = "secret-canary\n'))
      assert.deepInclude(error.issues[0], { file: join(machine.cwd, "broken.toml"), line: 2 })
      assert.notInclude(error.message, "canary")
    })
  )

  for (const [name, text, expected] of [
    ["a.json", '{ "mcp": { "a": { "command": secret-canary } } }', "1:30: mcp.a.command"],
    ["a.json", '{ "mcp": [] }', "1:10: mcp: expected an object of servers by name, found an empty array"],
    ["a.json", '{ "tools": { "x_*": "yes" } }', '1:21: tools["x_*"]: expected a boolean, found a string'],
    [
      "a.json",
      '{ "agent": { "p": { "tools": { "x": 1 } } } }',
      "1:37: agent.p.tools.x: expected a boolean, found a number"
    ],
    [
      "a.json",
      '{ "experimental": { "mcp_timeout": 0 } }',
      "1:36: experimental.mcp_timeout: expected a positive duration"
    ],
    ["a.json", '{ "guard": "no" }', "1:12: guard: expected a boolean, found a string"],
    ["a.json", '{ "permission": { "x": "{env:NONE}" } }', "1:24: permission.x: expected the environment variable NONE"],
    ["a.json", "[]", "1:1: (root): expected an object, found an empty array"]
  ] as const) {
    onMachine(`of the whole file is one error: ${text}`, (machine) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(loadFile(machine, name, text))
        assert.include(error.message, `${join(machine.cwd, name)}:${expected}`)
        assert.notInclude(error.message, "canary")
      })
    )
  }

  onMachine("guard: a higher trusted file decides about the guard process", (machine) =>
    Effect.gen(function* () {
      assert.isUndefined((yield* loadFile(machine, "a.json", "{}")).desired.guard)
      assert.isFalse((yield* loadFile(machine, "a.json", '{ "guard": false }')).desired.guard)
      machine.write("mcp-supervisor.json", '{ "guard": false }')
      assert.isUndefined((yield* ConfigFiles.load(machine.host)).desired.guard)
    })
  )

  onMachine("is a named file that is missing, a directory, or binary", (machine) =>
    Effect.gen(function* () {
      const message = (file: string) =>
        Effect.map(Effect.flip(ConfigFiles.load({ ...machine.host, files: [file] })), (error) => error.message)
      assert.include(
        yield* message("none.json"),
        `${join(machine.cwd, "none.json")}: (root): expected a config file, found no file of that name`
      )
      assert.include(yield* message("."), "found a directory")
      writeFileSync(join(machine.cwd, "wide.json"), Buffer.from("\uFEFF{}", "utf16le"))
      assert.include(yield* message("wide.json"), "UTF-16: save it as UTF-8")
      writeFileSync(join(machine.cwd, "bytes.json"), Buffer.from([0x7b, 0xff, 0x7d]))
      assert.include(yield* message("bytes.json"), "no UTF-8")
    })
  )

  onMachine("is none of: BOM, CRLF, tabs, unicode names, empty files, duplicate keys", (machine) =>
    Effect.gen(function* () {
      const text =
        '\uFEFF{\r\n\t"mcp": {\r\n\t\t"服务器 é": { "command": "x" },\r\n\t\t"a": { "command": "1" }, "a": { "command": "2", },\r\n\t},\r\n}\r\n'
      const { desired, diagnostics } = yield* loadFile(machine, "odd.json", text)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["服务器 é", "a"])
      assert.deepInclude(desired.servers?.a, { command: "2" })
      assert.deepStrictEqual(
        diagnostics.map(({ column, line, message }) => [line, column, message]),
        [[4, 28, "mcp.a is given twice; the later one holds"]]
      )
      for (const empty of ["", " \n", "\uFEFF"]) {
        assert.deepStrictEqual((yield* loadFile(machine, "empty.json", empty)).desired.servers, {})
        assert.deepStrictEqual((yield* loadFile(machine, "empty.toml", empty)).desired.servers, {})
      }
      const misspelled = yield* loadFile(machine, "near.json", '{ "mcpServer": {} }')
      assert.include(misspelled.diagnostics[0]?.message, 'did you mean "mcpServers"?')
    })
  )
})
