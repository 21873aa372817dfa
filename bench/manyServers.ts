/**
 * Measures the longest turn of the event loop while many servers fail, and the time of a change of one among many.
 */
import { start } from "./child.js"
import { dist, effort } from "./options.js"
import type { Row, Section } from "./report.js"

const { changes, count, few, rounds } = effort.manyServers

const targets = { turn: 50, change: 2 }

const measure = async (kind: "refused" | "missing", server: string): Promise<ReadonlyArray<Row>> => {
  const figures: Array<number> = []
  for (let round = 0; round < rounds; round += 1) {
    const child = await start("contenders/manyServers.mjs", [dist, kind, String(count)])
    figures.push((child.first as { readonly longest: number }).longest)
    await child.end()
  }
  const measure = `longest turn of the event loop until ${count} servers have failed`
  return [{ server, measure, unit: "ms", better: "less", who: "supervisor", figures, target: { figure: targets.turn } }]
}

/** The time to add and remove one server among many, compared with few. */
const measureChange = async (): Promise<ReadonlyArray<Row>> => {
  const figures: Array<number> = []
  const amongFew: Array<number> = []
  const round = async (count: number, into: Array<number>) => {
    const child = await start("contenders/oneServer.mjs", [dist, String(count), String(changes)])
    into.push((child.first as { readonly typical: number }).typical)
    await child.end()
  }
  for (let each = 0; each < rounds; each += 1) {
    await round(few, amongFew)
    await round(count, figures)
  }
  return [
    {
      server: "disabled",
      measure: `add and remove one among ${count}`,
      unit: "µs",
      better: "less",
      who: "supervisor",
      figures,
      than: { who: `among ${few}`, figures: amongFew },
      target: { ratio: targets.change }
    }
  ]
}

export const manyServers: Section = {
  name: "many servers",
  parts: [
    { name: "HTTP, refused", measure: () => measure("refused", "HTTP, refused") },
    { name: "stdio, no such command", measure: () => measure("missing", "stdio, no such command") },
    { name: "one of many", measure: measureChange }
  ]
}
