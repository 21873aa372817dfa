/**
 * Kills a server between two calls and measures whether and when the second call succeeds.
 */
import { effort } from "./options.js"
import { jsonByHand, type Place, sseOfSdk, stdioByHand } from "./places.js"
import { ended, retire, startContender, startHttp, stdioTarget } from "./processes.js"
import type { Row, Section } from "./report.js"
import type { Child } from "./child.js"

const { rounds } = effort.recovery

/** Milliseconds. */
const target = 300

/** The outcome of a call. */
interface Outcome {
  readonly millis: number
  readonly error?: string | undefined
}

/** Kills a server and makes the first call after that. */
type Accident = (supervisor: Child) => Promise<Outcome>

const onStdio =
  ({ module }: Place): Accident =>
  async (supervisor) => {
    await supervisor.ask("open", stdioTarget(module))
    await succeeds(supervisor)
    return (await supervisor.ask("killAndCall")) as Outcome
  }

/** Restarts a server on its port, without its sessions, before the call. */
const onHttp =
  ({ mode, module }: Place): Accident =>
  async (supervisor) => {
    const { child, urls } = await startHttp(module, mode)
    await supervisor.ask("open", { url: urls[0] })
    await succeeds(supervisor)
    await child.kill()
    await ended(child)
    const { child: successor } = await startHttp(module, mode, { port: Number(new URL(urls[0]!).port) })
    const outcome = (await supervisor.ask("call")) as Outcome
    await ended(successor)
    return outcome
  }

const succeeds = async (supervisor: Child): Promise<void> => {
  const { error } = (await supervisor.ask("call")) as Outcome
  if (error !== undefined) throw new Error(`a call before the accident failed: ${error}`)
}

const measure = async (place: Place): Promise<ReadonlyArray<Row>> => {
  const isLocal = place.kind === "stdio"
  const accident = isLocal ? onStdio(place) : onHttp(place)
  const supervisor = await startContender("supervised")
  const outcomes: Array<Outcome> = []
  for (let round = 0; round < rounds; round += 1) {
    const outcome = await accident(supervisor)
    if (outcome.error !== undefined) process.stderr.write(`${outcome.error}\n`)
    outcomes.push(outcome)
    // a new server for each round: a server that is killed again and again is not restarted at once
    await supervisor.ask("close")
  }
  await retire(supervisor)

  const row = { server: place.name, who: "supervisor" }
  const event = isLocal ? "killed, and called at once" : "killed and started again, and called then"
  const succeeded = outcomes.filter(({ error }) => error === undefined).length
  return [
    {
      ...row,
      measure: `${event}: until the call succeeds`,
      unit: "ms",
      better: "less",
      figures: outcomes.map(({ error, millis }) => (error === undefined ? millis : Number.POSITIVE_INFINITY)),
      target: isLocal ? { figure: target } : undefined
    },
    {
      ...row,
      measure: `${event}: first tries that succeed, of ${rounds}`,
      unit: "%",
      better: "more",
      figures: [(succeeded / rounds) * 100],
      target: { figure: 100 }
    }
  ]
}

export const recovery: Section = {
  name: "recovery",
  parts: [stdioByHand, jsonByHand, sseOfSdk].map((place) => ({ name: place.name, measure: () => measure(place) }))
}
