/** What an approval of one project, and the user's own entries, lend to other projects: nothing. */
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { type Machine, onMachine } from "./support.js"

const document = (servers: object) => JSON.stringify({ mcp: servers })

interface Entry {
  readonly command?: unknown
  readonly args?: ReadonlyArray<string>
  readonly cwd?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Another project beside the machine's own, and how it is seen from within. */
const project = (machine: Machine, name: string) => {
  const directory = join(machine.root, name)
  mkdirSync(join(directory, ".git"), { recursive: true })
  const host = { ...machine.host, cwd: directory }
  return { directory, host, write: (file: string, text: string) => machine.write(join(directory, file), text) }
}

const load = (host: ConfigFiles.Options, name = "docs") =>
  Effect.map(ConfigFiles.load(host), ({ desired, diagnostics }) => ({
    entry: desired.servers?.[name] as Entry | undefined,
    untrusted: desired.untrusted ?? [],
    servers: Object.keys(desired.servers ?? {}),
    codes: diagnostics.map(({ code }) => code),
    diagnostics
  }))

const links: Readonly<Record<string, (from: string, to: string) => void>> = {
  "mcp-supervisor.json": (from, to) => symlinkSync(`${to}/mcp-supervisor.json`, join(from, "mcp-supervisor.json")),
  ".mcp-supervisor/config.json": (from, to) => {
    mkdirSync(join(from, ".mcp-supervisor"))
    symlinkSync(`${to}/mcp-supervisor.json`, join(from, ".mcp-supervisor", "config.json"))
  },
  ".mcp-supervisor": (from, to) => {
    mkdirSync(join(to, ".mcp-supervisor"))
    renameSync(join(to, "mcp-supervisor.json"), join(to, ".mcp-supervisor", "config.json"))
    symlinkSync(join(to, ".mcp-supervisor"), join(from, ".mcp-supervisor"))
  }
}

describe("a link out of the project", () => {
  for (const [name, link] of Object.entries(links)) {
    onMachine(`as ${name} is ignored with a diagnostic, approved or not`, (machine) =>
      Effect.gen(function* () {
        const a = project(machine, "a")
        const b = project(machine, "b")
        a.write("mcp-supervisor.json", document({ docs: { command: "x" } }))
        link(b.directory, a.directory)
        yield* ConfigFiles.trust(a.host)
        const { codes, diagnostics, servers } = yield* load(b.host)
        assert.deepStrictEqual(servers, [])
        assert.deepStrictEqual(codes, ["link_outside"])
        assert.include(diagnostics[0]!.message, a.directory)
        assert.include(diagnostics[0]!.file, b.directory)
        // nor does an approval from here reach it
        yield* ConfigFiles.distrust(a.host)
        assert.deepStrictEqual((yield* ConfigFiles.trust(b.host)).files, [])
        assert.deepStrictEqual((yield* load(b.host)).servers, [])
      })
    )
  }

  onMachine("does not mix the command of one project with the directory of another", (machine) =>
    Effect.gen(function* () {
      const a = project(machine, "a")
      const b = project(machine, "b")
      a.write("mcp-supervisor.json", document({ docs: { command: ["node", "tools/server.mjs"] } }))
      b.write("mcp-supervisor.json", document({ docs: { command: ["true"], cwd: "." } }))
      yield* ConfigFiles.trust(a.host)
      yield* ConfigFiles.trust(b.host)
      links[".mcp-supervisor/config.json"]!(b.directory, a.directory)
      assert.deepStrictEqual((yield* load(b.host)).entry, { command: "true", args: [], cwd: b.directory })
    })
  )

  onMachine("does not send headers of one project to the URL of another", (machine) =>
    Effect.gen(function* () {
      machine.env.A_TOKEN = "token-of-a"
      const a = project(machine, "a")
      const b = project(machine, "b")
      const headers = { Authorization: "Bearer {env:A_TOKEN}" }
      a.write("mcp-supervisor.json", document({ docs: { url: "https://a.example.com", headers } }))
      b.write(".mcp-supervisor/config.json", document({ docs: { url: "https://b.example.com" } }))
      yield* ConfigFiles.trust(a.host)
      yield* ConfigFiles.trust(b.host)
      links["mcp-supervisor.json"]!(b.directory, a.directory)
      assert.deepStrictEqual((yield* load(b.host)).entry, { url: "https://b.example.com" } as Entry)
    })
  )

  onMachine("does not change the user's own server of the same name", (machine) =>
    Effect.gen(function* () {
      const a = project(machine, "a")
      const c = project(machine, "c")
      machine.write(machine.globalFile(), document({ docs: { command: "mine", environment: { KEY: "k" } } }))
      a.write("mcp-supervisor.json", document({ docs: { command: "theirs" } }))
      yield* ConfigFiles.trust(a.host)
      links["mcp-supervisor.json"]!(c.directory, a.directory)
      assert.deepInclude((yield* load(c.host)).entry, { command: "mine", cwd: machine.home })
    })
  )

  onMachine("is not followed by a write", (machine) =>
    Effect.gen(function* () {
      const a = project(machine, "a")
      const b = project(machine, "b")
      const text = document({ docs: { command: "x" } })
      const file = a.write("mcp-supervisor.json", text)
      links["mcp-supervisor.json"]!(b.directory, a.directory)
      const options = { ...b.host, scope: "project" as const }
      const error = yield* Effect.flip(ConfigFiles.add("new", { command: "y" }, options))
      assert.include(error.message, "outside of the project")
      assert.strictEqual(machine.read(file), text)
      // the same for a link to a file that is not there yet
      rmSync(file)
      const again = yield* Effect.flip(ConfigFiles.add("new", { command: "y" }, options))
      assert.include(again.message, "outside of the project")
    })
  )

  onMachine("within the project is accepted", (machine) =>
    Effect.gen(function* () {
      machine.write("conf/servers.json", document({ docs: { command: "x" } }))
      symlinkSync("conf/servers.json", join(machine.cwd, "mcp-supervisor.json"))
      yield* ConfigFiles.trust(machine.host)
      assert.deepInclude((yield* load(machine.host)).entry, { command: "x", cwd: join(machine.cwd, "conf") })
    })
  )
})

describe("project files of two directories", () => {
  onMachine("do not mix commands: the higher file replaces the server", (machine) =>
    Effect.gen(function* () {
      const sub = { ...machine.host, cwd: join(machine.cwd, "sub") }
      const environment = { KEY: "k" }
      machine.write(
        "mcp-supervisor.json",
        document({ docs: { command: ["node", "a.mjs"], cwd: ".", environment, timeout: 5 } })
      )
      machine.write("sub/mcp-supervisor.json", document({ docs: { command: ["node", "tools/s.mjs"] } }))
      yield* ConfigFiles.trust(sub)
      const { codes, diagnostics, entry } = yield* load(sub)
      assert.deepStrictEqual(entry as object, { command: "node", args: ["tools/s.mjs"], cwd: sub.cwd, timeout: 5 })
      assert.deepStrictEqual(codes, ["other_directory"])
      assert.include(diagnostics[0]!.message, '"cwd", "environment"')
    })
  )

  onMachine("can disable and adjust each other's servers, and change nothing else", (machine) =>
    Effect.gen(function* () {
      const sub = { ...machine.host, cwd: join(machine.cwd, "sub") }
      machine.write("mcp-supervisor.json", document({ docs: { command: ["node", "a.mjs"] } }))
      machine.write("sub/mcp-supervisor.json", document({ docs: { cwd: ".", enabled: false, timeout: 5 } }))
      yield* ConfigFiles.trust(sub)
      const { codes, entry } = yield* load(sub)
      const expected = { command: "node", args: ["a.mjs"], enabled: false, timeout: 5, cwd: machine.cwd }
      assert.deepStrictEqual(entry as object, expected)
      assert.deepStrictEqual(codes, ["other_directory"])
    })
  )
})

const own = {
  github: { url: "https://own.example.com", headers: { Authorization: "Bearer own-secret" }, oauth: { scope: "s" } },
  local: { command: "mine", args: ["--key", "own-key"], environment: { KEY: "own-key" }, cwd: "/", inheritEnv: true }
}

describe("the user's own values", () => {
  onMachine("are not sent to a URL from a project's file", (machine) =>
    Effect.gen(function* () {
      const file = machine.write(machine.globalFile(), document(own))
      machine.write("mcp-supervisor.json", document({ github: { url: "https://theirs.example.com" } }))
      yield* ConfigFiles.trust(machine.host)
      const { codes, diagnostics, entry } = yield* load(machine.host, "github")
      assert.deepStrictEqual(entry as object, { url: "https://theirs.example.com" })
      assert.deepStrictEqual(codes, ["own_values_withheld"])
      assert.deepInclude(diagnostics[0], { file })
      // the command line tells what is in there
      assert.deepInclude((yield* ConfigFiles.load(machine.host)).desired.diagnostics!, diagnostics[0]!)
      for (const text of ['"headers", "oauth" of your "github"', '"url"', "--config"])
        assert.include(diagnostics[0]!.message, text)
    })
  )

  onMachine("are not passed to a command from a project's file", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", document({ local: { command: "theirs" } }))
      yield* ConfigFiles.trust(machine.host)
      // also not those of a server that the user adds after the approval
      machine.write(machine.globalFile(), document(own))
      const { codes, entry } = yield* load(machine.host, "local")
      assert.deepStrictEqual(entry as object, { command: "theirs", cwd: machine.cwd })
      assert.deepStrictEqual(codes, ["own_values_withheld"])
    })
  )

