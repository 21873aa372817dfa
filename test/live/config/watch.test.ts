import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, vi } from "@effect/vitest"
import { Context, Effect, Either, Layer, Logger, Option, Queue, Stream } from "effect"
import { ConfigFiles, McpSupervisor } from "../../../src/index.js"
import type { ConfigUpdate } from "../../../src/domain/server/Desired.js"
import type { EventOf, ServerEvent } from "../../../src/domain/server/ServerEvent.js"
import { type Machine, onMachine } from "../../config/support.js"
import { awaitSnapshot } from "../support/supervised.js"

const greet = fileURLToPath(new URL("../../../examples/servers/greet.mjs", import.meta.url))

/** A real server; the argument makes it another one. */
const entry = (mark: string) => ({ command: process.execPath, args: [greet, mark] })

const config = (servers: Record<string, unknown>) => `${JSON.stringify({ mcp: servers }, null, 2)}\n`

/** As editors do: another file takes the place of the old one. */
const replace = (file: string, text: string) => {
  writeFileSync(`${file}.swp`, text)
  renameSync(`${file}.swp`, file)
}

/** The layer reads the environment of this process: for the time of a test, it leads to nobody's own files. */
const ownEnvironment = (machine: Machine) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const own = { XDG_CONFIG_HOME: join(machine.home, ".config"), ...machine.env }
      for (const [name, value] of Object.entries(own)) vi.stubEnv(name, value)
    }),
    () => Effect.sync(() => vi.unstubAllEnvs())
  )

const supervise = (machine: Machine, options: McpSupervisor.ConfigOptions) =>
  Effect.gen(function* () {
    yield* ownEnvironment(machine)
    const context = yield* Layer.build(
      McpSupervisor.layerConfig({ stateDir: machine.stateDir, cwd: machine.cwd, ...options })
    ).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))
    const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
    const events: Array<ServerEvent> = []
    yield* Effect.forkScoped(
      Stream.runForEach(supervisor.eventsFrom(1), (event) => Effect.sync(() => events.push(event)))
    )
    const awaitEvent = <Type extends ServerEvent["type"]>(
      type: Type,
      matches: (event: EventOf<Type>) => boolean = () => true
    ) =>
      supervisor.eventsFrom(1).pipe(
        Stream.filter((event): event is EventOf<Type> => event.type === type && matches(event as EventOf<Type>)),
        Stream.runHead,
        Effect.map(Option.getOrThrow),
        Effect.timeout("50 seconds")
      )
    return { supervisor, events, awaitEvent }
  })

/** What the files say, one change after the other. */
const following = (machine: Machine, options: ConfigFiles.Options = {}) =>
  Effect.gen(function* () {
    const queue = yield* Queue.unbounded<ConfigUpdate>()
    yield* Effect.forkScoped(
      Stream.runForEach(ConfigFiles.watch({ ...machine.host, ...options }), (update) => queue.offer(update))
    )
    const next = Effect.timeout(queue.take, "50 seconds")
    const names = Effect.map(
      next,
      Either.match({ onLeft: () => "rejected" as const, onRight: ({ servers }) => Object.keys(servers ?? {}).sort() })
    )
    return { next, names, size: queue.size }
  })

describe("a watched directory", () => {
  onMachine("is still watched when it is replaced in quick succession", (machine) =>
    Effect.gen(function* () {
      const text = config({ a: entry("1") })
      const file = machine.write(machine.globalFile(), text)
      const { names } = yield* following(machine)
      assert.deepStrictEqual(yield* names, ["a"])
      // the second one gets the inode of the first where the file system reuses inodes
      for (const moved of [1, 2]) {
        const directory = dirname(file)
        renameSync(directory, `${directory}.${moved}`)
        mkdirSync(directory)
        writeFileSync(file, text)
        rmSync(`${directory}.${moved}`, { recursive: true })
      }
      writeFileSync(file, config({ b: entry("1") }))
      assert.deepStrictEqual(yield* names, ["b"])
      writeFileSync(file, config({ c: entry("1") }))
      assert.deepStrictEqual(yield* names, ["c"])
    })
  )
})

