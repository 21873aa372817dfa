import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, HashMap, Layer, Logger, Scope } from "effect"
import { ChildLedger } from "../../../src/connection/ChildLedger.js"
import * as Connector from "../../../src/connection/Connector.js"
import * as FileChildLedger from "../../../src/connection/process/FileChildLedger.js"
import type * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import * as ProcessIdentity from "../../../src/system/processIdentity.js"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import { bundle } from "../support/bundle.js"
import { connect, eventually, faulty, groupOf, local, processesWith } from "../support/session.js"

const stubborn = [process.execPath, faulty, "ignore-eof", "ignore-term"]
const wrapped = ["sh", "-c", `"${process.execPath}" "${faulty}" ignore-eof ignore-term stubborn-grandchild; exit $?`]

/** A state directory that is removed after the test. */
const stateDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "ledger-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const files = (stateDir: string): ReadonlyArray<string> => {
  const directory = join(stateDir, "children")
  return existsSync(directory) ? readdirSync(directory) : []
}

const running = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null

/** Ends a process of the test by its pid at the end of the scope. */
const endAtLast = (child: ChildProcess) =>
  Effect.sync(() => {
    if (running(child)) child.kill("SIGKILL")
  })

/** A process that ignores SIGTERM and leads its own group. It is ready when it writes a line. */
const bystander = (env: Record<string, string>, args: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const program = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); process.stdout.write('ready')"
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["-e", program, ...args], {
          env: { PATH: process.env.PATH, ...env },
          detached: true,
          stdio: ["ignore", "pipe", "ignore"]
        })
      ),
      endAtLast
    )
    yield* Effect.async<void>((resume) => void child.stdout.once("data", () => resume(Effect.void)))
    return child
  })

/** A host that is connected to its servers. */
const startHost = (stateDir: string, commands: ReadonlyArray<ReadonlyArray<string>>) =>
  Effect.gen(function* () {
    const host = yield* Effect.promise(() => bundle("./ledgerHost.ts"))
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [host, stateDir, JSON.stringify(commands)], {
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      endAtLast
    )
    const leaders = yield* Effect.acquireRelease(
      Effect.async<ReadonlyArray<number>>(
        (resume) =>
          void child.stdout.once("data", (data: Buffer) => resume(Effect.sync(() => JSON.parse(String(data)))))
      ),
      (leaders) =>
        Effect.sync(() => {
          for (const pid of leaders.flatMap(groupOf)) process.kill(pid, "SIGKILL")
        })
    )
    return { child, leaders }
  })

const kill = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

/** Records with a ledger of that directory, until the scope closes. */
const record = (stateDir: string, run: string = randomUUID()) =>
  Effect.flatMap(ChildLedger, (ledger) => ledger.record(run)).pipe(Effect.provide(FileChildLedger.layer(stateDir)))

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

/** Writes a file as another owner would. */
const forge = (stateDir: string, owner: object, runs: ReadonlyArray<string>, more: object = {}) => {
  const directory = join(stateDir, "children")
  mkdirSync(directory, { recursive: true })
  const name = `forged-${randomUUID()}.json`
  writeFileSync(join(directory, name), JSON.stringify({ version: 1, owner, runs, ...more }))
  return name
}

/** An owner of this boot that is certainly dead. */
const deadOwner = Effect.map(ProcessIdentity.self, (self) => ({ ...self, startedAt: "0" }))

/** Records all log messages instead of showing them. */
const logged = () => {
  const lines: Array<object> = []
  const logger = Logger.make(({ annotations, logLevel, message }) => {
    lines.push({
      level: logLevel.label,
      message: String(message),
      ...Object.fromEntries(HashMap.toEntries(annotations))
    })
  })
  return { lines, layer: Logger.replace(Logger.defaultLogger, logger) }
}

