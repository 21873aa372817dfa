/** The page of guarantees: how each is tested, and the figures that `npm run break -- --record` and `npm run soak` wrote. */
import { readFileSync, writeFileSync } from "node:fs"
import { cpus } from "node:os"
import { ci } from "../test/hostile/bounds.js"

export interface Result {
  readonly name: string
  readonly seed: number
  readonly size: string
  readonly seconds: number
  readonly figures: Readonly<Record<string, number | string>>
  readonly violations: ReadonlyArray<string>
}

export interface Recorded {
  /** Where the newest figures were measured. */
  readonly machine: string
  readonly results: ReadonlyArray<Result>
}

interface Guarantee {
  readonly text: string
  /** Campaigns of `npm run break`, or `soak`. */
  readonly campaigns: ReadonlyArray<string>
  /** Files of the repository that test it on every change. */
  readonly tests: ReadonlyArray<string>
  /** Where they check less than the guarantee says: what they check, and why. */
  readonly checked?: string
}

const seconds = (ms: number) => `${ms / 1000} s`

export const guarantees: ReadonlyArray<Guarantee> = [
  {
    text: "A server that misbehaves affects only itself: its status and errors are typed, other servers answer, nothing of it is left.",
    campaigns: ["hostile"],
    tests: ["test/live/hostileLibrary.test.ts", "test/live/hostileDaemon.test.ts", "test/hostile/modes.ts"],
    checked: `every mode over every transport, in the library and in the daemon, with its small size. CI machines are busy: a call to the good server may take ${seconds(ci.catalogue.goodMs)}, the shutdown ${seconds(ci.catalogue.closeMs)}.`
  },
  {
    text: "During any flood of one server, a call to another answers within 250 ms or 3 times its quiet p99, a stop stays within the shutdown budget, and the supervisor below 300 MB.",
    campaigns: ["floods"],
    tests: ["test/live/floods.test.ts", "test/live/hostileLibrary.test.ts", "test/live/hostileDaemon.test.ts"],
    checked: `CI machines are busy, so times there only tell "blocked" from "not blocked"; \`npm run break\` measures them. The first has several floods at once: calls within 2 s, an end within 5 s, 300 MB. The others have every flood of the catalogue, six at once and all one after the other in one supervisor: 99 of 100 calls within ${seconds(ci.floods.goodMs)}, a stop and the shutdown within ${seconds(ci.floods.stopMs)}, ${ci.floods.megabytes} MB.`
  },
  {
    text: "After `kill -9` of the daemon or of a program with a supervisor, none of its processes is left after 3 s without a further command, no file is corrupt, and the next start works.",
    campaigns: ["kills"],
    tests: ["test/live/alone/guard.test.ts", "test/live/campaigns.test.ts", "test/live/childLedger.test.ts"]
  },
  {
    text: "Every call settles with its own answer or a typed error, also while servers are killed, and what was answered was executed exactly once.",
    campaigns: ["load"],
    tests: ["test/live/campaigns.test.ts", "test/laws/simulation/simulation.test.ts"]
  },
  {
    text: "An interrupted call returns at once, and the server hears exactly one cancel for each call it has seen.",
    campaigns: ["interrupts"],
    tests: ["test/live/campaigns.test.ts"]
  },
  {
    text: "However a config file is written, no call is lost, no server is restarted that did not change, and the last edit is applied.",
    campaigns: ["config-churn"],
    tests: ["test/live/campaigns.test.ts", "test/live/configWatch.test.ts"]
  },
  {
    text: "Any request to the API gets an answer: no 500, every error in the documented shape, no descriptor left open.",
    campaigns: ["api-fuzz"],
    tests: ["test/live/campaigns.test.ts", "test/live/controlStrangers.test.ts"]
  },
  {
    text: "Any command line ends with an exit code from 0 to 3, prints valid JSON with `--json`, says on stderr why it failed, and never a stack trace.",
    campaigns: ["cli-fuzz"],
    tests: ["test/live/campaigns.test.ts"]
  },
  {
    text: "A signal at any moment ends any command in order within 5 s, a second one at once, with exit code 130, 143 or 129, and leaves no process.",
    campaigns: ["signals"],
    tests: ["test/live/campaigns.test.ts", "test/live/hostSignals.test.ts"]
  },
  {
    text: "Memory, descriptors and fibers do not grow with time.",
    campaigns: ["soak"],
    tests: ["test/live/supervisionLeaks.test.ts"]
  },
  {
    text: "The supervisor keeps its laws in every simulated history, recovers, and leaves nothing behind.",
    campaigns: [],
    tests: ["test/laws/simulation/simulation.test.ts", "test/laws/lifecycle.test.ts"]
  }
]

