/**
 * Changes the code in small ways and checks that a test notices each change:
 *
 *     npm run mutate                              all groups; takes more than an hour on two cores
 *     npm run mutate -- domain src/domain/X.ts    some files of a group
 *
 * A mutant that no test notices must be listed in `test/mutation/survivors.json` with the reason. Exits with 1 if one is not
 * listed, or if the score of a file is below its target. The report of each group is `reports/mutation-GROUP.json`.
 */
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { judge } from "./mutationScore.mjs"

const groups = {
  domain: ["src/domain/**/*.ts"],
  supervision: [
    "src/supervision/calls/Calls.ts",
    "src/supervision/calls/request.ts",
    "src/supervision/calls/CallQueue.ts"
  ]
}

const [group, ...files] = process.argv.slice(2)
if (group !== undefined && !Object.hasOwn(groups, group)) {
  process.stderr.write(`unknown group "${group}"; the groups are ${Object.keys(groups).join(" and ")}\n`)
  process.exit(2)
}

const read = (path) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), "utf8"))
const listed = read("test/mutation/survivors.json")

let isMissed = false
for (const name of group === undefined ? Object.keys(groups) : [group]) {
  const mutate = (files.length === 0 ? groups[name] : files).join(",")
  // laws run with few cases: a mutant that is only found with many cases needs a better law
  const env = { LAWS: "0.3", ...process.env, MUTATE: name }
  const { status } = spawnSync("npx", ["stryker", "run", "--mutate", mutate], { stdio: "inherit", env })
  if (status !== 0) process.exit(status ?? 1)
  const { isMet, lines } = judge(read(`reports/mutation-${name}.json`), listed)
  process.stdout.write(`\n${lines.join("\n")}\n`)
  isMissed ||= !isMet
}
process.exit(isMissed ? 1 : 0)
