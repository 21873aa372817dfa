// Runs a supervisor whose servers all fail, and reports the longest turn of its event loop until each failed once, in milliseconds.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

const [dist, kind, count] = process.argv.slice(2)
const load = (module) => import(new URL(module, dist).href)
const Connector = await load("connection/Connector.js")
const McpSupervisor = await load("McpSupervisor.js")
const FairScheduler = await load("system/FairScheduler.js")
await load("connection/sdk/sdkConnect.js")

/** A port without a listener, and a command that does not exist. */
const entryOf = (index) =>
  kind === "refused" ? { url: `http://127.0.0.1:9/${index}` } : { command: [`/nonexistent/${index}`] }

const servers = Object.fromEntries(Array.from({ length: Number(count) }, (_, index) => [`s${index}`, entryOf(index)]))

let longest = 0
let last = process.cpuUsage()
let isOver = false
const turn = () => {
  const { system, user } = process.cpuUsage(last)
  longest = Math.max(longest, (user + system) / 1000)
  last = process.cpuUsage()
  if (!isOver) setImmediate(turn)
}
setImmediate(turn)

const program = Effect.flatMap(McpSupervisor.McpSupervisor, (supervisor) => supervisor.awaitOutcomes()).pipe(
  Effect.provide(Layer.provide(McpSupervisor.layer({ servers }), Connector.layer())),
  Effect.provide(Logger.remove(Logger.defaultLogger))
)

Effect.runFork(program, { scheduler: FairScheduler.make() }).addObserver(() => {
  isOver = true
  process.send({ longest })
})
process.once("disconnect", () => process.exit(0))
