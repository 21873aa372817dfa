/**
 * Measures the memory of an open connection: heap and process.
 */
import { effort } from "./options.js"
import { jsonByHand, type Place, serverAt, sseByHand } from "./places.js"
import { askFresh, ended, startHttp } from "./processes.js"
import type { Row, Section } from "./report.js"
import { inTurns } from "./rounds.js"

const { connections, rounds } = effort.memory

const targets = { heap: 1.3, resident: 1.3 }

const nodeOptions = ["--expose-gc"]

const measureHeap = async (place: Place): Promise<Row> => {
  const server = await serverAt(place)
  const kilobytes = await inTurns(
    rounds,
    ["ours", "sdk"],
    async (name) => Number(await askFresh(name, nodeOptions, "heapPerConnection", server.target, connections)) / 1024
  )
  await server.end()
  return {
    server: place.name,
    measure: `one of ${connections} connections to one server`,
    unit: "kB heap",
    better: "less",
    who: "session",
    figures: kilobytes.ours,
    than: { who: "SDK", figures: kilobytes.sdk },
    target: { ratio: targets.heap }
  }
}

const measureResident = async ({ mode, module, name: server }: Place): Promise<Row> => {
  const { child, urls } = await startHttp(module, mode, { count: connections + 1 })
  const [first, ...others] = urls.map((url, index) => [`server${index}`, { url }] as const)
  const question = [Object.fromEntries([first!]), Object.fromEntries(others)] as const
  const kilobytes = await inTurns(
    rounds,
    ["supervised", "sdk"],
    async (name) => Number(await askFresh(name, nodeOptions, "residentPerServer", ...question)) / 1024
  )
  await ended(child)
  return {
    server,
    measure: `one of ${connections} servers, its tools listed`,
    unit: "kB RSS",
    better: "less",
    who: "supervisor",
    figures: kilobytes.supervised,
    than: { who: "SDK", figures: kilobytes.sdk },
    target: { ratio: targets.resident }
  }
}

export const memory: Section = {
  name: "memory",
  parts: [jsonByHand, sseByHand].map((place) => ({
    name: place.name,
    measure: async () => [await measureHeap(place), await measureResident(place)]
  }))
}
