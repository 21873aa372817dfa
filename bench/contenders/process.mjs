// Runs one contender in a child process, which executes one command of its parent at a time.
import { setTimeout as sleep } from "node:timers/promises"

const [name, dist, stateDir] = process.argv.slice(2)
const contender = await (await import(`./${name}.mjs`)).make(dist, stateDir)
const args = { text: "hello" }
let connection

const check = (content) => {
  if (content[0]?.text !== args.text) throw new Error("that is not what was sent")
}

const textOf = (error) => (error instanceof Error ? (error.stack ?? error.message) : String(error))

/** The memory in use after garbage collection. */
const memory = async () => {
  for (let round = 0; round < 5; round += 1) {
    await sleep(50)
    globalThis.gc()
  }
  return process.memoryUsage()
}

// --- calls ----------------------------------------------------------------------------------------------------------

const open = async (target) => {
  connection = await contender.open(target)
}

/** Runs a number of callers for a time. */
const run = async (count, millis) => {
  const latencies = []
  const told = (latency, content) => {
    check(content)
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

/** Makes one call, which may fail, and measures it in milliseconds. */
const call = async (from = performance.now()) => {
  try {
    check((await connection.call(args)).content)
    return { millis: performance.now() - from }
  } catch (error) {
    return { millis: performance.now() - from, error: textOf(error) }
  }
}

/** Kills the server's process and calls the server at once. */
const killAndCall = async () => {
  const pid = await connection.pid()
  if (!(pid > 0)) throw new Error("there is no process to kill")
  const from = performance.now()
  process.kill(pid, "SIGKILL")
  return call(from)
}

const close = () => connection.close()

// --- many servers ---------------------------------------------------------------------------------------------------

/** Milliseconds until all given servers are ready. */
const startUp = async (targets, awaited) => {
  await contender.load()
  const started = await contender.start(targets)
  await started.ready(awaited)
  const elapsed = performance.now() - started.from
  await started.close()
  return elapsed
}

/** Milliseconds until the program with these servers can continue. */
const build = async (targets, isLoaded) => {
  if (isLoaded) await contender.load()
  const { built, close, from } = await contender.start(targets)
  await close()
  return built - from
}

/** Milliseconds until all tools are listed for the first time, and for each later listing. */
const lists = async (targets, tools, repeats) => {
  await contender.load()
  const started = await contender.start(targets)
  await started.ready(Object.keys(targets))
  const list = async () => {
    const found = await started.list()
    if (found !== tools) throw new Error(`there are ${found} tools instead of ${tools}`)
  }
  await list()
  const first = performance.now() - started.from
  const again = []
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    const from = performance.now()
    await list()
    again.push(performance.now() - from)
  }
  await started.close()
  return { first, again }
}

// --- memory ---------------------------------------------------------------------------------------------------------

/** The heap in bytes of one more open and used connection, after a warm-up. */
const heapPerConnection = async (target, count) => {
  const openMany = async () => {
    const all = []
    for (let each = 0; each < count; each += 1) {
      await open(target)
      check((await connection.call(args)).content)
      all.push(connection)
    }
    return all
  }
  const closeAll = (all) => Promise.all(all.map(({ close }) => close()))
  await closeAll(await openMany())
  const before = await memory()
  const all = await openMany()
  const after = await memory()
  await closeAll(all)
  return (after.heapUsed - before.heapUsed) / count
}

/** The resident memory in bytes of one connected server whose tools are listed. */
const residentPerServer = async (first, targets) => {
  const connected = async (some) => {
    const started = await contender.start(some)
    await started.ready(Object.keys(some))
    await started.list()
    return started
  }
  const warm = await connected(first)
  const before = await memory()
  const started = await connected(targets)
  const after = await memory()
  await started.close()
  await warm.close()
  return (after.rss - before.rss) / Object.keys(targets).length
}

const methods = {
  open,
  run,
  call,
  killAndCall,
  close,
  startUp,
  build,
  lists,
  heapPerConnection,
  residentPerServer,
  end: () => contender.end()
}

process.on("message", async ({ method, parameters }) => {
  try {
    process.send({ value: await methods[method](...parameters) })
  } catch (error) {
    process.send({ error: textOf(error) })
  }
})
process.on("disconnect", () => process.exit())
process.send({ value: "ready" })
