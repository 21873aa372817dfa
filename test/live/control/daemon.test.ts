import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it, vi } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import type * as ConfigFiles from "../../../src/config/ConfigFiles.js"
import * as Control from "../../../src/Control.js"
import { McpSupervisor } from "../../../src/supervision/model.js"
import { ask, temporary } from "../support/control.js"
import { program } from "../support/program.js"

const quiet = Logger.remove(Logger.defaultLogger)

const start = (options: Control.ServeOptions) =>
  Layer.build(Control.layer({ port: 0, watch: false, ...options })).pipe(
    Effect.map((context) => ({
      supervisor: Context.get(context, McpSupervisor),
      server: Context.get(context, Control.ControlServer.ControlServer)
    })),
    Effect.provide(quiet)
  )

const place = Effect.map(temporary, (cwd) => ({ cwd, stateDir: join(cwd, "state") }))

const running = (host: ConfigFiles.ConfigHost) =>
  Effect.gen(function* () {
    const found = yield* Control.discover(host)
    if (found._tag !== "Running") return yield* Effect.dieMessage(found._tag)
    return found.daemon
  })

/** The tests neither read nor write the config of the user. */
const own = mkdtempSync(join(tmpdir(), "mcp-control-"))
beforeAll(() => {
  vi.stubEnv("XDG_CONFIG_HOME", join(own, "config"))
  vi.stubEnv("MCP_SUPERVISOR_MANAGED_CONFIG", join(own, "managed.json"))
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(own, { recursive: true, force: true })
})

/** A disabled server: no process is started. */
const entry = { command: "some-server", enabled: false }