describe("a host that was killed", () => {
  it.scopedLive(
    "leaves processes that the next one ends, and no other process is ended",
    () =>
      Effect.gen(function* () {
        const stateDir = yield* stateDirectory
        const untagged = yield* bystander({})
        const [living, killed] = yield* Effect.all(
          [startHost(stateDir, [stubborn]), startHost(stateDir, [stubborn, wrapped])],
          { concurrency: 2 }
        )
        assert.strictEqual(files(stateDir).length, 2)
        yield* eventually(() => groupOf(killed.leaders[1]!).length === 3)
        yield* kill(killed.child)
        assert.strictEqual(killed.leaders.flatMap(groupOf).length, 4)

        // the next host first reports that its server runs: by then the other processes have ended
        const next = yield* startHost(stateDir, [stubborn])
        assert.deepStrictEqual(killed.leaders.flatMap(groupOf), [])
        assert.strictEqual(living.leaders.flatMap(groupOf).length, 1)
        assert.strictEqual(next.leaders.flatMap(groupOf).length, 1)
        assert.isTrue(running(untagged))
        assert.deepStrictEqual(
          files(stateDir)
            .map((name) => name.split("-")[0])
            .toSorted(),
          [living.child.pid, next.child.pid].map(String).toSorted()
        )
      }),
    180_000
  )
})

