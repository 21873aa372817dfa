import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Logger, type Scope } from "effect"
import { listed } from "../../../src/cli/quickList.js"
import { surroundings } from "../../../src/config/ConfigHost.js"
import { describe as sourcesOf } from "../../../src/config/layers/layerSources.js"
import * as DaemonFile from "../../../src/daemon/DaemonFile.js"
import { revision } from "../../../src/control/apiRevision.js"
import * as Errors from "../../../src/domain/Errors.js"
import { version } from "../../../src/domain/internal/version.js"
import * as ProcessIdentity from "../../../src/system/processIdentity.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { bin } from "../support/cli.js"
import { controlled, local, temporary, token } from "../support/control.js"

const names = ["one", "two", "three"] as const

const server = { ...local, timeout: 200, restart: { base: 50, cap: 50, maxRestarts: "none" } } as const

/** Servers that no transition concerns. */
const unmoved = {
  broken: { ...local, restart: { maxRestarts: 0, cooldown: "1 hour" } },
  stuck: { ...local, timeout: "1 hour" }
} as const

const steps = ["connect", "disconnect", "restart", "enable", "disable", "remove"] as const

const transitions = [...steps, "add", "crash", "fail", "hang"] as const

const history = fc.sample(fc.record({ name: fc.constantFrom(...names), what: fc.constantFrom(...transitions) }), {
  seed: 7,
  numRuns: 500
})

/** The program is started after every 50 transitions; its module for `list --json` runs after every transition. */
const startsEvery = 50

/** Announces a supervisor in this process as that of a state directory. */
const announce = (stateDir: string, server: { readonly address: string; readonly socket?: string | undefined }) =>
  Effect.gen(function* () {
    const { pid } = process
    const sources = sourcesOf(surroundings({ cwd: stateDir, stateDir }), token)
    const identity = yield* ProcessIdentity.self
    const told = { ...server, config: [], sources, release: version, api: revision, startedAt: 0 }
    writeFileSync(join(stateDir, "control-token"), token, { mode: 0o600 })
    yield* DaemonFile.write(stateDir, { version: 1, pid, identity, ...told })
  })

describe("the library, the API and the command line", () => {
  it.scopedLive(
    "report the same status of each server after each of 500 transitions",
    () =>
      Effect.gen(function* () {
        const open = FakeConnector.open({ tools: ["greet"] })
        const stateDir = yield* temporary
        const socket = join(stateDir, "control.sock")
        const program = yield* Effect.promise(bin)
        const {
          client,
          fake,
          server: listening,
          supervisor
        } = yield* controlled({
          control: { socket },
          supervisor: { servers: { ...Object.fromEntries(names.map((name) => [name, server])), ...unmoved } },
          scripts: {
            ...Object.fromEntries(names.map((name) => [name, open])),
            broken: FakeConnector.fail(new Errors.SessionLost({ server: "broken" })),
            stuck: FakeConnector.hang
          }
        })
        const { controls } = fake
        yield* announce(stateDir, { address: listening.address, socket })

        /** Runs one transition, alternately through the library and the API. */
        const move = (
          index: number,
          name: string,
          what: (typeof transitions)[number]
        ): Effect.Effect<unknown, unknown, Scope.Scope> => {
          const path = { name }
          switch (what) {
            case "crash":
              return Effect.map(controls.attempts(name), (attempts) => attempts.at(-1)?.crash() ?? Effect.void).pipe(
                Effect.flatten
              )
            case "fail":
              return Effect.zipRight(
                controls.script(name, [FakeConnector.fail(new Errors.SessionLost({ server: name })), open]),
                supervisor.restart(name)
              )
            case "hang":
              return Effect.zipRight(
                controls.script(name, [FakeConnector.hang, open]),
                Effect.forkScoped(supervisor.restart(name))
              )
            case "add":
              return index % 2 === 0
                ? supervisor.add(name, server)
                : client.mcp.add({ payload: { name, config: server } })
            default:
              return index % 2 === 0 ? supervisor[what](name) : client.mcp[what]({ path })
          }
        }

        const ask = Effect.map(
          Effect.promise(() => listed({ config: [], cwd: stateDir, stateDir })),
          (text) => JSON.parse(text ?? "null")
        )

        const start = (command: "list" | "status") =>
          Effect.promise(async () => {
            const words = [program, command, "--json", "--cwd", stateDir, "--state-dir", stateDir]
            const { stdout } = await promisify(execFile)(process.execPath, words)
            return JSON.parse(stdout)
          })

        /** Reads all statuses until no server changed meanwhile, and compares them. */
        const compare = (index: number) =>
          Effect.gen(function* () {
            while (true) {
              const before = yield* supervisor.servers
              const snapshots = yield* client.servers.list({})
              const told = [yield* client.mcp.list({}), yield* ask]
              if (index % startsEvery === 0) told.push(yield* start("list"), yield* start("status"))
              if ((yield* supervisor.servers) !== before) continue
              assert.deepStrictEqual(snapshots, before)
              const statuses = Object.fromEntries(before.map(({ name, status }) => [name, status]))
              for (const each of told) assert.deepStrictEqual(each, statuses)
              return before
            }
          })

        const seen = new Set<string>()
        for (const [index, { name, what }] of history.entries()) {
          // transitions that fail, because the server exists already or does not exist, count as well
          yield* Effect.exit(move(index, name, what))
          for (const { status } of yield* compare(index)) seen.add(status.status)
        }
        assert.includeMembers([...seen], ["connected", "connecting", "failed", "disabled"])
      }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger))),
    180_000
  )
})
