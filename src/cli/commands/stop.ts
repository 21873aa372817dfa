import * as Effect from "effect/Effect"
import * as DaemonFile from "../../control/DaemonFile.js"
import { CommandFailed } from "../failure.js"
import { hostOf } from "../host.js"
import { Screen } from "../Screen.js"
import { command, type Input } from "../spec.js"

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
    const found = yield* DaemonFile.find(stateDir)
    if (!("daemon" in found)) {
      yield* screen.note("no supervisor is running")
      return yield* input.json ? screen.json({ stopped: null }) : Effect.void
    }
    const { pid } = found.daemon
    yield* Effect.try({
      try: () => process.kill(pid, "SIGTERM"),
      catch: () => new CommandFailed({ message: `process ${pid} may not be ended by this user` })
    })
    const gone = Effect.gen(function* () {
      while (true) {
        const now = yield* DaemonFile.find(stateDir)
        if (!("daemon" in now) || now.daemon.pid !== pid) return
        yield* Effect.sleep(lookEveryMs)
      }
    })
    yield* screen.busy(`waiting for process ${pid}`, gone).pipe(
      Effect.timeoutFail({
        duration: patienceMs,
        onTimeout: () => new CommandFailed({ message: `process ${pid} does not end; end it with: kill -9 ${pid}` })
      })
    )
    yield* input.json ? screen.json({ stopped: pid }) : screen.out(`stopped process ${pid}`)
  })