describe("a watched file", () => {
  onMachine("is read after every way of writing it", (machine) =>
    Effect.gen(function* () {
      const file = machine.write(machine.globalFile(), config({ a: entry("1") }))
      const { names, size } = yield* following(machine)
      assert.deepStrictEqual(yield* names, ["a"])
      // written in place
      writeFileSync(file, config({ b: entry("1") }))
      assert.deepStrictEqual(yield* names, ["b"])
      // replaced, twice: a watch on the file itself would be deaf after the first
      replace(file, config({ c: entry("1") }))
      assert.deepStrictEqual(yield* names, ["c"])
      replace(file, config({ d: entry("1") }))
      assert.deepStrictEqual(yield* names, ["d"])
      // deleted, and made again
      rmSync(file)
      assert.deepStrictEqual(yield* names, [])
      writeFileSync(file, config({ e: entry("1") }))
      assert.deepStrictEqual(yield* names, ["e"])
      // deleted and made again at once: it was never gone
      rmSync(file)
      writeFileSync(file, config({ f: entry("1") }))
      assert.deepStrictEqual(yield* names, ["f"])
      // its directory replaced as a whole
      const directory = dirname(file)
      renameSync(directory, `${directory}.old`)
      mkdirSync(directory)
      writeFileSync(file, config({ g: entry("1") }))
      assert.deepStrictEqual(yield* names, ["g"])
      writeFileSync(file, config({ h: entry("1") }))
      assert.deepStrictEqual(yield* names, ["h"])
      // one of another ending beside it
      machine.write(machine.globalFile("toml"), '[mcp.t]\ncommand = "x"\n')
      assert.deepStrictEqual(yield* names, ["h", "t"])
      assert.strictEqual(yield* size, 0)
    })
  )

  onMachine("causes no update if only other files change", (machine) =>
    Effect.gen(function* () {
      const text = config({ a: entry("1") })
      const file = machine.write(machine.globalFile(), text)
      const { names, size } = yield* following(machine)
      assert.deepStrictEqual(yield* names, ["a"])
      for (const name of [".config.json.swp", "config.json~", "4913", "config.json.bak"]) {
        writeFileSync(join(dirname(file), name), "x")
      }
      replace(file, text)
      writeFileSync(file, "")
      writeFileSync(file, text)
      writeFileSync(file, config({ b: entry("1") }))
      // of all that, one change comes out
      assert.deepStrictEqual(yield* names, ["b"])
      assert.strictEqual(yield* size, 0)
    })
  )

  onMachine("can be a link: to a file, through a directory, to a new target", (machine) =>
    Effect.gen(function* () {
      // the way a mounted configuration is changed: one link is turned
      const mounted = join(machine.root, "mounted")
      mkdirSync(join(mounted, "v1"), { recursive: true })
      mkdirSync(join(mounted, "v2"))
      writeFileSync(join(mounted, "v1", "config.json"), config({ a: entry("1") }))
      writeFileSync(join(mounted, "v2", "config.json"), config({ b: entry("1") }))
      symlinkSync("v1", join(mounted, "data"))
      mkdirSync(dirname(machine.globalFile()), { recursive: true })
      symlinkSync(join(mounted, "data", "config.json"), machine.globalFile())
      const { names } = yield* following(machine)
      assert.deepStrictEqual(yield* names, ["a"])
      symlinkSync("v2", join(mounted, "data.new"))
      renameSync(join(mounted, "data.new"), join(mounted, "data"))
      assert.deepStrictEqual(yield* names, ["b"])
      replace(join(mounted, "v2", "config.json"), config({ c: entry("1") }))
      assert.deepStrictEqual(yield* names, ["c"])
    })
  )

  onMachine("causes an update when a referenced file or its approval changes", (machine) =>
    Effect.gen(function* () {
      machine.write("token", "first-token\n")
      machine.write(
        "mcp-supervisor.json",
        config({ a: { url: "https://a.example.com", headers: { X: "{file:token}" } } })
      )
      const desired = Effect.flatten((yield* following(machine)).next)
      assert.deepStrictEqual((yield* desired).untrusted, ["a"])
      yield* ConfigFiles.trust(machine.host)
      const trusted = yield* desired
      assert.deepStrictEqual(trusted.untrusted, [])
      assert.deepInclude(trusted.servers?.a, { headers: { X: "first-token" } })
      machine.write("token", "second-token\n")
      assert.deepInclude((yield* desired).servers?.a, { headers: { X: "second-token" } })
    })
  )

  onMachine("is rejected while it is invalid or missing, and has no servers while it is empty", (machine) =>
    Effect.gen(function* () {
      const named = machine.write("mine.json", config({ a: entry("1") }))
      const { names, next } = yield* following(machine, { files: [named] })
      assert.deepStrictEqual(yield* names, ["a"])
      writeFileSync(named, '{ "mcp": { "a": ')
      const error = yield* Effect.flatMap(next, Effect.flip)
      assert.deepInclude(error.issues[0], { file: named, line: 1 })
      writeFileSync(named, config({ b: entry("1") }))
      assert.deepStrictEqual(yield* names, ["b"])
      writeFileSync(named, "")
      assert.deepStrictEqual(yield* names, [])
      rmSync(named)
      assert.deepStrictEqual(yield* names, "rejected")
      writeFileSync(named, config({ c: entry("1") }))
      assert.deepStrictEqual(yield* names, ["c"])
    })
  )

  onMachine("of an organisation is applied when it arrives", (machine) =>
    Effect.gen(function* () {
      let answer = '{ "mcp": { "wiki": { "url": "https://wiki.example.com/mcp" }, "bad": { "command": "sh" } } }'
      const asked: Array<string> = []
      const server = createServer((request, response) => {
        asked.push(request.url ?? "")
        response.end(answer)
      })
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.async<void>((resume) => void server.close(() => resume(Effect.void)))
      )
      machine.env.MCP_SUPERVISOR_DEFAULTS_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      machine.write(machine.globalFile(), config({ a: entry("1") }))
      const { names } = yield* following(machine)
      assert.deepStrictEqual(yield* names, ["a"])
      assert.deepStrictEqual(yield* names, ["a", "wiki"])
      assert.deepStrictEqual(asked, ["/.well-known/mcp-supervisor"])
      // the next one has it from the start, and an answer that is no document is reported and changes nothing
      answer = "<html>please log in</html>"
      assert.isFalse(yield* ConfigFiles.refreshOrganisation(machine.host))
      const { desired, diagnostics } = yield* ConfigFiles.load(machine.host)
      assert.deepStrictEqual(Object.keys(desired.servers ?? {}), ["wiki", "a"])
      assert.deepStrictEqual(
        diagnostics.map(({ code, subject }) => [code, subject]),
        [
          ["organisation_refused", "bad"],
          ["organisation_unavailable", undefined]
        ]
      )
    })
  )
})

