import { lstatSync, readdirSync, statSync, symlinkSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { ConfigFiles } from "../../src/index.js"
import { onMachine } from "./support.js"

const json = (value: unknown) => JSON.stringify(value)

describe("editing", () => {
  onMachine("adds a new server to the project's file if there is one, otherwise to the user's file", (machine) =>
    Effect.gen(function* () {
      const first = yield* ConfigFiles.add("a", { command: "x", args: ["1"] }, machine.host)
      assert.deepStrictEqual(first, { file: machine.globalFile(), changed: true, alsoIn: [] })
      assert.strictEqual(statSync(first.file).mode & 0o777, 0o600)
      assert.deepStrictEqual(JSON.parse(machine.read(first.file)), { mcp: { a: { command: "x", args: ["1"] } } })
      const before = "# mine\n[mcp.b]\ncommand = 'y' # why\n"
      machine.write("mcp-supervisor.toml", before)
      const second = yield* ConfigFiles.add("c", { url: "https://c.example.com" }, machine.host)
      assert.strictEqual(second.file, join(machine.cwd, "mcp-supervisor.toml"))
      assert.strictEqual(machine.read(second.file), `${before}\n[mcp.c]\nurl = "https://c.example.com"\n`)
      assert.strictEqual(machine.read(second.backup!), before)
      // the act is an approval of what was written, and of nothing beside it
      const { desired } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(desired.untrusted, ["b"])
      assert.deepInclude(desired.servers?.c, { url: "https://c.example.com" })
      const removed = yield* ConfigFiles.remove("c", machine.host)
      assert.strictEqual(machine.read(removed.file), before)
      const global = yield* ConfigFiles.add("d", { command: "x" }, { ...machine.host, scope: "global" })
      assert.strictEqual(global.file, machine.globalFile())
      const named = yield* ConfigFiles.add("e", { command: "x" }, { ...machine.host, file: "other.jsonc" })
      assert.strictEqual(named.file, join(machine.cwd, "other.jsonc"))
    })
  )

  onMachine("enables and disables in the file that declares the server, or in one that overrides it", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ mcpServers: { a: { command: "x", disabled: true } } }))
      const on = yield* ConfigFiles.enable("a", machine.host)
      assert.strictEqual(machine.read(on.file), json({ mcpServers: { a: { command: "x", disabled: false } } }))
      assert.isFalse((yield* ConfigFiles.enable("a", machine.host)).changed)
      // a project's entry counts once it is approved of; until then, what it hides is switched
      machine.write("mcp-supervisor.json", json({ mcp: { a: { timeout: 5 }, p: { command: "y" } } }))
      assert.strictEqual((yield* ConfigFiles.disable("a", machine.host)).file, machine.globalFile())
      yield* ConfigFiles.trust(machine.host)
      const off = yield* ConfigFiles.disable("a", machine.host)
      assert.deepStrictEqual([off.file, off.alsoIn], [join(machine.cwd, "mcp-supervisor.json"), [machine.globalFile()]])
      const { desired } = yield* ConfigFiles.load(machine.host)
      assert.deepInclude(desired.servers?.a, { enabled: false })
      assert.deepStrictEqual(desired.untrusted, [])
    })
  )

  for (const isApproved of [true, false]) {
    const state = isApproved ? "approved" : "not approved"
    onMachine(`enables and disables a project's server that is ${state} without changing its approval`, (machine) =>
      Effect.gen(function* () {
        machine.write("mcp-supervisor.json", json({ mcp: { q: { command: "z" } } }))
        if (isApproved) yield* ConfigFiles.trust(machine.host)
        for (const turn of [ConfigFiles.disable, ConfigFiles.enable, ConfigFiles.disable]) {
          assert.isTrue((yield* turn("q", machine.host)).changed)
          const { desired } = yield* ConfigFiles.load(machine.host)
          assert.deepStrictEqual(desired.untrusted, isApproved ? [] : ["q"])
        }
      })
    )
  }

  onMachine("approves an entry that it adds to a project's file to disable a server", (machine) =>
    Effect.gen(function* () {
      const url = (machine.env.MCP_SUPERVISOR_DEFAULTS_URL = "https://example.com/d")
      const text = json({ mcp: { wiki: { url: "https://wiki.example.com" } } })
      machine.write(join(machine.stateDir, "organisation.json"), json({ version: 1, url, fetchedAt: 0, text }))
      machine.write("mcp-supervisor.json", json({ mcp: {} }))
      yield* ConfigFiles.disable("wiki", machine.host)
      assert.deepInclude((yield* ConfigFiles.load(machine.host)).desired.servers?.wiki, { enabled: false })
    })
  )

  onMachine("reviews and approves a single server", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), json({ mcp: { own: { command: "x" } } }))
      machine.write(
        "mcp-supervisor.json",
        json({ mcp: { p: { command: "1" }, q: { command: "z" } }, tools: { a: true } })
      )
      yield* ConfigFiles.trust(machine.host)
      machine.write(
        "mcp-supervisor.json",
        json({ mcp: { p: { command: "1" }, q: { command: "z", args: ["-x"] }, r: { command: "r" } } })
      )
      assert.isUndefined(yield* ConfigFiles.reviewServer("own", machine.host))
      assert.isUndefined(yield* ConfigFiles.reviewServer("p", machine.host))
      const found = yield* ConfigFiles.reviewServer("q", machine.host)
      assert.isUndefined(found?.review.directory)
      const [file] = found!.review.files
      assert.deepStrictEqual([file?.servers, file?.removed, file?.settings], [["q"], [], []])
      assert.deepInclude(file?.entries[0]?.parts[0], { text: "z -x", change: "changed" })
      yield* found!.approve
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, ["r"])
    })
  )

  onMachine("reports a server that no file, or only a higher layer, declares", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.env.MCP_SUPERVISOR_MANAGED_CONFIG!, json({ mcp: { fixed: { command: "x" } } }))
      machine.write(machine.globalFile(), json({ mcp: { mine: { command: "x" } } }))
      const managed = yield* Effect.flip(ConfigFiles.disable("fixed", machine.host))
      assert.include(managed.message, "not ours to change")
      const missing = yield* Effect.flip(ConfigFiles.remove("minne", machine.host))
      assert.include(missing.message, 'did you mean "mine"?')
      const taken = yield* Effect.flip(ConfigFiles.add("mine", { command: "x" }, machine.host))
      assert.strictEqual(taken._tag, "ServerExists")
      const wrong = yield* Effect.flip(ConfigFiles.add("new", { command: "x", timeout: 0 }, machine.host))
      assert.strictEqual(wrong._tag, "InvalidConfig")
      yield* ConfigFiles.add("late", { url: "{env:LATER}" }, machine.host)
    })
  )

  onMachine("does not change a file that cannot be read", (machine) =>
    Effect.gen(function* () {
      const broken = '{ "mcp": { "a": { "command": "x" }, \n // not yet'
      machine.write(machine.globalFile(), broken)
      for (const attempt of [
        ConfigFiles.add("b", { command: "x" }, machine.host),
        ConfigFiles.remove("a", machine.host),
        ConfigFiles.disable("a", machine.host)
      ]) {
        const error = yield* Effect.flip(attempt as Effect.Effect<unknown, { _tag: string; message: string }>)
        assert.strictEqual(error._tag, "EditRefused")
        assert.include(error.message, `${machine.globalFile()}:2:`)
      }
      assert.strictEqual(machine.read(machine.globalFile()), broken)
    })
  )

  onMachine("applies many concurrent edits through a link, and leaves no temporary files", (machine) =>
    Effect.gen(function* () {
      const real = machine.write(join(machine.root, "real.json"), '{ "mcp": {} }')
      machine.write(join(machine.home, ".config/mcp-supervisor/x"), "")
      symlinkSync(real, machine.globalFile())
      const names = Array.from({ length: 20 }, (_, index) => `s${index}`)
      yield* Effect.forEach(names, (name) => ConfigFiles.add(name, { command: name }, machine.host), {
        concurrency: 20
      })
      assert.deepStrictEqual(Object.keys(JSON.parse(machine.read(real)).mcp).sort(), names.toSorted())
      assert.deepStrictEqual(readdirSync(machine.root).sort(), ["home", "project", "real.json", "state"])
      yield* Effect.forEach(names, (name) => ConfigFiles.remove(name, machine.host), { concurrency: 20 })
      assert.strictEqual(machine.read(real), '{ "mcp": {} }')
    })
  )

  onMachine("creates the target of a dangling link and keeps the link", (machine) =>
    Effect.gen(function* () {
      const real = join(machine.root, "dotfiles", "config.json")
      machine.write(join(machine.home, ".config/mcp-supervisor/x"), "")
      symlinkSync("../../../dotfiles/config.json", machine.globalFile())
      yield* ConfigFiles.add("a", { command: "x" }, machine.host)
      assert.isTrue(lstatSync(machine.globalFile()).isSymbolicLink())
      assert.deepStrictEqual(JSON.parse(machine.read(real)), { mcp: { a: { command: "x" } } })
    })
  )

  for (const [what, entry, path] of [
    ["a limit beside a variable", { url: "{env:U}", timeout: 0 }, ["timeout"]],
    ["a variable where a list belongs", { command: "x", args: "{env:A}" }, ["args"]],
    ["a variable where a switch belongs", { command: "x", lazy: "{env:A}" }, ["lazy"]],
    ["a variable in what has no command", { args: ["{env:A}"] }, []]
  ] as const) {
    onMachine(`rejects ${what} before it writes`, (machine) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(ConfigFiles.add("a", entry as never, machine.host))
        assert.strictEqual(error._tag, "InvalidConfig")
        assert.deepStrictEqual("issues" in error ? error.issues[0]?.path : undefined, [...path])
      })
    )
  }

  onMachine("accepts a variable in every text", (machine) =>
    Effect.gen(function* () {
      const entries = [
        { url: "{env:U}" },
        { url: "https://${HOST}/mcp", timeout: "{env:T}", protocol: "{env:P}", caFile: "{env:C}" },
        { url: "${BASE}/mcp", headers: { A: "Bearer ${T}" }, oauth: { clientId: "{env:ID}", redirectUri: "{env:R}" } },
        { command: ["{env:RUN}", "{env:A}"], cwd: "{env:D}", environment: { A: "{file:a}" }, idleStop: "${I}" },
        { type: "{env:T}", command: "x" }
      ]
      for (const [index, entry] of entries.entries()) {
        yield* ConfigFiles.add(`s${index}`, entry as never, machine.host)
      }
    })
  )

  for (const name of ["", "  ", " a", "a\nb", "a\u0000", "a\u001b[31m", "__proto__", "x".repeat(300)]) {
    onMachine(`rejects the name ${JSON.stringify(name).slice(0, 20)} and describes valid names`, (machine) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(ConfigFiles.add(name, { command: "x" }, machine.host))
        assert.include(error.message, "a server name")
      })
    )
  }

  for (const name of ["constructor", "toString", "hasOwnProperty"]) {
    onMachine(`accepts a server of the name ${name}`, (machine) =>
      Effect.gen(function* () {
        machine.write("mcp-supervisor.json", "{}")
        yield* ConfigFiles.add(name, { command: "x" }, machine.host)
        yield* ConfigFiles.disable(name, machine.host)
        const { desired } = yield* ConfigFiles.load(machine.host)
        assert.deepStrictEqual(Object.keys(desired.servers ?? {}), [name])
        assert.deepStrictEqual(desired.untrusted, [])
        yield* ConfigFiles.remove(name, machine.host)
        assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.servers, {})
        assert.isUndefined(({} as Record<string, unknown>).command)
      })
    )
  }

  onMachine("removes an unapproved server from the named file, and fails if the file does not declare it", (machine) =>
    Effect.gen(function* () {
      const own = machine.write(machine.globalFile(), json({ mcp: { a: { command: "mine" } } }))
      machine.write("mcp-supervisor.json", json({ mcp: { a: { command: "theirs" }, b: { command: "x" } } }))
      const removed = yield* ConfigFiles.remove("a", { ...machine.host, scope: "project" })
      assert.deepStrictEqual(JSON.parse(machine.read("mcp-supervisor.json")), { mcp: { b: { command: "x" } } })
      assert.deepStrictEqual(removed.alsoIn, [own])
      // nothing was approved of by that
      assert.deepStrictEqual((yield* ConfigFiles.load(machine.host)).desired.untrusted, ["b"])
      const again = yield* Effect.flip(ConfigFiles.remove("a", { ...machine.host, file: "mcp-supervisor.json" }))
      assert.include(again.message, `${join(machine.cwd, "mcp-supervisor.json")} was not changed`)
      assert.include(again.message, `it has no server "a"`)
      assert.include(again.message, own)
    })
  )
})
