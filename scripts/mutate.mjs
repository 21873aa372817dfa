/**
 * Changes the code in small ways and checks that a test notices each change: `npm run mutate [-- GROUP [FILE …]]`.
 * The report of each group is `reports/mutation-GROUP.json`. Not part of CI: it takes about an hour.
 */
import { spawnSync } from "node:child_process"

const groups = {
  domain: ["src/domain/**/*.ts"],
  supervision: ["src/supervision/Calls.ts", "src/supervision/request.ts", "src/supervision/Gate.ts"]
}

const [group, ...files] = process.argv.slice(2)
if (group !== undefined && !Object.hasOwn(groups, group)) {
  process.stderr.write(`unknown group "${group}"; the groups are ${Object.keys(groups).join(" and ")}\n`)
  process.exit(2)
}

for (const name of group === undefined ? Object.keys(groups) : [group]) {
  const mutate = (files.length === 0 ? groups[name] : files).join(",")
  // laws are tried a few times only: a mutant that needs many tries to be found needs a better law
  const env = { LAWS: "0.3", ...process.env, MUTATE: name }
  const words = ["stryker", "run", "--mutate", mutate]
  const { status } = spawnSync("npx", words, { stdio: "inherit", env })
  if (status !== 0) process.exit(status ?? 1)
}
