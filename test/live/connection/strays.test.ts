import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Scope } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import { bin, places } from "../support/cli.js"
import { commandOf, guardsOf, mark, processesCarrying } from "../support/marked.js"
import { connect, eventually, faulty } from "../support/session.js"

const server = (...flags: ReadonlyArray<string>) => `exec "${process.execPath}" "${faulty}" ${flags.join(" ")}`
const stubborn = `sh -c 'trap "" TERM; exec sleep 300'`
const here = places()

const open = (line: string, value: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    yield* Scope.extend(connect({ command: ["sh", "-c", line], environment: { TEST_MARK: value } }), scope)
    return Scope.close(scope, Exit.void)
  })

describe.concurrent("the orderly end of a server", () => {
  for (const [name, line, count] of [
    ["in a session of its own", `setsid sleep 300 & ${server()}`, 2],
    ["that ignores SIGTERM", `setsid ${stubborn} & ${server()}`, 2],
    [
      "of a child, below a server that ignores EOF and SIGTERM",
      `(setsid ${stubborn} &); ${server("ignore-eof", "ignore-term")}`,
      2
    ]
  ] as const) {
    it.scopedLive(`ends the processes that it started: ${name}; and none of another server`, () =>
      Effect.gen(function* () {
        const [ours, other] = yield* Effect.all([mark("ours"), mark("other")])
        const close = yield* open(line, ours)
        yield* open(`setsid sleep 300 & ${server()}`, other)
        yield* eventually(() => processesCarrying(`TEST_MARK=${ours}`).length === count)
        yield* eventually(() => processesCarrying(`TEST_MARK=${other}`).length === 2)
        const [took] = yield* Effect.timed(close)
        assert.deepStrictEqual(processesCarrying(`TEST_MARK=${ours}`), [])
        assert.strictEqual(processesCarrying(`TEST_MARK=${other}`).length, 2)
        // the shutdown budget, and some reserve for a busy machine
        assert.isBelow(Duration.toMillis(took), 20_000)
      }).pipe(Effect.provide(Connector.layer()))
    )
  }

  it.scopedLive("ends the processes that a crashed server left in a session of their own", () =>
    Effect.gen(function* () {
      const value = yield* mark("crashed")
      yield* open(`setsid sleep 300 & ${server()}`, value)
      yield* eventually(() => processesCarrying(`TEST_MARK=${value}`).length === 2)
      const leader = processesCarrying(`TEST_MARK=${value}`).find((pid) => commandOf(pid).includes(faulty))
      process.kill(leader!, "SIGKILL")
      yield* eventually(() => processesCarrying(`TEST_MARK=${value}`).length === 0)
    }).pipe(Effect.provide(Connector.layer()))
  )
})

const pidIn = (stateDir: string): number => JSON.parse(readFileSync(join(stateDir, "daemon.json"), "utf8")).pid

describe.concurrent("a supervisor that was started from within a server", () => {
  for (const [name, line] of [
    ["with start", (inner: string) => `${inner} start --port 0 >/dev/null 2>&1`],
    [
      "with serve, in a session of its own",
      (inner: string) => `setsid ${inner} serve --port 0 >/dev/null 2>&1 </dev/null &`
    ]
  ] as const) {
    it.scopedLive(`${name}, keeps running after the outer one was killed and its processes were ended`, () =>
      Effect.gen(function* () {
        const outer = yield* Effect.promise(here)
        const inner = yield* Effect.promise(here)
        const value = yield* mark("nested")
        inner.configure({ it: { command: ["sh", "-c", server()] } })
        const environment = { ...inner.env, TEST_MARK: value } as Record<string, string>
        const script = join(outer.directory, "server.sh")
        const inside = `"${process.execPath}" "${yield* Effect.promise(bin)}"`
        writeFileSync(script, `${line(inside)}\nsetsid sleep 300 &\n${server()}`)
        outer.configure({ sh: { command: ["sh", script], environment, cwd: inner.project, timeout: 60_000 } })
        const ran = yield* Effect.promise(() => outer.run(["start", "--port", "0"]))
        assert.strictEqual(ran.code, 0, ran.stderr)
        yield* eventually(() => existsSync(join(inner.stateDir, "daemon.json")))
        const [outerPid, innerPid] = [pidIn(outer.stateDir), pidIn(inner.stateDir)]
        yield* eventually(() => guardsOf(innerPid).length === 1)
        const sleeping = () =>
          processesCarrying(`TEST_MARK=${value}`).filter((pid) => commandOf(pid).startsWith("sleep\0"))
        yield* eventually(() => sleeping().length === 1)
        process.kill(outerPid, "SIGKILL")
        yield* eventually(() => guardsOf(outerPid).length === 0)
        // the ledger does not end it, either
        outer.configure({})
        yield* Effect.promise(() => outer.run(["list"]))
        assert.deepStrictEqual(sleeping(), [])
        const status = yield* Effect.promise(() => inner.run(["status", "it", "--json"]))
        assert.strictEqual(pidIn(inner.stateDir), innerPid)
        assert.include(status.stdout, `"connected"`)
        yield* Effect.promise(() => inner.run(["stop"]))
      })
    )
  }
})
