import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as DaemonFile from "../../control/DaemonFile.js"
import * as FileLock from "../../system/FileLock.js"
import * as ProcessIdentity from "../../system/processIdentity.js"
import { codeOf } from "../../system/wholeFile.js"
import { CommandFailed } from "../failure.js"
import { hostOf } from "../host.js"
import { Screen } from "../Screen.js"
import { command, type Input } from "../spec.js"
import { laterRelease } from "../withSupervisor.js"

export const spec = command({
  name: "stop",
  summary: "End the supervisor that runs in the background",
  details:
    "Also one in the foreground, and whichever config files it serves: there is one for a state directory. Returns when nothing of it is left.",
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
    const whom = yield* holderOf(stateDir)
    const isSent = whom !== undefined && (yield* end(whom, stateDir))
    if (!isSent) {
      yield* screen.note("no supervisor is running")
      return yield* input.json ? screen.json({ stopped: null }) : Effect.void
    }
    const { pid } = whom
    const gone = Effect.gen(function* () {
      while ((yield* ProcessIdentity.isAlive(whom)) === "alive") yield* Effect.sleep(lookEveryMs)
    })
    yield* screen.busy(`waiting for process ${pid}`, gone).pipe(
      Effect.timeoutFail({
        duration: patienceMs,
        onTimeout: () => new CommandFailed({ message: `process ${pid} does not end; end it with: kill -9 ${pid}` })
      })
    )
    yield* input.json ? screen.json({ stopped: pid }) : screen.out(`stopped process ${pid}`)
  })

/** Who supervises there, also one that has only begun and cannot be asked yet. */
const holderOf = (stateDir: string) =>
  Effect.gen(function* () {
    const found = yield* DaemonFile.find(stateDir)
    if (found._tag === "Newer") return yield* laterRelease(stateDir)
    return "daemon" in found ? found.daemon.identity : yield* FileLock.holder(join(stateDir, "daemon.lock"))
  })

/** Whether it was there to be asked. Nobody is signalled of whom it is not certain who he is. */
const end = (whom: ProcessIdentity.Identity, stateDir: string) =>
  Effect.gen(function* () {
    const liveness = yield* ProcessIdentity.isAlive(whom)
    const { boot, machine, pid, space } = whom
    // where the system tells nothing of a process but its number, one that is not there is gone
    const isGone = liveness === "unknown" && boot === undefined && space === undefined && !ProcessIdentity.exists(pid)
    if (liveness === "dead" || isGone) return false
    if (liveness === "unknown") {
      const where = machine === undefined ? "another machine or container" : `another container or machine (${machine})`
      return yield* new CommandFailed({
        message: `process ${pid} of ${where} supervises ${stateDir}, which cannot be ended from here: end it there`
      })
    }
    return yield* Effect.try({ try: () => process.kill(pid, "SIGTERM"), catch: codeOf }).pipe(
      Effect.catchAll((code) =>
        code === "ESRCH"
          ? Effect.succeed(false)
          : new CommandFailed({ message: `process ${pid} may not be ended by this user (${code})` })
      )
    )
  })
