import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect, Either, Option } from "effect"
import * as Lifecycle from "../../src/domain/server/Lifecycle.js"
import { ConfigFiles, ServerConfig } from "../../src/index.js"
import { resolve } from "../../src/supervision/servers/Reconciler.js"
import { loadFile, onMachine } from "./support.js"

const json = (value: unknown) => JSON.stringify(value)

describe("layers", () => {
  onMachine("from the lowest to the highest, each value with its origin", (machine) =>
    Effect.gen(function* () {
      const { env, home, root, stateDir, write } = machine
      const layer = (own: string, more: object = {}) => json({ mcp: { a: { [own]: 1, last: own, ...more } } })
      env.MCP_SUPERVISOR_DEFAULTS_URL = "https://example.com/defaults.json"
      const kept = { version: 1, url: env.MCP_SUPERVISOR_DEFAULTS_URL, fetchedAt: 0, text: layer("organisation") }
      write(join(stateDir, "organisation.json"), json(kept))
      write(join(home, ".config/mcp-supervisor/config.json"), layer("global"))
      env.MCP_SUPERVISOR_CONFIG = write(join(root, "environment.json"), layer("named"))
      write("mcp-supervisor.json", layer("project"))
      write("sub/mcp-supervisor.toml", '[mcp.a]\nprojectBelow = 1\nlast = "projectBelow"\n')
      write("sub/.mcp-supervisor/config.jsonc", `// mine\n${layer("directory")}`)
      const files = [write("one.json", layer("one")), write("two.json", layer("two"))]
      env.MCP_SUPERVISOR_CONFIG_CONTENT = layer("inline", { url: "https://a.example.com" })
      write(env.MCP_SUPERVISOR_MANAGED_CONFIG!, layer("managed"))
      const host = { ...machine.host, cwd: join(machine.cwd, "sub"), files }
      yield* ConfigFiles.trust(host)
      const { desired, layers } = yield* ConfigFiles.load({ ...host, program: { servers: { a: { command: "x" } } } })
      const order = [
        "organisation",
        "global",
        "named",
        "project",
        "projectBelow",
        "directory",
        "one",
        "two",
        "inline",
        "managed"
      ]
      const input = desired.servers?.a as unknown as Record<string, unknown>
      assert.strictEqual(input.last, "managed")
      for (const own of order) assert.strictEqual(input[own], 1, own)
      // an address above has made it another server
      assert.notProperty(input, "command")
      assert.deepStrictEqual(
        layers.map(({ kind }) => kind),
        [
          "program",
          "organisation",
          "global",
          "environment",
          "project",
          "project",
          "projectDirectory",
          "file",
          "file",
          "inline",
          "managed"
        ]
      )
      // one by one: without the highest, the next one has the last word
      const explained = yield* ConfigFiles.explain(host)
      const values = explained.servers.find(({ name }) => name === "a")!.values
      const origin = (key: string) => values.find(({ path }) => path[0] === key)!
      assert.deepInclude(origin("last"), { layer: "managed", file: env.MCP_SUPERVISOR_MANAGED_CONFIG!, line: 1 })
      assert.deepInclude(origin("projectBelow"), {
        layer: "project",
        file: join(host.cwd, "mcp-supervisor.toml"),
        line: 2,
        column: 1
      })
      assert.deepInclude(origin("directory"), { layer: "projectDirectory", line: 2, column: 26 })
      assert.deepInclude(origin("url"), { layer: "inline", file: "MCP_SUPERVISOR_CONFIG_CONTENT" })
      assert.deepInclude(origin("organisation"), { layer: "organisation", file: "https://example.com/defaults.json" })
    })
  )

  onMachine("a project ends at the root of its repository, and outside of one at its directory", (machine) =>
    Effect.gen(function* () {
      machine.write(join(machine.root, "mcp-supervisor.json"), json({ mcp: { above: { command: "x" } } }))
      machine.write("mcp-supervisor.json", json({ mcp: { root: { command: "x" } } }))
      mkdirSync(join(machine.cwd, "sub", "deep"), { recursive: true })
      const deep = yield* ConfigFiles.load({ ...machine.host, cwd: join(machine.cwd, "sub", "deep") })
      assert.deepStrictEqual(deep.desired.untrusted, ["root"])
      const outside = yield* ConfigFiles.load({ ...machine.host, cwd: machine.home })
      assert.deepStrictEqual(outside.desired.servers, {})
    })
  )

  onMachine("tools of a higher layer come after those below", (machine) =>
    Effect.gen(function* () {
      machine.write(
        machine.globalFile(),
        json({ tools: { "a_*": false, "b_*": false }, agent: { x: { tools: { "*": true } } } })
      )
      const { desired } = yield* loadFile(
        machine,
        "f.json",
        json({ tools: { "*": true, "a_*": true }, agent: { x: { model: "m", tools: { "b_*": false } } } })
      )
      assert.deepStrictEqual(Object.entries(desired.tools ?? {}), [
        ["b_*", false],
        ["*", true],
        ["a_*", true]
      ])
      assert.deepStrictEqual(desired.agents, { x: { tools: { "*": true, "b_*": false } } })
    })
  )

  onMachine("the organisation's document is called by its address, without what may be secret in it", (machine) =>
    Effect.gen(function* () {
      const key = "7f3a91bc55d04e12"
      const url =
        (machine.env.MCP_SUPERVISOR_DEFAULTS_URL = `https://u:${key}@example.com/t/${key}/d.json?k=${key}#${key}`)
      const text = json({ mcp: { wiki: { url: "https://wiki.example.com" } } })
      machine.write(join(machine.stateDir, "organisation.json"), json({ version: 1, url, fetchedAt: 0, text }))
      const { layers } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(
        layers.map(({ name }) => name),
        ["https://example.com/t/[redacted]/d.json"]
      )
    })
  )

  onMachine("the organisation may point to servers; it may not start programs or look at what is here", (machine) =>
    Effect.gen(function* () {
      const url = (machine.env.MCP_SUPERVISOR_DEFAULTS_URL = "https://example.com/d")
      machine.env.TOKEN = "secret-token"
      const text = json({
        mcp: {
          ok: { url: "https://ok.example.com" },
          program: { command: "sh" },
          typed: { type: "local" },
          environment: { environment: { NODE_OPTIONS: "--require /evil" } },
          variable: { url: "https://x.example.com/{env:TOKEN}" },
          file: { url: "https://x.example.com", headers: { A: "{file:/etc/passwd}" } },
          roots: { url: "https://x.example.com", roots: ["/"] },
          authority: { url: "https://x.example.com", caFile: "/tmp/ca.pem" }
        },
        experimental: { mcp_timeout: "soon" }
      })
      machine.write(join(machine.stateDir, "organisation.json"), json({ version: 1, url, fetchedAt: 0, text }))
      machine.write(machine.globalFile(), json({ mcp: { environment: { command: "mine" } } }))
      const { desired, diagnostics } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["ok", "environment"])
      assert.notInclude(json(desired.servers), "NODE_OPTIONS")
      assert.sameMembers(
        diagnostics.map(({ subject }) => subject),
        ["program", "typed", "environment", "variable", "file", "roots", "authority", undefined]
      )
      assert.include(diagnostics.find(({ subject }) => subject === "roots")?.message, "may not name files")
      assert.include(diagnostics.find(({ subject }) => subject === undefined)?.message, "is no duration")
      assert.deepStrictEqual(desired.defaults, {})
      // a document of another address is not taken for it, and http is for tests on this machine only
      machine.env.MCP_SUPERVISOR_DEFAULTS_URL = "http://example.com/d"
      const plain = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(Object.keys(plain.desired.servers ?? {}), ["environment"])
      // nobody asks there, and that is said
      for (const said of [plain.diagnostics, plain.desired.diagnostics ?? []]) {
        assert.deepStrictEqual(
          said.map(({ code }) => code),
          ["organisation_address"]
        )
      }
    })
  )

  onMachine("an organisation that does not answer delays nothing", (machine) =>
    Effect.gen(function* () {
      machine.env.MCP_SUPERVISOR_DEFAULTS_URL = "https://192.0.2.1/"
      machine.write(machine.globalFile(), json({ mcp: { a: { command: "x" } } }))
      const from = performance.now()
      assert.deepStrictEqual(Object.keys((yield* ConfigFiles.load(machine.host)).desired.servers ?? {}), ["a"])
      assert.isBelow(performance.now() - from, 1500)
    })
  )
})

