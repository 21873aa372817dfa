/** Where local servers run that set no `cwd`, and what an approval covers. */
import { cpSync, mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { type Machine, onMachine } from "./support.js"

const document = (servers: object) => JSON.stringify({ mcp: servers })

const docs = document({ docs: { command: ["node", "tools/server.mjs", "${workspaceFolder}/s.mjs"] } })

/** What the server `name` would be started with, or nothing where it is not trusted. */
const started = (machine: Machine, cwd: string, name = "docs") =>
  Effect.map(ConfigFiles.load({ ...machine.host, cwd }), ({ desired }) => {
    if (desired.untrusted?.includes(name)) return undefined
    const entry = desired.servers?.[name] ?? {}
    const { args, cwd } = entry as { readonly args?: ReadonlyArray<string>; readonly cwd?: string }
    return { cwd, last: args?.at(-1) }
  })

const repository = (machine: Machine, name: string): string => {
  const directory = join(machine.root, name)
  mkdirSync(join(directory, ".git"), { recursive: true })
  return directory
}

describe("a server of a project file", () => {
  onMachine("runs in the directory of its file, independent of the supervisor's directory", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", docs)
      yield* ConfigFiles.trust(machine.host)
      const expected = { cwd: machine.cwd, last: join(machine.cwd, "s.mjs") }
      const vendored = join(machine.cwd, "node_modules", "evil")
      mkdirSync(vendored, { recursive: true })
      assert.deepStrictEqual(yield* started(machine, machine.cwd), expected)
      assert.deepStrictEqual(yield* started(machine, vendored), expected)
    })
  )

  onMachine("runs in the approved directory through a link to that directory", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", docs)
      yield* ConfigFiles.trust(machine.host)
      const link = join(repository(machine, "hostile"), "sub")
      symlinkSync(machine.cwd, link)
      assert.deepStrictEqual(yield* started(machine, link), { cwd: machine.cwd, last: join(machine.cwd, "s.mjs") })
    })
  )

  onMachine("needs a new approval in a copy and after a move", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", docs)
      yield* ConfigFiles.trust(machine.host)
      const copy = join(machine.root, "copy")
      cpSync(machine.cwd, copy, { recursive: true })
      assert.isUndefined(yield* started(machine, copy))
      const moved = join(machine.root, "moved")
      renameSync(machine.cwd, moved)
      assert.isUndefined(yield* started(machine, moved))
    })
  )

  onMachine("of .mcp-supervisor/config.json runs in the directory that holds .mcp-supervisor", (machine) =>
    Effect.gen(function* () {
      machine.write(".mcp-supervisor/config.json", docs)
      yield* ConfigFiles.trust(machine.host)
      const expected = { cwd: machine.cwd, last: join(machine.cwd, "s.mjs") }
      assert.deepStrictEqual(yield* started(machine, machine.cwd), expected)
    })
  )

  for (const cwd of ["tools", "./a/../tools", "${workspaceFolder}/tools", "{env:BELOW}/tools", "~/project/tools"]) {
    onMachine(`needs a new approval when its cwd, ${cwd}, becomes a link`, (machine) =>
      Effect.gen(function* () {
        const host = { ...machine.host, home: machine.root }
        const inside = { ...machine, host }
        machine.env.BELOW = "."
        const tools = join(machine.cwd, "tools")
        for (const directory of [tools, join(machine.root, "other"), join(machine.cwd, "below")]) mkdirSync(directory)
        machine.write("mcp-supervisor.json", document({ docs: { command: ["node", "s.mjs"], cwd } }))
        yield* ConfigFiles.trust(host)
        assert.strictEqual((yield* started(inside, machine.cwd))?.cwd, tools)
        // also one to another directory of the same project
        for (const target of ["../other", "below"]) {
          rmSync(tools, { recursive: true })
          symlinkSync(target, tools)
          assert.isUndefined(yield* started(inside, machine.cwd))
        }
        const [entry] = (yield* ConfigFiles.review(host)).review.files[0]!.entries
        assert.deepInclude(entry, { change: "changed" })
        assert.deepInclude(
          entry!.parts.find(({ label }) => label === "cwd"),
          { change: "changed" }
        )
        yield* ConfigFiles.trust(host)
        assert.strictEqual((yield* started(inside, machine.cwd))?.cwd, tools)
      })
    )
  }

  onMachine("shows the target of its cwd, and stays approved when it is disabled and enabled", (machine) =>
    Effect.gen(function* () {
      mkdirSync(join(machine.root, "other"))
      symlinkSync("../other", join(machine.cwd, "tools"))
      machine.write("mcp-supervisor.json", document({ docs: { command: "x", cwd: "tools" } }))
      const { files } = yield* ConfigFiles.trust(machine.host)
      const shown = files[0]!.entries[0]!.parts.find(({ label }) => label === "cwd")
      assert.strictEqual(shown?.text, join(machine.root, "other"))
      yield* ConfigFiles.disable("docs", machine.host)
      yield* ConfigFiles.enable("docs", machine.host)
      assert.isDefined(yield* started(machine, machine.cwd))
    })
  )

  onMachine("is not approved by an approval of an older format", (machine) =>
    Effect.gen(function* () {
      machine.write("mcp-supervisor.json", docs)
      yield* ConfigFiles.trust(machine.host)
      const file = join(machine.stateDir, "trust.json")
      const old = { version: 1, files: { [join(machine.cwd, "mcp-supervisor.json")]: { servers: { docs: "0" } } } }
      machine.write(file, JSON.stringify(old))
      assert.isUndefined(yield* started(machine, machine.cwd))
      yield* ConfigFiles.trust(machine.host)
      assert.isDefined(yield* started(machine, machine.cwd))
    })
  )
})

