/**
 * Measures the start of many servers on stdio: the time until all are ready, and until the layer is built.
 */
import { effort } from "./options.js"
import { askFresh, stdioTarget, type Target } from "./processes.js"
import type { Row, Section } from "./report.js"
import { inTurns } from "./rounds.js"

const { rounds } = effort.startUp

const targets = { ready: 1.1, withSilent: 1.1, built: 50 }

const named = (prefix: string, count: number, target: Target): Readonly<Record<string, Target>> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index + 1}`, target]))

const good = (count: number) => named("good", count, stdioTarget("servers/minimalStdio.mjs"))
const silent = (count: number) => named("silent", count, stdioTarget("servers/silentStdio.mjs"))

const measureReady = async (): Promise<ReadonlyArray<Row>> => {
  const servers = good(20)
  const awaited = Object.keys(servers)
  // the server that never answers is started first, where it can delay the others
  const withSilent = { ...silent(1), ...servers }
  const figures = await inTurns(rounds, ["sdk", "supervised", "withSilent"], async (name) =>
    Number(
      name === "withSilent"
        ? await askFresh("supervised", [], "startUp", withSilent, awaited)
        : await askFresh(name, [], "startUp", servers, awaited)
    )
  )
  const row = { server: "stdio, by hand", unit: "ms", better: "less", who: "supervisor" } as const
  return [
    {
      ...row,
      measure: "20 servers until all are ready",
      figures: figures.supervised,
      than: { who: "SDK", figures: figures.sdk },
      target: { ratio: targets.ready }
    },
    {
      ...row,
      measure: "the same 20 beside one that never answers",
      figures: figures.withSilent,
      than: { who: "without it", figures: figures.supervised },
      target: { ratio: targets.withSilent }
    }
  ]
}

const measureBuild = async (): Promise<ReadonlyArray<Row>> => {
  const servers = { ...silent(10), ...good(40) }
  const figures = await inTurns(rounds, ["loaded", "unloaded"], async (name) =>
    Number(await askFresh("supervised", [], "build", servers, name === "loaded"))
  )
  const row = { server: "stdio, 10 of 50 never answer", unit: "ms", better: "less", who: "supervisor" } as const
  return [
    { ...row, measure: "until the layer is built", figures: figures.loaded, target: { figure: targets.built } },
    { ...row, measure: "the same, and loads the SDK first", figures: figures.unloaded }
  ]
}

export const startUp: Section = {
  name: "start-up",
  parts: [
    { name: "20 servers on stdio", measure: measureReady },
    { name: "layer of 50 servers on stdio", measure: measureBuild }
  ]
}
