// One contender in a process of its own: it does what the parent says, one thing at a time.
import { setTimeout as sleep } from "node:timers/promises"

const [name, dist] = process.argv.slice(2)
const contender = await (await import(`./${name}.mjs`)).make(dist)
const args = { text: "hello" }
let connection

/** Lets some callers call for so long. */
const run = async (count, millis) => {
  const latencies = []
  const told = (latency, content) => {
    if (content[0]?.text !== args.text) throw new Error("that is not what was sent")
    latencies.push(latency)
  }
  const cpu = process.cpuUsage()
  const from = performance.now()
  await connection.callers(count, from + millis, args, told)
  const elapsed = performance.now() - from
  const { system, user } = process.cpuUsage(cpu)
  latencies.sort((a, b) => a - b)
  return {
    calls: latencies.length,
    p50: latencies[latencies.length >> 1],
    perSecond: (latencies.length / elapsed) * 1000,
    cpu: (system + user) / latencies.length
  }
}

/** What is left when everything that can go has gone. */
const heap = async () => {
  for (let round = 0; round < 5; round += 1) {
    await sleep(50)
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}

const methods = {
  open: async (target) => {
    connection = await contender.open(target)
  },
  run,
  /** The bytes of heap one more open connection takes that has been used, when the code that opens them is warm. */
  heapPerConnection: async (target, count) => {
    const openMany = async () => {
      const open = []
      for (let each = 0; each < count; each += 1) {
        connection = await contender.open(target)
        await run(1, 1)
        open.push(connection)
      }
      return open
    }
    const closeAll = (open) => Promise.all(open.map(({ close }) => close()))
    await closeAll(await openMany())
    const before = await heap()
    const open = await openMany()
    const after = await heap()
    await closeAll(open)
    return (after - before) / count
  },
  end: () => contender.end()
}

process.on("message", async ({ method, parameters }) => {
  try {
    process.send({ value: await methods[method](...parameters) })
  } catch (error) {
    process.send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
})
process.on("disconnect", () => process.exit())
process.send({ value: "ready" })