const file = new URL("../docs/reliability.json", import.meta.url)

export const recorded = (): Recorded => JSON.parse(readFileSync(file, "utf8")) as Recorded

/** Keeps the newest result of each campaign. */
export const record = (results: ReadonlyArray<Result>): void => {
  const names = new Set(results.map(({ name }) => name))
  const others = recorded().results.filter(({ name }) => !names.has(name))
  const order = guarantees.flatMap(({ campaigns }) => campaigns)
  const all = [...others, ...results].sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  const machine = `${cpus().length} cores, Node ${process.versions.node}, ${process.platform}`
  writeFileSync(file, `${JSON.stringify({ machine, results: all }, undefined, 2)}\n`)
  console.log("docs/reliability.json is written; npm run generate writes the page")
}

/** What has to be recorded and is not, as sentences: a large run of each campaign, and a soak, in which everything held. */
export const missing = ({ results }: Recorded, campaigns: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...campaigns, "soak"].flatMap((name) => {
    const result = results.find((each) => each.name === name)
    if (result === undefined) return [`${name} is not recorded`]
    if (result.violations.length > 0) return [`${name} did not hold: ${result.violations[0]}`]
    const isLarge = name === "soak" ? result.seconds >= leastSoak : result.size === "large"
    return isLarge ? [] : [`${name} is recorded with the size ${result.size}`]
  })

/** Seconds after which growth can be told from warming up. */
const leastSoak = 5 * 60

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")

const figuresOf = ({ figures, seconds, size, violations }: Result): string => {
  const shown = Object.entries(figures).map(
    ([what, value]) => `${what} ${typeof value === "number" ? value.toLocaleString("en") : value}`
  )
  const verdict = violations.length === 0 ? "held" : `**did not hold: ${violations.length} violations**`
  return `${verdict} (${size}, ${seconds} s): ${shown.join(", ")}`
}

const linked = (path: string) => `[${path.split("/").at(-1)}](../${path})`

export const reliabilityPage = (): string => {
  const { machine, results } = recorded()
  const rows = guarantees.map(({ campaigns, checked, tests, text }) => {
    const figures = campaigns.map((name) => {
      const result = results.find((each) => each.name === name)
      return `\`${name}\` ${result === undefined ? "not recorded" : figuresOf(result)}`
    })
    const how = `${tests.map(linked).join(", ")}${checked === undefined ? "" : `: ${checked}`}`
    return `| ${cell(text)} | ${cell(how)} | ${cell(figures.join("; "))} |`
  })
  return `# Reliability

What holds whatever happens, how it is tested, and what was measured. \`npm run generate\` writes this page from
[reliability.json](reliability.json), which \`npm run break -- --size large --record\` and \`npm run soak -- --record\` write.

| Guarantee | Tested on every change by | Figures |
| --- | --- | --- |
${rows.join("\n")}

Measured on: ${machine}.

## Programs

- \`npm run break\` runs the campaigns: they attack a supervisor with chance that \`--seed\` decides. \`--only NAME\` runs one,
  \`--size large\` is the long form, \`--seconds N\` limits the time of each. A guarantee that does not hold, or a campaign that
  does not end, makes it exit with 1 and print the command that does the same again. CI runs the small size of each; floods and
  the catalogue have tests of their own there.
- \`npm run soak -- --minutes N\` keeps a supervisor under calls, kills and config changes, draws memory, descriptors, fibers and
  events as an SVG, and says whether memory grows.
- \`npm run simulate\` runs histories of a whole supervisor in virtual time; see [testing](testing.md#a-simulation).
- The [catalogue of misbehaviours](../test/hostile/modes.ts) has one row for each way in which a server can be broken or
  hostile, with the outcome that is expected of it. \`npm run break -- --only hostile --size large\` also runs those of its
  messages and lists that have a large size in that size, one by one.
`
}
