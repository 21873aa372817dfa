/**
 * Measures calls of one tool: the time of one, the number per second, and the client's processor time.
 */
import { resolve } from "node:path"
import type { Child } from "./child.js"
import { effort, options } from "./options.js"
import { type Place, places, serverAt } from "./places.js"
import { type Contender, retire, startContender } from "./processes.js"
import type { Row, Section } from "./report.js"
import { inTurns } from "./rounds.js"

const { inFlight, rounds, sequential, warmUp: warmUpCalls } = effort.calls

const callers = 64

const names: ReadonlyArray<Contender> = ["ours", "supervised", "sdk"]

/** Ratios to the SDK. */
const targets = {
  ours: { stdio: { p50: 0.8, perSecond: 2 }, http: { p50: 0.6, perSecond: 2 } },
  supervised: { stdio: { p50: 1, perSecond: 1.5 }, http: { p50: 0.8, perSecond: 1.5 } }
}

const labels = { ours: "session", supervised: "supervisor" }

interface Figures {
  readonly calls: number
  readonly p50: number
  readonly perSecond: number
  /** Microseconds of the client's own processor time per call. */
  readonly cpu: number
}

const profiling = (name: Contender, place: Place): ReadonlyArray<string> =>
  options.profile === undefined
    ? []
    : [
        "--cpu-prof",
        `--cpu-prof-dir=${resolve(options.profile)}`,
        `--cpu-prof-name=${`${name} ${place.name}`.replace(/\W+/g, "-")}.cpuprofile`
      ]

const run = async (contender: Child, count: number, millis: number): Promise<Figures> =>
  (await contender.ask("run", count, millis)) as Figures

/** The engine optimises code after a number of calls, not after a time; the time limit is for busy machines. */
const warmUp = async (contender: Child): Promise<void> => {
  for (let calls = 0, turns = 0; calls < warmUpCalls && turns < 10; turns += 1) {
    calls += (await run(contender, turns % 2 === 0 ? callers : 1, 200)).calls
  }
}

const measure = async (place: Place): Promise<ReadonlyArray<Row>> => {
  const server = await serverAt(place)
  const contenders = {} as Record<Contender, Child>
  for (const name of names) {
    contenders[name] = await startContender(name, profiling(name, place))
    await contenders[name].ask("open", server.target)
    await warmUp(contenders[name])
  }
  const alone = await inTurns(rounds, names, (name) => run(contenders[name], 1, sequential))
  const many = await inTurns(rounds, names, (name) => run(contenders[name], callers, inFlight))
  for (const name of names) await retire(contenders[name])
  await server.end()

  const rows = (
    figures: Record<Contender, ReadonlyArray<Figures>>,
    figure: keyof Figures,
    rest: Pick<Row, "measure" | "unit" | "better">
  ): ReadonlyArray<Row> =>
    (["ours", "supervised"] as const).map((name) => ({
      ...rest,
      server: place.name,
      who: labels[name],
      figures: figures[name].map((each) => each[figure]),
      than: { who: "SDK", figures: figures.sdk.map((each) => each[figure]) },
      target: figure === "p50" || figure === "perSecond" ? { ratio: targets[name][place.kind][figure] } : undefined
    }))
  return [
    ...rows(alone, "p50", { measure: "one call after the other", unit: "p50 ms", better: "less" }),
    ...rows(many, "perSecond", { measure: `${callers} in flight`, unit: "calls/s", better: "more" }),
    ...rows(many, "cpu", { measure: `${callers} in flight`, unit: "client µs CPU/call", better: "less" })
  ]
}

export const calls: Section = {
  name: "calls",
  parts: places.map((place) => ({ name: place.name, measure: () => measure(place) }))
}