describe("FileChildLedger", () => {
  it.scopedLive("leaves no file after a clean end, and only the user can read it before", () =>
    Effect.gen(function* () {
      const stateDir = join(yield* stateDirectory, "made", "when needed")
      const scope = yield* Scope.make()
      yield* Effect.gen(function* () {
        const session = yield* connect(local())
        const [name, ...more] = files(stateDir)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(statSync(join(stateDir, "children")).mode & 0o777, 0o700)
        assert.strictEqual(statSync(join(stateDir, "children", name!)).mode & 0o777, 0o600)
        const content = () => JSON.parse(readFileSync(join(stateDir, "children", name!), "utf8"))
        const { owner, runs, version } = content()
        yield* eventually(() => content().groups[0] === session.info.pid)
        assert.strictEqual(version, 1)
        assert.strictEqual(yield* ProcessIdentity.isAlive(owner), "alive")
        const environment = readFileSync(`/proc/${session.info.pid}/environ`, "utf8").split("\0")
        assert.include(environment, `MCP_SUPERVISOR_RUN=${runs[0]}`)
      }).pipe(
        Effect.scoped,
        Effect.provide(Layer.provide(Connector.layer(), FileChildLedger.layer(stateDir))),
        Scope.extend(scope)
      )
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(files(stateDir), [])
    })
  )

  it.scopedLive("ends processes that have exactly the tag, and reports it", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const owner = yield* deadOwner
      const tagged = yield* bystander({ MCP_SUPERVISOR_RUN: run })
      const others = yield* Effect.all([
        bystander({ MCP_SUPERVISOR_RUN: `${run}0` }),
        bystander({ MCP_SUPERVISOR_RUN: randomUUID() }),
        bystander({ OTHER_MCP_SUPERVISOR_RUN: run }),
        bystander({}, [`MCP_SUPERVISOR_RUN=${run}`])
      ])
      forge(stateDir, owner, [run])
      const { layer, lines } = logged()
      yield* record(stateDir).pipe(Effect.provide(layer))
      yield* eventually(() => !running(tagged) && files(stateDir).length === 1 && lines.length > 0)
      assert.strictEqual(tagged.signalCode, "SIGKILL")
      assert.deepStrictEqual(others.map(running), [true, true, true, true])
      const directory = join(stateDir, "children")
      assert.deepStrictEqual(lines, [
        { level: "INFO", message: "mcp.children.reaped", count: 1, owner: owner.pid, directory }
      ])
    })
  )

  it.scopedLive("treats an owner as dead if another process has its pid, and does not end that process", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const unrelated = yield* bystander({})
      const left = yield* bystander({ MCP_SUPERVISOR_RUN: run })
      forge(stateDir, { ...(yield* deadOwner), pid: unrelated.pid }, [run])
      yield* record(stateDir).pipe(Effect.provide(silent))
      yield* eventually(() => !running(left) && files(stateDir).length === 1)
      assert.isTrue(running(unrelated))
    })
  )

  it.scopedLive("ignores files of owners that live, may live, or used an unknown format", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const tagged = yield* bystander({ MCP_SUPERVISOR_RUN: run })
      const self = yield* ProcessIdentity.self
      const dead = yield* deadOwner
      const before = [
        forge(stateDir, self, [run]),
        forge(stateDir, { ...dead, space: "pid:[1]" }, [run]),
        forge(stateDir, { ...dead, boot: "another", machine: "another" }, [run]),
        forge(stateDir, dead, [run], { version: 2 }),
        forge(stateDir, dead, ["", "MCP"]),
        forge(stateDir, { ...dead, pid: -1 }, [run])
      ]
      yield* record(stateDir)
      assert.isTrue(running(tagged))
      assert.includeMembers([...files(stateDir)], before)
    })
  )

  it.scopedLive("only removes files from before the system was started", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const tagged = yield* bystander({ MCP_SUPERVISOR_RUN: run })
      forge(stateDir, { ...(yield* ProcessIdentity.self), boot: "before" }, [run])
      yield* record(stateDir)
      assert.isTrue(running(tagged))
      assert.strictEqual(files(stateDir).length, 1)
    })
  )

  it.scopedLive("removes an unreadable file once it is a day old", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const directory = join(stateDir, "children")
      mkdirSync(directory)
      const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000)
      for (const name of ["old.json", "old.json.1.tmp", "new.json"]) writeFileSync(join(directory, name), "{ half")
      for (const name of ["old.json", "old.json.1.tmp"]) utimesSync(join(directory, name), longAgo, longAgo)
      const newer = forge(stateDir, yield* deadOwner, [], { version: 2 })
      utimesSync(join(directory, newer), longAgo, longAgo)
      yield* record(stateDir)
      assert.deepStrictEqual(
        files(stateDir)
          .filter((name) => !name.startsWith(`${process.pid}-`))
          .toSorted(),
        [newer, "new.json"].toSorted()
      )
    })
  )

  it.scopedLive("ignores a run that this process belongs to", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const sibling = yield* bystander({ MCP_SUPERVISOR_RUN: run })
      const forged = forge(stateDir, yield* deadOwner, [run])
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          const before = process.env.MCP_SUPERVISOR_RUN
          process.env.MCP_SUPERVISOR_RUN = run
          return before
        }),
        (before) =>
          Effect.sync(() => {
            if (before === undefined) delete process.env.MCP_SUPERVISOR_RUN
            else process.env.MCP_SUPERVISOR_RUN = before
          })
      )
      yield* record(stateDir)
      assert.isTrue(running(sibling))
      assert.include(files(stateDir), forged)
    })
  )

  it.scopedLive("ends a server that is itself a supervisor, but not a supervisor that a server started", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const [server, elsewhere] = yield* Effect.all([
        bystander({ MCP_SUPERVISOR_RUN: run }),
        bystander({ MCP_SUPERVISOR_RUN: run })
      ])
      for (const { pid } of [server, elsewhere]) yield* bystander({ MCP_SUPERVISOR_GUARD: String(pid) })
      const forged = forge(stateDir, yield* deadOwner, [run], { groups: [server.pid] })
      yield* Effect.provide(record(stateDir), silent)
      yield* eventually(() => !files(stateDir).includes(forged))
      assert.isFalse(running(server))
      assert.isTrue(running(elsewhere))
    })
  )

  it.scopedLive("records the current groups, and keeps the file if some are left at the end", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const written = () => {
        const [name] = files(stateDir)
        return JSON.stringify(JSON.parse(readFileSync(join(stateDir, "children", name!), "utf8")).groups)
      }
      yield* Effect.gen(function* () {
        const groups = yield* record(stateDir)
        groups.started(5_000_001)
        groups.started(5_000_002)
        yield* eventually(() => written() === "[5000001,5000002]")
        groups.gone(5_000_001)
        yield* eventually(() => written() === "[5000002]")
      }).pipe(Effect.scoped)
      assert.strictEqual(written(), "[5000002]")
    })
  )

  it.scopedLive("works when several supervisors start at the same time", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const run = randomUUID()
      const left = yield* bystander({ MCP_SUPERVISOR_RUN: run })
      forge(stateDir, yield* deadOwner, [run])
      const runs = Array.from({ length: 8 }, () => randomUUID())
      const ours = yield* Effect.forEach(runs, (own) => bystander({ MCP_SUPERVISOR_RUN: own }), { concurrency: 8 })
      yield* Effect.forEach(runs, (own) => record(stateDir, own), { concurrency: "unbounded" }).pipe(
        Effect.provide(silent)
      )
      yield* eventually(() => !running(left))
      assert.isTrue(ours.every(running))
      // the record of the dead owner is removed after its processes
      yield* eventually(() => files(stateDir).length === runs.length)
      const recorded = files(stateDir).flatMap(
        (name) => JSON.parse(readFileSync(join(stateDir, "children", name), "utf8")).runs
      )
      assert.deepStrictEqual(recorded.toSorted(), runs.toSorted())
    })
  )

  it.scopedLive("lets servers connect if nothing can be written, and reports that once", () =>
    Effect.gen(function* () {
      const file = join(yield* stateDirectory, "file")
      writeFileSync(file, "")
      const { layer, lines } = logged()
      yield* Effect.gen(function* () {
        yield* connect(local())
        yield* connect(local())
      }).pipe(
        Effect.scoped,
        Effect.provide(Connector.layer().pipe(Layer.provide(FileChildLedger.layer(file)), Layer.provide(layer)))
      )
      const directory = join(file, "children")
      assert.deepStrictEqual(lines, [{ level: "WARN", message: "mcp.children.unrecorded", code: "ENOTDIR", directory }])
    })
  )
})