describe("the supervisor of a state directory", () => {
  it.scopedLive(
    "is discovered, responds on a socket that only its user can open, and leaves no file when it ends",
    () =>
      Effect.gen(function* () {
        const host = yield* place
        assert.deepStrictEqual(yield* Control.discover(host), { _tag: "None" })
        const scope = yield* Scope.make()
        const { server } = yield* Scope.extend(start(host), scope)
        const daemon = yield* running(host)
        assert.deepInclude(daemon, { address: server.address, pid: process.pid, release: "0.1.0", api: 1, version: 1 })
        assert.strictEqual(daemon.socket, join(host.stateDir, "control.sock"))
        for (const file of ["control-token", "daemon.json", "control.sock"]) {
          assert.strictEqual(statSync(join(host.stateDir, file)).mode & 0o777, 0o600, file)
        }
        const client = yield* Control.connect(daemon, host)
        assert.deepStrictEqual(yield* client.system.health({}), { version: "0.1.0", api: 1 })
        yield* Scope.close(scope, Exit.void)
        assert.deepStrictEqual(yield* Control.discover(host), { _tag: "None" })
        const left = readdirSync(host.stateDir).filter((name) => /daemon\.json|\.sock/.test(name))
        assert.deepStrictEqual(left, [])
      })
  )

  it.scopedLive("stores its token in a file that only its user can read, and rejects an invalid token file", () =>
    Effect.gen(function* () {
      const host = yield* place
      yield* Effect.scoped(start(host))
      const file = join(host.stateDir, "control-token")
      const first = readFileSync(file, "utf8")
      yield* Effect.scoped(start(host))
      assert.strictEqual(readFileSync(file, "utf8"), first)
      // a token that other users could read is replaced at the next start; the running supervisor still accepts it
      chmodSync(file, 0o644)
      assert.strictEqual(Redacted.value(yield* Control.ControlToken.read(host.stateDir)), first.trim())
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      chmodSync(file, 0o644)
      yield* Effect.scoped(start(host))
      const second = readFileSync(file, "utf8")
      assert.notStrictEqual(second, first)
      assert.strictEqual(second.length, first.length)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
      writeFileSync(file, "\n")
      const error = yield* Effect.flip(start(host))
      assert.strictEqual(error._tag, "TokenUnusable")
      assert.include(error.message, "remove it")
    })
  )

  it.scopedLive("creates a new token after the file was deleted, and rejects the old one", () =>
    Effect.gen(function* () {
      const host = yield* place
      yield* Effect.scoped(start(host))
      const file = join(host.stateDir, "control-token")
      const old = readFileSync(file, "utf8").trim()
      rmSync(file)
      const { server } = yield* start(host)
      const status = (token: string) =>
        Effect.map(ask(server, "/health", { headers: { authorization: `Bearer ${token}` } }), (answer) => answer.status)
      assert.strictEqual(yield* status(old), 401)
      assert.strictEqual(yield* status(readFileSync(file, "utf8").trim()), 200)
      assert.strictEqual(statSync(file).mode & 0o777, 0o600)
    })
  )

  it.scopedLive("rejects a second supervisor, which names the first one", () =>
    Effect.gen(function* () {
      const host = yield* place
      const { server } = yield* start(host)
      const second = yield* Effect.flip(start(host))
      assert.strictEqual(second._tag, "AlreadyRunning")
      assert.include(second.message, `process ${process.pid} supervises ${host.stateDir} already at ${server.address}`)
      // the second one changed no file of the first
      const client = yield* Control.connect(yield* running(host), host)
      assert.deepStrictEqual(yield* client.mcp.list({}), {})
    })
  )

  it.scopedLive("replaces a supervisor that was killed, and its leftover files", () =>
    Effect.gen(function* () {
      const host = yield* place
      const before = yield* program("./daemonHost.ts", host.stateDir, host.cwd)
      yield* before.line((line) => line === "there")
      assert.strictEqual((yield* running(host)).pid, before.child.pid)
      const second = yield* Effect.flip(start(host))
      assert.include(second.message, `process ${before.child.pid}`)
      before.child.kill("SIGKILL")
      yield* before.exit
      assert.isTrue(existsSync(join(host.stateDir, "control.sock")))
      assert.isTrue(existsSync(join(host.stateDir, "daemon.json")))
      assert.deepStrictEqual(yield* Control.discover(host), { _tag: "None" })
      yield* start(host)
      const daemon = yield* running(host)
      assert.strictEqual(daemon.pid, process.pid)
      const client = yield* Control.connect(daemon, host)
      assert.deepStrictEqual(yield* client.mcp.list({}), {})
    })
  )

  it.scopedLive("does not change daemon.json of a later version", () =>
    Effect.gen(function* () {
      const host = yield* place
      mkdirSync(host.stateDir)
      const file = join(host.stateDir, "daemon.json")
      writeFileSync(file, '{ "version": 2, "who": "knows" }')
      assert.deepStrictEqual(yield* Control.discover(host), { _tag: "Newer" })
      const error = yield* Effect.flip(start(host))
      assert.deepStrictEqual([error._tag, "code" in error && error.code], ["StateDirUnusable", "newer"])
      assert.strictEqual(readFileSync(file, "utf8"), '{ "version": 2, "who": "knows" }')
      writeFileSync(file, "what is this")
      yield* start(host)
      assert.strictEqual((yield* running(host)).pid, process.pid)
      const newer = { ...JSON.parse(readFileSync(file, "utf8")), api: 2 }
      writeFileSync(file, JSON.stringify(newer))
      assert.strictEqual((yield* Control.discover(host))._tag, "OtherApi")
    })
  )

  it.scopedLive("reports an unusable state directory and a used port before anything is started", () =>
    Effect.gen(function* () {
      const host = yield* place
      writeFileSync(join(host.cwd, "file"), "")
      const error = yield* Effect.flip(start({ ...host, stateDir: join(host.cwd, "file", "state") }))
      assert.deepStrictEqual([error._tag, "code" in error && error.code], ["StateDirUnusable", "ENOTDIR"])
      const port = yield* Effect.async<number>((resume) => {
        const taken = createServer().listen(0, "127.0.0.1", () => {
          const address = taken.address()
          resume(Effect.succeed(typeof address === "object" ? (address?.port ?? 0) : 0))
        })
        taken.unref()
      })
      const refused = yield* Effect.flip(start({ ...host, port }))
      assert.deepStrictEqual([refused._tag, "code" in refused && refused.code], ["ListenFailed", "EADDRINUSE"])
      assert.strictEqual((yield* Effect.flip(start({ ...host, host: "0.0.0.0" })))._tag, "UnsafeBind")
      assert.deepStrictEqual(yield* Control.discover(host), { _tag: "None" })
      yield* start(host)
    })
  )

  it.scopedLive("has its socket in another directory of its user if the path in the state directory is too long", () =>
    Effect.gen(function* () {
      const { cwd } = yield* place
      const host = { cwd, stateDir: join(cwd, "d".repeat(100), "state") }
      yield* start(host)
      const daemon = yield* running(host)
      assert.isAtMost(Buffer.byteLength(daemon.socket!), 103)
      assert.isFalse(daemon.socket!.startsWith(host.stateDir))
      assert.strictEqual(statSync(join(daemon.socket!, "..")).mode & 0o777, 0o700)
      const client = yield* Control.connect(daemon, host)
      assert.strictEqual((yield* client.system.health({})).api, 1)
      assert.deepStrictEqual(
        readdirSync(cwd).filter((name) => name !== "d".repeat(100)),
        []
      )
    })
  )

  it.scopedLive("is discovered as Running by callers with the same config files only", () =>
    Effect.gen(function* () {
      const host = yield* place
      const { cwd } = host
      yield* start(host)
      const seen = (further: object) => Effect.map(Control.discover({ ...host, ...further }), ({ _tag }) => _tag)
      mkdirSync(join(cwd, "elsewhere"))
      assert.strictEqual(yield* seen({ cwd: join(cwd, "elsewhere") }), "Running")
      writeFileSync(join(cwd, "elsewhere", "mcp-supervisor.json"), "{}")
      assert.strictEqual(yield* seen({ cwd: join(cwd, "elsewhere") }), "OtherFiles")
      // a file that was created later counts for both
      writeFileSync(join(cwd, "mcp-supervisor.json"), "{}")
      assert.strictEqual(yield* seen({}), "Running")
      writeFileSync(join(cwd, "more.json"), "{}")
      assert.strictEqual(yield* seen({ files: ["more.json"] }), "OtherFiles")
      const env = { ...process.env, MCP_SUPERVISOR_CONFIG_CONTENT: '{ "mcp": { "a": { "command": "s3cret" } } }' }
      assert.strictEqual(yield* seen({ env }), "OtherFiles")
    })
  )

  it.scopedLive("reloads, explains, edits and trusts its config files", () =>
    Effect.gen(function* () {
      const host = yield* place
      const file = join(host.cwd, "own.json")
      writeFileSync(file, JSON.stringify({ mcp: { one: { ...entry, environment: { KEY: "s3cret" } } } }))
      const { supervisor } = yield* start({ ...host, files: [file] })
      const daemon = yield* running({ ...host, files: [file] })
      assert.include(daemon.config, file)
      const client = yield* Control.connect(daemon, host)
      const explained = yield* client.config.explain({})
      assert.deepStrictEqual(
        explained.servers.map(({ name }) => name),
        ["one"]
      )
      assert.notInclude(JSON.stringify(explained), "s3cret")
      writeFileSync(file, JSON.stringify({ mcp: { one: { ...entry, environment: { KEY: "s3cret" } }, two: entry } }))
      const plan = yield* client.config.reload({})
      assert.deepStrictEqual([plan.start, plan.keep], [["two"], ["one"]])
      writeFileSync(file, "{")
      assert.strictEqual((yield* Effect.flip(client.config.reload({})))._tag, "InvalidConfig")
      assert.strictEqual((yield* supervisor.servers).length, 2)
      writeFileSync(file, JSON.stringify({ mcp: { two: entry } }))
      const added = yield* client.mcp.add({ payload: { name: "three", config: entry, persist: true } })
      assert.sameMembers(Object.keys(added), ["two", "three"])
      assert.strictEqual((yield* supervisor.server("three")).origin, "config")
      assert.include(readFileSync(join(own, "config", "mcp-supervisor", "config.json"), "utf8"), "three")
      const project = join(host.cwd, "mcp-supervisor.json")
      writeFileSync(project, JSON.stringify({ mcp: { theirs: entry } }))
      yield* client.config.reload({})
      assert.deepInclude((yield* supervisor.server("theirs")).status, { status: "disabled", by: "trust" })
      const trusted = yield* client.config.trust({ payload: { file: project } })
      const [approved] = trusted.files
      assert.deepStrictEqual([approved?.file, approved?.servers], [project, ["theirs"]])
      const parts = new Map(approved?.entries?.[0]?.parts.map(({ label, text }) => [label, text]))
      assert.include(parts.get("command"), entry.command)
      assert.strictEqual(parts.get("cwd"), host.cwd)
      assert.deepInclude((yield* supervisor.server("theirs")).status, { status: "disabled", by: "config" })
    })
  )

  it.scopedLive("restores a removed server of a config file with the next reload", () =>
    Effect.gen(function* () {
      const host = yield* place
      const file = join(host.cwd, "own.json")
      const write = (...names: ReadonlyArray<string>) =>
        writeFileSync(file, JSON.stringify({ mcp: Object.fromEntries(names.map((name) => [name, entry])) }))
      write("one", "two")
      const { supervisor } = yield* start({ ...host, files: [file] })
      const client = yield* Control.connect(yield* running({ ...host, files: [file] }), host)
      const isOurs = (name: string) => name === "one" || name === "two"
      const names = Effect.map(client.mcp.list({}), (all) => Object.keys(all).filter(isOurs).sort())
      const remove = client.mcp.remove({ path: { name: "one" } })
      assert.deepInclude(yield* remove, { status: "disabled", by: "command" })
      assert.deepStrictEqual(yield* names, ["two"])
      assert.strictEqual((yield* Effect.flip(remove))._tag, "ServerNotFound")
      // the file was not changed
      assert.include(readFileSync(file, "utf8"), '"one"')
      const again = yield* client.config.reload({})
      assert.deepStrictEqual([again.start, again.keep.filter(isOurs)], [["one"], ["two"]])
      assert.deepStrictEqual(yield* names, ["one", "two"])
      const back = yield* supervisor.server("one")
      assert.strictEqual(back.origin, "config")
      assert.deepInclude(back.status, { status: "disabled", by: "config" })
      // an added server of the same name is replaced by the configured one
      yield* remove
      yield* client.mcp.add({ payload: { name: "one", config: entry } })
      assert.strictEqual((yield* supervisor.server("one")).origin, "dynamic")
      yield* client.config.reload({})
      assert.strictEqual((yield* supervisor.server("one")).origin, "config")
      // a server that was removed from the file as well does not return
      yield* remove
      write("two")
      assert.deepStrictEqual((yield* client.config.reload({})).start, [])
      assert.deepStrictEqual(yield* names, ["two"])
    })
  )

  it.scopedLive("does not restore a removed server that was added at run time", () =>
    Effect.gen(function* () {
      const host = yield* place
      yield* start(host)
      const client = yield* Control.connect(yield* running(host), host)
      yield* client.mcp.add({ payload: { name: "guest", config: entry } })
      yield* client.mcp.remove({ path: { name: "guest" } })
      const plan = yield* client.config.reload({})
      assert.notInclude([...plan.start, ...plan.keep], "guest")
      assert.notProperty(yield* client.mcp.list({}), "guest")
    })
  )

  it.scopedLive("rejects a reload while a config file is invalid, each time with the reason", () =>
    Effect.gen(function* () {
      const host = yield* place
      const file = join(host.cwd, "own.json")
      const project = join(host.cwd, "mcp-supervisor.json")
      writeFileSync(project, JSON.stringify({ mcp: { theirs: entry } }))
      for (const watch of [false, true]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            writeFileSync(file, JSON.stringify({ mcp: { mine: entry } }))
            const { supervisor } = yield* start({ ...host, files: [file], watch })
            const client = yield* Control.connect(yield* running({ ...host, files: [file] }), host)
            const names = Effect.map(supervisor.servers, (all) => all.map(({ name }) => name).sort())
            const refused = Effect.map(
              Effect.flip(client.config.reload({})),
              (error) => `${error._tag} ${error.message}`
            )
            const first = yield* names
            assert.includeMembers(first, ["mine", "theirs"])
            const whole = readFileSync(project, "utf8")
            writeFileSync(project, whole.slice(0, -5))
            for (const _ of [1, 2]) assert.include(yield* refused, project)
            assert.deepStrictEqual(yield* names, first)
            // changes of the user's own files are applied nevertheless
            writeFileSync(file, JSON.stringify({ mcp: { mine: entry, [`new${watch}`]: entry } }))
            assert.include(yield* refused, project)
            assert.deepStrictEqual(yield* names, [...first, `new${watch}`].sort())
            writeFileSync(project, whole)
            yield* client.config.reload({})
            const before = yield* names
            const mine = readFileSync(file, "utf8")
            writeFileSync(file, mine.slice(0, -5))
            for (const _ of [1, 2]) assert.include(yield* refused, file)
            assert.deepStrictEqual(yield* names, before)
            writeFileSync(file, mine)
            assert.sameMembers([...(yield* client.config.reload({})).keep], before)
          })
        )
      }
    })
  )
})
