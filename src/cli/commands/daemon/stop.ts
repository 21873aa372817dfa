import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as FileChildLedger from "../../../connection/process/FileChildLedger.js"
import * as DaemonLock from "../../../daemon/DaemonLock.js"
import * as DaemonFile from "../../../daemon/DaemonFile.js"
import * as FileLock from "../../../system/FileLock.js"
import * as ProcessIdentity from "../../../system/processIdentity.js"
import { codeOf } from "../../../system/wholeFile.js"
import { CommandFailed } from "../../failure.js"
import { hostOf } from "../../supervisor/commandHost.js"
import { Screen } from "../../terminal/Screen.js"
import { command, type Input } from "../../words/spec.js"
import { laterRelease } from "../../supervisor/withSupervisor.js"

export const spec = command({
  name: "stop",
  summary: "Stop the supervisor of the state directory",
  details:
    "Stops the supervisor whether it runs in the background or in the foreground, and whatever config files it uses. Returns when the supervisor and its servers have ended. Servers that a killed supervisor left behind are ended as well.",
  group: "run",
  arguments: {},
  options: {},
  examples: ["stop"]
})

const patienceMs = 10_000
const lookEveryMs = 30

export const run = (input: Input<typeof spec>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { stateDir } = hostOf(input)
    const found = yield* holderOf(stateDir)
    const isThere = found !== undefined && !(yield* isGone(found.whom))
    if (isThere) yield* alone(stateDir, stop(found.whom, stateDir))
    else yield* screen.note("no supervisor is running")
    // who was killed has left his servers
    yield* screen.busy("ending what is left", FileChildLedger.clear(stateDir)).pipe(Effect.timeoutOption(patienceMs))
    const stopped = isThere ? found.whom.pid : null
    if (input.json) yield* screen.json({ stopped })
    else if (isThere) yield* screen.out(`stopped process ${stopped}`)
  })

/** A second signal would kill what the first lets end in order: of several who stop it, each waits for the one before. */
const alone = <A, E, R>(stateDir: string, effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(FileLock.make(join(stateDir, "locks", "stop"), { patience: patienceMs }), (lock) =>
    // where there is no lock to be had, it goes without
    Effect.catchAll(lock.withLock(effect), (error) =>
      error instanceof FileLock.LockFailed ? effect : Effect.fail(error)
    )
  )

/** Ends that one, and not another that has come after it. */
const stop = (whom: ProcessIdentity.Identity, stateDir: string) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { pid } = whom
    const now = yield* holderOf(stateDir)
    const isEnding = now?.isEnding === true && now.whom.pid === pid
    if (!(yield* isGone(whom))) yield* end(whom, stateDir, isEnding)
    const gone = Effect.gen(function* () {
      while ((yield* ProcessIdentity.isAlive(whom)) === "alive") yield* Effect.sleep(lookEveryMs)
    })
    yield* screen.busy(`waiting for process ${pid}`, gone).pipe(
      Effect.timeoutFail({
        duration: patienceMs,
        onTimeout: () => new CommandFailed({ message: `process ${pid} does not end; end it with: kill -9 ${pid}` })
      })
    )
  })

const isGone = (whom: ProcessIdentity.Identity) =>
  Effect.map(ProcessIdentity.isAlive(whom), (liveness) => liveness === "dead")

/** Who supervises there, also one that has only begun and cannot be asked yet. */
const holderOf = (stateDir: string) =>
  Effect.gen(function* () {
    const found = yield* DaemonFile.find(stateDir)
    if (found._tag === "Newer") return yield* laterRelease(stateDir)
    if ("daemon" in found) return { whom: found.daemon.identity, isEnding: found._tag === "Ending" }
    const holder = yield* DaemonLock.holder(stateDir)
    if (holder !== undefined) return { whom: holder, isEnding: false }
    if (found.hidden === undefined) return undefined
    return yield* new CommandFailed({
      message: `${stateDir} cannot be read (${found.hidden}): nobody knows whether a supervisor runs there`
    })
  })

/** Nobody is signalled of whom it is not certain who he is, nor who ends already. */
const end = (whom: ProcessIdentity.Identity, stateDir: string, isEnding: boolean) =>
  Effect.gen(function* () {
    const { machine, pid } = whom
    if ((yield* ProcessIdentity.isAlive(whom)) === "unknown") {
      const where = machine === undefined ? "another machine or container" : `another container or machine (${machine})`
      return yield* new CommandFailed({
        message: `process ${pid} of ${where} supervises ${stateDir}, which cannot be ended from here: end it there`
      })
    }
    if (isEnding) return
    yield* Effect.try({ try: () => void process.kill(pid, "SIGTERM"), catch: codeOf }).pipe(
      Effect.catchAll((code) =>
        code === "ESRCH"
          ? Effect.void
          : new CommandFailed({ message: `process ${pid} may not be ended by this user (${code})` })
      )
    )
  })