describe("what is wrong", () => {
  onMachine("is told with file, line, column, path, types and the nearest key, and hides nobody else", (machine) =>
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

  onMachine("is told of TOML as well", (machine) =>
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
    onMachine(`with a whole file is its own: ${text}`, (machine) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(loadFile(machine, name, text))
        assert.include(error.message, `${join(machine.cwd, name)}:${expected}`)
        assert.notInclude(error.message, "canary")
      })
    )
  }

  onMachine("guard: a higher file decides about the guard process, one that is not trusted does not", (machine) =>
    Effect.gen(function* () {
      assert.isUndefined((yield* loadFile(machine, "a.json", "{}")).desired.guard)
      assert.isFalse((yield* loadFile(machine, "a.json", '{ "guard": false }')).desired.guard)
      machine.write("mcp-supervisor.json", '{ "guard": false }')
      assert.isUndefined((yield* ConfigFiles.load(machine.host)).desired.guard)
    })
  )

  onMachine("is a file that was named and is not there, a directory, or bytes that are no text", (machine) =>
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

  onMachine("BOM, CRLF, tabs, unicode names, empty files, keys given twice: all are read", (machine) =>
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

describe("permission rules", () => {
  onMachine("are reported as not applied, with their place, and change nothing else", (machine) =>
    Effect.gen(function* () {
      machine.write(
        join(machine.home, ".config/mcp-supervisor/config.json"),
        '{\n  "permission": { "*": "deny" },\n  "mcp": { "a": { "command": "a" } }\n}'
      )
      const { desired, diagnostics } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["a"])
      const [diagnostic] = diagnostics
      assert.deepInclude(diagnostic, {
        code: "permission_not_applied",
        severity: "warning",
        line: 2,
        path: ["permission"]
      })
      assert.include(diagnostic?.message, "not applied yet")
      assert.lengthOf(diagnostics, 1)
    })
  )
})

describe("pain 46: variables", () => {
  onMachine("work in every text, and what was put in is secret", (machine) =>
    Effect.gen(function* () {
      Object.assign(machine.env, { HOST: "h.example.com", TOKEN: "secret-token", DIR: "below", NUMBER: "5000" })
      machine.write("conf/key.txt", "file-secret\r\n")
      const { desired } = yield* loadFile(
        machine,
        "conf/servers.json",
        json({
          mcp: {
            local: {
              command: "{env:DIR}/run",
              args: ["--t=${TOKEN}", "./script.js"],
              env: { A: "{file:key.txt}" },
              timeout: "${NUMBER}"
            },
            placed: { command: "./run", cwd: "${DIR}", roots: ["src", "~/x", "${workspaceFolder}"] },
            remote: {
              url: "https://${env:HOST}/mcp?k=${TOKEN}",
              headers: { Authorization: "Bearer ${TOKEN:-none}" },
              caFile: "ca.pem"
            },
            fallback: { url: "https://x.example.com", headers: { A: "${NONE:-default-value}" } },
            missing: { url: "https://x.example.com", headers: { Authorization: "Bearer ${NONE}" } }
          }
        })
      )
      const conf = join(machine.cwd, "conf")
      const config = (name: string) =>
        Option.getOrThrow(Either.getOrThrow(ServerConfig.decode(name, desired.servers?.[name])).config)
      const local = config("local")
      assert.deepInclude(local, { cwd: conf })
      assert.strictEqual(local.timeout.call, 5000)
      assert.deepStrictEqual(desired.servers?.local, {
        command: "below/run",
        args: ["--t=secret-token", join(conf, "script.js")],
        environment: { A: "file-secret" },
        timeout: "5000",
        cwd: conf,
        secrets: ["below", "secret-token", "5000", "file-secret"]
      } as never)
      // with a cwd of its own, a program is looked for from there
      assert.deepInclude(desired.servers?.placed, {
        command: "./run",
        cwd: join(conf, "below"),
        roots: [join(conf, "src"), join(machine.home, "x"), machine.cwd]
      })
      const remote = config("remote")
      assert.deepInclude(remote, { caFile: join(conf, "ca.pem") })
      // nothing of it shows when it is shown
      assert.notMatch(json([local, remote, config("fallback")]), /secret-token|file-secret/)
      assert.notInclude(json(config("fallback")), "default-value")
      assert.deepStrictEqual(Object.keys(desired.unreadable ?? {}), ["missing"])
      assert.include(
        desired.unreadable?.missing?.message,
        "the environment variable NONE, found a variable that is not set"
      )
    })
  )

  onMachine("that are not set are no failure of a server that is switched off", (machine) =>
    Effect.gen(function* () {
      const entry = { url: "https://x.example.com", headers: { A: "{env:NONE}" } }
      const mcp = { off: { ...entry, enabled: false }, disabled: { ...entry, disabled: true }, on: entry }
      machine.write(machine.globalFile(), json({ mcp }))
      const { desired } = yield* ConfigFiles.load(machine.host)
      const { definitions } = Either.getOrThrow(resolve(desired))
      const statuses = [...definitions.values()].map(({ name, settings }) => {
        return [name, Lifecycle.status(Lifecycle.start(settings, 0).state).status]
      })
      assert.deepStrictEqual(Object.fromEntries(statuses), { off: "disabled", disabled: "disabled", on: "failed" })
      const { servers } = yield* ConfigFiles.explain(machine.host)
      assert.deepStrictEqual(
        servers.map(({ name, state }) => [name, state]),
        [
          ["off", "disabled"],
          ["disabled", "disabled"],
          ["on", "invalid"]
        ]
      )
    })
  )

  onMachine("pain 48: a canary in any field shows up nowhere", (machine) =>
    Effect.gen(function* () {
      machine.env.CANARY = "canary-0"
      const canary = (index: number) => `canary-${index}`
      const entries = {
        local: {
          command: "x",
          args: [
            "--token",
            canary(1),
            `--api-key=${canary(2)}`,
            "{env:CANARY}",
            `https://u:${canary(3)}@h/?q=${canary(4)}`
          ],
          env: { A: canary(5), B: `\${NONE:-${canary(6)}}` },
          secrets: [canary(7)]
        },
        remote: {
          url: `https://u:${canary(8)}@h.example.com/?key=${canary(9)}`,
          headers: { A: canary(10), B: `Bearer ${canary(11)}` },
          oauth: { clientSecret: canary(12), privateKeyPem: canary(13), clientId: "{env:CANARY}" }
        },
        wrong: {
          url: canary(14),
          headers: { [`Authorization: Bearer ${canary(15)}`]: 1 },
          oauth: canary(16),
          timeout: canary(17)
        },
        worse: { command: "x", args: canary(18), env: [canary(19)], cwd: 3, concurrency: canary(20) },
        mistaken: { url: "https://h.example.com", headers: { "X: canary-21": "{env:NONE}" } },
        odd: { command: "x", [`key ${canary(22)}`]: 1 }
      }
      for (const kind of ["trusted", "untrusted"]) {
        const file = machine.write(kind === "trusted" ? "f.json" : "mcp-supervisor.json", json({ mcp: entries }))
        const options = kind === "trusted" ? { ...machine.host, files: [file] } : machine.host
        const loaded = yield* ConfigFiles.load(options)
        const shown = [
          yield* ConfigFiles.explain(options),
          loaded.diagnostics,
          loaded.problems,
          loaded.desired.unreadable,
          Object.values(loaded.desired.unreadable ?? {}).map(String),
          loaded.layers
        ]
        assert.notInclude(json(shown), "canary", kind)
      }
      const added = yield* Effect.flip(
        ConfigFiles.add("n", { url: canary(1), headers: { A: canary(2) } }, machine.host)
      )
      assert.notInclude(`${added.message}${json(added)}`, "canary")
    })
  )
})

describe("pain 55: trust", () => {
  const project = json({
    mcp: { a: { command: "a", args: ["${SECRET}"] }, b: { url: "https://b.example.com" } },
    tools: { "a_*": false },
    permission: { "*": "allow" }
  })

  onMachine("a project's servers are stand-ins until it is approved of, and again after each change", (machine) =>
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

  onMachine("an approval is for one file, one state directory, and nobody can write it himself", (machine) =>
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

  onMachine("an entry that nobody approved of changes no other: not by its keys, not by a switch", (machine) =>
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
