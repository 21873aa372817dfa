/**
 * Runs many simulated histories, or repeats one:
 *
 *     npm run simulate -- --seed 7 --histories 20000
 *     npm run simulate -- --replay '{"seed":1,…}'
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import type { History } from "../test/laws/simulation/history.js"
import { run, runMany } from "../test/laws/simulation/simulate.js"

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    histories: { type: "string", default: "2000" },
    replay: { type: "string" },
    coverage: { type: "boolean", default: false }
  }
})

const inSeconds = (since: number) => (performance.now() - since) / 1000

const replay = (text: string) => {
  const history: History = JSON.parse(text.startsWith("{") ? text : readFileSync(text, "utf8"))
  const { simulated, steps } = run(history, { log: (line) => console.log(line()) })
  console.log(`nothing is wrong: ${steps} steps, ${simulated} ms`)
}

const simulate = async () => {
  const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
  const begin = performance.now()
  const { coverage, failure, histories, simulated, steps } = await runMany({
    histories: Number(values.histories),
    seed
  })
  const seconds = inSeconds(begin)
  if (values.coverage) for (const [what, times] of [...coverage].sort()) console.log(`${what}: ${times}`)
  const hours = simulated / 3_600_000
  console.log(
    `seed ${seed}: ${histories} histories, ${steps} steps, ${hours.toFixed(0)} hours in ${seconds.toFixed(1)} s ` +
      `(${(hours / seconds).toFixed(1)} hours per second)`
  )
  if (failure === undefined) return
  console.error(failure)
  process.exitCode = 1
}

if (values.replay === undefined) await simulate()
else replay(values.replay)
// simulated servers that never close would keep the process alive
process.exit()