  onMachine("are withheld from every layer below the project", (machine) =>
    Effect.gen(function* () {
      machine.env.MCP_SUPERVISOR_CONFIG = machine.write(join(machine.root, "named.json"), document(own))
      machine.write("mcp-supervisor.json", document({ local: { command: "theirs" }, github: { url: "https://t.x" } }))
      const host = { ...machine.host, program: { servers: own } }
      yield* ConfigFiles.trust(machine.host)
      const { desired } = yield* ConfigFiles.load(host)
      assert.notInclude(JSON.stringify(desired.servers), "own-")
    })
  )

  onMachine("are not combined with arguments or login settings from a project's file", (machine) =>
    Effect.gen(function* () {
      const oauth = { clientId: "i", clientSecret: "own-secret" }
      machine.write(machine.globalFile(), document({ ...own, web: { url: "https://own.example.com", oauth } }))
      const tokenUrl = "https://theirs.example.com/token"
      machine.write("mcp-supervisor.json", document({ local: { args: ["-e", "evil"] }, web: { oauth: { tokenUrl } } }))
      yield* ConfigFiles.trust(machine.host)
      const { entry } = yield* load(machine.host, "local")
      assert.deepStrictEqual(entry as object, { command: "mine", cwd: "/", args: ["-e", "evil"] })
      assert.deepStrictEqual((yield* load(machine.host, "web")).entry as object, {
        url: "https://own.example.com",
        oauth: { tokenUrl }
      })
    })
  )

  onMachine("are kept if a project's file only adds settings to the server", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), document(own))
      const github = { headers: { "X-Team": "t" }, timeout: 5 }
      machine.write("mcp-supervisor.json", document({ github, local: { environment: { DEBUG: "1" } } }))
      yield* ConfigFiles.trust(machine.host)
      const { codes, entry } = yield* load(machine.host, "github")
      assert.deepStrictEqual(entry?.headers, { Authorization: "Bearer own-secret", "X-Team": "t" })
      assert.deepStrictEqual(codes, [])
    })
  )

  onMachine("of a layer above the project are used", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", document({ github: { url: "https://theirs.example.com" } }))
      yield* ConfigFiles.trust(machine.host)
      const file = machine.write("mine.json", document({ github: { headers: { Authorization: "t" } } }))
      const { entry } = yield* load({ ...machine.host, files: [file] }, "github")
      assert.deepStrictEqual(entry?.headers, { Authorization: "t" })
    })
  )
})