/** The layers that hold servers of the user, and how each is filled. */
const userLayers: Readonly<Record<string, (machine: Machine, text: string) => void>> = {
  global: (machine, text) => machine.write(machine.globalFile(), text),
  environment: (machine, text) => {
    machine.env.MCP_SUPERVISOR_CONFIG = machine.write(join(machine.root, "named.json"), text)
  },
  inline: (machine, text) => {
    machine.env.MCP_SUPERVISOR_CONFIG_CONTENT = text
  },
  managed: (machine, text) => machine.write(machine.env.MCP_SUPERVISOR_MANAGED_CONFIG!, text)
}

describe("a server of the user", () => {
  for (const [layer, fill] of Object.entries(userLayers)) {
    onMachine(`of the ${layer} layer runs in the home until the project's directory is trusted`, (machine) =>
      Effect.gen(function* () {
        fill(machine, document({ fs: { command: ["npx", "-y", "mcp-fs"] }, own: { command: "x", cwd: "/tmp" } }))
        const below = join(machine.cwd, "packages", "app")
        mkdirSync(below, { recursive: true })
        assert.strictEqual((yield* started(machine, machine.cwd, "fs"))?.cwd, machine.home)
        assert.strictEqual((yield* started(machine, machine.cwd, "own"))?.cwd, "/tmp")
        yield* ConfigFiles.trust(machine.host)
        assert.strictEqual((yield* started(machine, machine.cwd, "fs"))?.cwd, machine.cwd)
        assert.strictEqual((yield* started(machine, below, "fs"))?.cwd, machine.cwd)
        // a repository within a trusted one is a project of its own
        mkdirSync(join(below, ".git"))
        assert.strictEqual((yield* started(machine, below, "fs"))?.cwd, machine.home)
        yield* ConfigFiles.distrust(machine.host)
        assert.strictEqual((yield* started(machine, machine.cwd, "fs"))?.cwd, machine.home)
      })
    )
  }

  onMachine("of the inline layer resolves relative paths against its working directory", (machine) =>
    Effect.gen(function* () {
      machine.env.MCP_SUPERVISOR_CONFIG_CONTENT = document({
        placed: { command: "x", cwd: "." },
        script: { command: ["node", "./s.mjs"] }
      })
      for (const expected of [machine.home, machine.cwd]) {
        assert.strictEqual((yield* started(machine, machine.cwd, "placed"))?.cwd, expected)
        assert.strictEqual((yield* started(machine, machine.cwd, "script"))?.last, join(expected, "s.mjs"))
        yield* ConfigFiles.trust(machine.host)
      }
    })
  )

  onMachine("keeps its directory when a project file that is not trusted mentions it", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), document({ fs: { command: ["npx", "-y", "mcp-fs"] } }))
      machine.write(
        "mcp-supervisor.json",
        document({ fs: { cwd: ".", environment: { A: "1" } }, other: { command: "x" } })
      )
      assert.strictEqual((yield* started(machine, machine.cwd, "fs"))?.cwd, machine.home)
      // to approve one file is not to trust the directory
      yield* ConfigFiles.trust({ ...machine.host, file: "mcp-supervisor.json" })
      machine.write("mcp-supervisor.json", document({ other: { command: "x" } }))
      assert.strictEqual((yield* started(machine, machine.cwd, "fs"))?.cwd, machine.home)
      assert.strictEqual((yield* started(machine, machine.cwd, "other"))?.cwd, machine.cwd)
    })
  )

  onMachine("that uses the workspace folder fails until the directory is trusted", (machine) =>
    Effect.gen(function* () {
      const entry = (args: ReadonlyArray<string>) => ({ command: "node", args })
      machine.write(
        machine.globalFile(),
        document({
          docs: entry(["${workspaceFolder}/s.mjs"]),
          named: entry(["${workspaceFolderBasename}"]),
          preset: entry(["${workspaceFolder:-/nowhere}/s.mjs"])
        })
      )
      const { desired } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(Object.keys(desired.unreadable ?? {}), ["docs", "named"])
      assert.include(desired.unreadable?.docs?.message, "mcp-supervisor trust")
      assert.strictEqual((yield* started(machine, machine.cwd, "preset"))?.last, "/nowhere/s.mjs")
      yield* ConfigFiles.trust(machine.host)
      assert.strictEqual((yield* started(machine, machine.cwd, "docs"))?.last, join(machine.cwd, "s.mjs"))
    })
  )

  onMachine("is reported by name, with its working directory", (machine) =>
    Effect.gen(function* () {
      machine.write(
        machine.globalFile(),
        document({ fs: { command: "npx" }, placed: { command: "x", cwd: "/" }, web: { url: "https://a.example.com" } })
      )
      machine.write("mcp-supervisor.json", document({ ours: { command: "x" } }))
      const before = (yield* ConfigFiles.load(machine.host)).workspace
      const { cwd: directory, home } = machine
      assert.deepStrictEqual(before, { directory, isTrusted: false, servers: ["fs"], runsIn: home })
      yield* ConfigFiles.trust(machine.host)
      const after = (yield* ConfigFiles.load(machine.host)).workspace
      assert.deepStrictEqual(after, { directory, isTrusted: true, servers: ["fs"], runsIn: directory })
      // the home is where they run anyway
      const atHome = (yield* ConfigFiles.load({ ...machine.host, cwd: home })).workspace
      assert.deepStrictEqual(atHome, { directory: home, isTrusted: true, servers: ["fs"], runsIn: home })
    })
  )
})

describe("a server that was named explicitly", () => {
  onMachine("runs in the directory of its --config file", (machine) =>
    Effect.gen(function* () {
      const text = document({ x: { command: "x", args: ["${workspaceFolder}/s"] }, y: { command: "y" } })
      const outside = machine.write(join(machine.root, "elsewhere", "servers.json"), text)
      const far = (yield* ConfigFiles.load({ ...machine.host, files: [outside] })).desired
      assert.deepInclude(far.servers?.y, { cwd: join(machine.root, "elsewhere") })
      assert.deepStrictEqual(Object.keys(far.unreadable ?? {}), ["x"])
      // who names a file of the project means the project
      const inside = machine.write("conf/servers.json", text)
      const near = (yield* ConfigFiles.load({ ...machine.host, files: [inside] })).desired
      assert.deepInclude(near.servers?.x, { cwd: join(machine.cwd, "conf"), args: [join(machine.cwd, "s")] })
    })
  )

  onMachine("by a program runs in the program's working directory", (machine) =>
    Effect.gen(function* () {
      const { desired } = yield* ConfigFiles.load({ ...machine.host, program: { servers: { x: { command: "x" } } } })
      assert.deepInclude(desired.servers?.x, { cwd: machine.cwd })
    })
  )
})
