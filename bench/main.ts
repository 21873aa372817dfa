/**
 * Compares our sessions and our supervisor with the SDK's client on the same servers: `npm run bench`. See `bench/README.md`.
 *
 * Only the files that control the measurement run in vite-node. The contenders run in plain Node, ours from the build, as users run
 * them: vite-node makes imported bindings slower.
 */
import { existsSync } from "node:fs"
import { loadavg } from "node:os"
import { calls } from "./calls.js"
import { catalog } from "./catalog.js"
import { config } from "./config.js"
import { manyServers } from "./manyServers.js"
import { memory } from "./memory.js"
import { options } from "./options.js"
import { endAll } from "./processes.js"
import { recovery } from "./recovery.js"
import { program } from "./program.js"
import { machine, type Row, type Section, summary, table } from "./report.js"
import { startUp } from "./startUp.js"

/** Ends this process, and with it all child processes, if a contender hangs. */
setTimeout(() => {
  console.error("this takes too long")
  process.exit(1)
}, 900_000).unref()
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1))

/** Profiling slows down and makes figures of memory useless, so only calls are profiled. */
const sections =
  options.profile === undefined ? [calls, startUp, catalog, recovery, config, program, manyServers, memory] : [calls]

const isWanted = (name: string): boolean => name.includes(options.only)

/** The rows of the selected parts. */
const measured = async ({ name, parts }: Section): Promise<ReadonlyArray<Row>> => {
  const rows: Array<Row> = []
  for (const part of parts.filter((part) => isWanted(name) || isWanted(part.name))) {
    process.stderr.write(`${name}: ${part.name} ...\n`)
    rows.push(...(await part.measure()))
  }
  return rows
}

const main = async (): Promise<void> => {
  if (!existsSync(options.dist)) throw new Error(`there is no build in ${options.dist}: npm run build`)
  const from = Date.now()
  const load = loadavg()
  const tables: Array<string> = []
  const all: Array<Row> = []
  for (const section of sections) {
    const rows = await measured(section)
    all.push(...rows)
    if (rows.length > 0) tables.push(`### ${section.name}\n\n${table(rows)}`)
  }
  const loads = [load, loadavg()].map(([one]) => one!.toFixed(1)).join(" before, ")
  console.log(`${machine()}, load average ${loads} after, ${Math.round((Date.now() - from) / 1000)} s\n`)
  console.log(`${tables.join("\n\n")}\n\n${summary(all)}`)
}

try {
  await main()
} finally {
  await endAll()
}
