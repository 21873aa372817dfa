/**
 * Many servers that fail at the same time: how long the event loop does not turn meanwhile.
 */
import { start } from "./child.js"
import { dist, effort } from "./options.js"
import type { Row, Section } from "./report.js"

const { count, rounds } = effort.manyServers

const targets = { turn: 50 }

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

export const manyServers: Section = {
  name: "many servers",
  parts: [
    { name: "HTTP, refused", measure: () => measure("refused", "HTTP, refused") },
    { name: "stdio, no such command", measure: () => measure("missing", "stdio, no such command") }
  ]
}
