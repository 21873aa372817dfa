// Runs a supervisor of many disabled servers, and reports the time to add one more and remove it again, in microseconds.
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

const [dist, count, repeats] = process.argv.slice(2)
const load = (module) => import(new URL(module, dist).href)
const Connector = await load("connection/Connector.js")
const McpSupervisor = await load("McpSupervisor.js")

const entry = { command: ["/nonexistent"], disabled: true }
const servers = Object.fromEntries(Array.from({ length: Number(count) }, (_, index) => [`s${index}`, entry]))

const program = Effect.gen(function* () {
  const supervisor = yield* McpSupervisor.McpSupervisor
  const change = Effect.zipRight(supervisor.add("one", entry), supervisor.remove("one"))
  const round = Effect.gen(function* () {
    const times = []
    for (let each = 0; each < Number(repeats); each++) {
      const from = performance.now()
      yield* change
      times.push((performance.now() - from) * 1000)
    }
    return times.toSorted((a, b) => a - b)[times.length >> 1]
  })
  // the first round is the warm-up
  yield* round
  return yield* round
}).pipe(Effect.provide(Layer.provide(McpSupervisor.layer({ servers }), Connector.layer())))

const typical = await Effect.runPromise(program)
process.send({ typical })
process.once("disconnect", () => process.exit(0))