describe("a connector", () => {
  it.scopedLive("keeps the environment of its program unchanged within a server of another supervisor", () =>
    Effect.gen(function* () {
      const tag = { MCP_SUPERVISOR_RUN: randomUUID(), MCP_SUPERVISOR_CHILD: "7" }
      yield* Effect.acquireRelease(
        Effect.sync(() => void Object.assign(process.env, tag)),
        () =>
          Effect.sync(() => {
            for (const name of Object.keys(tag)) delete process.env[name]
          })
      )
      const context = yield* Layer.build(Connector.layer())
      const session = yield* Effect.provide(connect({ ...local(), inheritEnv: true } as ServerConfig.Input), context)
      assert.include(process.env, tag)
      const environment = readFileSync(`/proc/${session.info.pid}/environ`, "utf8").split("\0")
      const marks = environment.filter((entry) => entry.startsWith("MCP_SUPERVISOR_RUN="))
      assert.strictEqual(marks.length, 1)
      assert.notInclude(marks, `MCP_SUPERVISOR_RUN=${tag.MCP_SUPERVISOR_RUN}`)
      assert.include(environment, "MCP_SUPERVISOR_CHILD=1")
    })
  )

  it.scopedLive("starts no process before the ledger recorded it, without blocking other servers", () =>
    Effect.gen(function* () {
      const recorded = yield* Deferred.make<void>()
      const asked = yield* Deferred.make<string>()
      const ledger = Layer.succeed(ChildLedger, {
        record: (run) =>
          Deferred.succeed(asked, run).pipe(
            Effect.zipRight(Deferred.await(recorded)),
            Effect.as({ started: () => {}, gone: () => {} })
          )
      })
      yield* Effect.gen(function* () {
        const run = yield* Deferred.await(asked)
        const { url } = yield* ScriptedServer.http({})
        yield* connect({ url })
        const phase = yield* Deferred.make<void>()
        const connecting = yield* Effect.fork(
          connect(local(run), { onPhase: () => Effect.asVoid(Deferred.succeed(phase, undefined)) })
        )
        yield* Deferred.await(phase)
        // the local server would have started by the time a second remote server responds
        yield* connect({ url })
        assert.deepStrictEqual(processesWith(run), [])
        yield* Deferred.succeed(recorded, undefined)
        const session = yield* Fiber.join(connecting)
        const environment = readFileSync(`/proc/${session.info.pid}/environ`, "utf8").split("\0")
        assert.include(environment, `MCP_SUPERVISOR_RUN=${run}`)
      }).pipe(Effect.scoped, Effect.provide(Layer.provide(Connector.layer(), ledger)))
    })
  )
})