describe("layerConfig", () => {
  onMachine(
    "restarts only changed servers in fifty edits",
    (machine) =>
      Effect.gen(function* () {
        const file = machine.write("servers.json", config({ edited: entry("0"), still: entry("still") }))
        const { awaitEvent, events, supervisor } = yield* supervise(machine, { files: [file] })
        yield* supervisor.add("dynamic", entry("dynamic"))
        yield* supervisor.awaitSettled({ timeout: "20 seconds" })
        const before = yield* supervisor.server("still")
        const dynamic = yield* supervisor.server("dynamic")
        assert.strictEqual(before.status.status, "connected")

        for (let edit = 1; edit <= 50; edit += 1) {
          // every other one as an editor does, every fifth with something else in the same file
          const extra = edit % 5 === 0 ? { extra: { ...entry("extra"), enabled: false } } : {}
          const text = config({ edited: entry(String(edit)), still: entry("still"), ...extra })
          if (edit % 2 === 0) replace(file, text)
          else writeFileSync(file, text)
          // half of them are waited for, the others come on top of each other
          const seen = events.length
          if (edit % 2 === 0) yield* awaitEvent("ConfigApplied", ({ seq }) => seq > seen)
        }
        // the last edit wins: what runs is what the file says
        const { desired } = yield* ConfigFiles.load({ ...machine.host, files: [file] })
        const { keep } = yield* supervisor.eventsFrom(1).pipe(
          Stream.filter(({ type }) => type === "ConfigApplied"),
          Stream.mapEffect(() => supervisor.plan(desired)),
          Stream.filter(({ restart, start, stop, update }) => [restart, start, stop, update].flat().length === 0),
          Stream.runHead,
          Effect.map(Option.getOrThrow),
          Effect.timeout("50 seconds")
        )
        assert.sameMembers([...keep], ["edited", "still", "extra", "dynamic"])
        yield* awaitSnapshot(
          supervisor,
          "edited",
          ({ replacement, status }) => status.status === "connected" && replacement === undefined
        )

        const after = yield* supervisor.server("still")
        assert.deepStrictEqual([after.pid, after.generation], [before.pid, before.generation])
        const still = yield* supervisor.server("dynamic")
        assert.deepStrictEqual([still.pid, still.generation], [dynamic.pid, dynamic.generation])
        // no event is lost
        assert.deepStrictEqual(
          events.map(({ seq }) => seq),
          events.map((_, index) => index + 1)
        )
        const plans = events.flatMap((event) => (event.type === "ConfigApplied" ? [event.plan] : []))
        for (const { keep, restart } of plans) {
          assert.notInclude(restart, "still")
          assert.includeMembers([...keep], ["still", "dynamic"])
        }
      }),
    180_000
  )

  onMachine("keeps everything running and reports an invalid file", (machine) =>
    Effect.gen(function* () {
      const file = machine.write("servers.json", config({ a: entry("1") }))
      const { awaitEvent, supervisor } = yield* supervise(machine, { files: [file] })
      const { pid } = yield* awaitSnapshot(supervisor, "a", ({ status }) => status.status === "connected")
      writeFileSync(file, '{ "mcp": { "a": { "command": "secret-canary" } ')
      const { errors } = yield* awaitEvent("ConfigRejected")
      assert.deepInclude(errors[0]?.issues[0], { file, line: 1 })
      assert.notInclude(JSON.stringify(errors), "canary")
      assert.strictEqual((yield* supervisor.server("a")).pid, pid)
      // one bad entry is one failed server
      const text = config({ a: entry("1"), b: { url: "https://b.example.com", timeout: 0 } })
      const line = text.split("\n").findIndex((each) => each.includes('"timeout"')) + 1
      writeFileSync(file, text)
      const { status } = yield* awaitSnapshot(supervisor, "b", ({ status }) => status.status === "failed")
      assert.include(
        "error" in status ? status.error : "",
        `${file}:${line}:18: mcp.b.timeout: expected a positive duration`
      )
      assert.strictEqual((yield* supervisor.server("a")).pid, pid)
    })
  )

  onMachine("fails to start with an invalid file of the user, and starts with one of a project", (machine) =>
    Effect.gen(function* () {
      const broken = machine.write("broken.json", "{")
      const error = yield* Effect.flip(supervise(machine, { files: [broken] }))
      assert.strictEqual(error._tag, "InvalidConfig")
      machine.write("mcp-supervisor.json", "{ nonsense")
      const good = machine.write("good.json", config({ a: { ...entry("1"), enabled: false } }))
      const { awaitEvent, supervisor } = yield* supervise(machine, { files: [good] })
      const { errors } = yield* awaitEvent("ConfigRejected")
      assert.include(errors[0]?.issues[0]?.file, "mcp-supervisor.json")
      assert.deepStrictEqual(
        (yield* supervisor.servers).map(({ name }) => name),
        ["a"]
      )
      // and goes on following the others
      writeFileSync(good, config({ b: { ...entry("1"), enabled: false } }))
      yield* awaitSnapshot(supervisor, "b", () => true)
    })
  )

  onMachine("shows a project's servers and starts none before approval", (machine) =>
    Effect.gen(function* () {
      const touched = join(machine.root, "touched")
      const script = `require("node:fs").writeFileSync(${JSON.stringify(touched)}, "x")`
      machine.write(
        "mcp-supervisor.json",
        config({ evil: { command: process.execPath, args: ["-e", script], required: true }, good: entry("1") })
      )
      const { supervisor } = yield* supervise(machine, {})
      const snapshots = yield* supervisor.awaitSettled({ timeout: "5 seconds" })
      for (const { status } of snapshots) {
        assert.deepInclude(status, { status: "disabled", by: "trust" })
        assert.include("hint" in status ? status.hint : "", "mcp-supervisor trust")
      }
      // no command overrules it
      assert.deepInclude(yield* supervisor.connect("evil"), { status: "disabled", by: "trust" })
      assert.isFalse(yield* exists(touched))
      // nor does a switch
      yield* ConfigFiles.disable("evil", machine.host)
      yield* ConfigFiles.enable("good", machine.host)
      for (const name of ["evil", "good"]) {
        assert.deepInclude(yield* supervisor.connect(name), { status: "disabled", by: "trust" })
      }
      assert.isFalse(yield* exists(touched))
      yield* ConfigFiles.trust(machine.host)
      yield* awaitSnapshot(supervisor, "good", ({ status }) => status.status === "connected")
      yield* awaitSnapshot(supervisor, "evil", ({ status }) => status.status === "disabled" && status.by === "config")
      // a change lapses the approval of what changed, and of nothing else
      machine.write("mcp-supervisor.json", machine.read("mcp-supervisor.json").replace('"1"', '"2"'))
      yield* awaitSnapshot(supervisor, "good", ({ status }) => status.status === "disabled" && status.by === "trust")
      assert.deepInclude((yield* supervisor.server("evil")).status, { by: "config" })
      assert.isFalse(yield* exists(touched))
    })
  )

  onMachine("stops a project's server when its cwd becomes a link to another directory", (machine) =>
    Effect.gen(function* () {
      for (const name of ["tools", "other"]) mkdirSync(join(machine.cwd, name))
      machine.write("mcp-supervisor.json", config({ docs: { ...entry("1"), cwd: "tools" } }))
      yield* ConfigFiles.trust(machine.host)
      const { supervisor } = yield* supervise(machine, {})
      yield* awaitSnapshot(supervisor, "docs", ({ status }) => status.status === "connected")
      renameSync(join(machine.cwd, "tools"), join(machine.cwd, "old"))
      symlinkSync("other", join(machine.cwd, "tools"))
      yield* awaitSnapshot(supervisor, "docs", ({ status }) => status.status === "disabled" && status.by === "trust")
    })
  )

  onMachine("reads the files before a requested restart, also if they are not watched", (machine) =>
    Effect.gen(function* () {
      const file = machine.write("servers.json", config({ a: entry("1") }))
      const { supervisor } = yield* supervise(machine, { files: [file], watch: false })
      yield* supervisor.awaitSettled({ timeout: "20 seconds" })
      writeFileSync(file, config({ a: { ...entry("2"), enabled: false } }))
      yield* supervisor.restart("a")
      assert.strictEqual((yield* supervisor.servers).length, 1)
      const plan = yield* ConfigFiles.plan(supervisor, { ...machine.host, files: [file] })
      assert.deepStrictEqual(plan.keep, ["a"])
      writeFileSync(file, config({ b: entry("2") }))
      const next = yield* ConfigFiles.plan(supervisor, { ...machine.host, files: [file] })
      assert.deepStrictEqual([next.start, next.stop], [["b"], ["a"]])
    })
  )

  onMachine("passes the declared environment to processes", (machine) =>
    Effect.gen(function* () {
      machine.env.HOST_CANARY = "host-canary"
      machine.env.DECLARED = "declared-value"
      const dump = (name: string) => ({
        command: process.execPath,
        args: [
          "-e",
          `require("node:fs").writeFileSync(process.argv[1], JSON.stringify(process.env))`,
          join(machine.root, name)
        ]
      })
      const file = machine.write(
        "servers.json",
        config({
          without: dump("without"),
          with: { ...dump("with"), env: { OWN: "${DECLARED}" } },
          all: { ...dump("all"), inheritEnv: true }
        })
      )
      const { supervisor } = yield* supervise(machine, { files: [file] })
      for (const name of ["without", "with", "all"]) {
        yield* awaitSnapshot(supervisor, name, ({ restarts, status }) => status.status === "failed" || restarts > 0)
      }
      const environment = (name: string) => JSON.parse(machine.read(join(machine.root, name))) as Record<string, string>
      assert.notInclude(JSON.stringify(environment("without")), "canary")
      assert.notInclude(JSON.stringify(environment("with")), "canary")
      assert.strictEqual(environment("with").OWN, "declared-value")
      assert.strictEqual(environment("all").HOST_CANARY, "host-canary")
    })
  )

  onMachine("shows interpolated values in no status, event or log", (machine) =>
    Effect.gen(function* () {
      machine.env.TOKEN = "canary-of-the-environment"
      const secret = machine.write("token", "canary-of-a-file\n")
      const script = `console.error("refused", ...process.argv.slice(1), process.env.T); process.exit(3)`
      const file = machine.write(
        "servers.json",
        config({
          local: {
            command: process.execPath,
            args: ["-e", script, "${TOKEN}", `{file:${secret}}`],
            env: { T: "x{env:TOKEN}" }
          },
          gone: { command: "/nowhere/{env:TOKEN}" },
          remote: { url: "http://127.0.0.1:9/{env:TOKEN}?t=${TOKEN}", headers: { A: `{file:${secret}}` } }
        })
      )
      const { events, supervisor } = yield* supervise(machine, { files: [file] })
      for (const name of ["local", "gone", "remote"]) {
        yield* awaitSnapshot(supervisor, name, ({ status }) => status.status === "failed")
      }
      const logged = yield* Stream.runHead(supervisor.logs("local"))
      const shown = JSON.stringify([yield* supervisor.servers, events, logged])
      assert.include(shown, "refused")
      assert.notInclude(shown, "canary")
    })
  )

  onMachine("uses the program's options as the lowest layer", (machine) =>
    Effect.gen(function* () {
      const file = machine.write("servers.json", config({ own: { enabled: false } }))
      const { supervisor } = yield* supervise(machine, {
        files: [file],
        servers: { own: entry("{env:LITERAL}"), other: { ...entry("1"), lazy: true } }
      })
      const snapshots = yield* supervisor.servers
      assert.deepStrictEqual(
        snapshots.map(({ name, status }) => [name, status.status]),
        [
          ["own", "disabled"],
          ["other", "idle"]
        ]
      )
    })
  )
})

const exists = (path: string) =>
  Effect.promise(() =>
    import("node:fs/promises").then(({ stat }) =>
      stat(path).then(
        () => true,
        () => false
      )
    )
  )
