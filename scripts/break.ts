/**
 * Tries to break a supervisor:
 *
 *     npm run break
 *     npm run break -- --only kills --seed 7 --size large
 *     npm run break -- --size large --record     writes the figures of docs/reliability.md
 *
 * Exits with 1 if a guarantee did not hold, and prints the command that repeats the run.
 */
import { parseArgs } from "node:util"
import type { Size } from "../test/campaigns/campaign.js"
import { campaigns, replay, type Run, runCampaign } from "../test/campaigns/campaigns.js"
import { record, type Result } from "./reliability.js"

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    size: { type: "string", default: "small" },
    seconds: { type: "string" },
    only: { type: "string", multiple: true },
    record: { type: "boolean", default: false },
    quiet: { type: "boolean", default: false }
  }
})

const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed)
const seconds = values.seconds === undefined ? undefined : Number(values.seconds)
const chosen = campaigns.filter(({ name }) => values.only === undefined || values.only.includes(name))
if (chosen.length === 0 || !["small", "large"].includes(values.size) || Number.isNaN(seed)) {
  console.error(`--only takes ${campaigns.map(({ name }) => name).join(", ")}; --size takes small or large`)
  process.exit(2)
}

const run: Run = {
  seed,
  size: values.size as Size,
  seconds,
  log: (line) => {
    if (!values.quiet) console.error(`  ${line}`)
  }
}
console.error(`seed ${seed}, size ${run.size}`)

const results: Array<Result> = []
for (const campaign of chosen) {
  console.error(campaign.name)
  const begin = performance.now()
  const { figures, violations } = await runCampaign(campaign, run)
  const took = Math.round((performance.now() - begin) / 1000)
  results.push({ name: campaign.name, seed, size: run.size, seconds: took, figures, violations })
}

console.log("\ncampaign      held  seconds  figures")
for (const { figures, name, seconds, violations } of results) {
  const shown = Object.entries(figures).map(([what, value]) => `${what} ${value}`)
  console.log(
    `${name.padEnd(14)}${violations.length === 0 ? "yes " : "NO  "}  ${String(seconds).padStart(7)}  ${shown.join(", ")}`
  )
}
for (const campaign of chosen) {
  const { violations } = results.find(({ name }) => name === campaign.name)!
  if (violations.length === 0) continue
  console.log(`\n${campaign.name}: ${campaign.guarantee}`)
  for (const violation of violations.slice(0, 30)) console.log(`  - ${violation}`)
  if (violations.length > 30) console.log(`  - and ${violations.length - 30} more`)
  console.log(`  again: ${replay(campaign, run)}`)
}
if (values.record) record(results)
process.exit(results.some(({ violations }) => violations.length > 0) ? 1 : 0)
