/** Writes the page of guarantees: how each is tested, and the figures that `npm run break -- --record` and `npm run soak` wrote. */
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
    text: "A misbehaving server affects only itself: its status and errors are typed, other servers respond, and nothing of it is left.",
    campaigns: ["hostile"],
    tests: [
      "test/live/supervision/hostileLibrary.test.ts",
      "test/live/supervision/hostileDaemon.test.ts",
      "test/hostile/modes.ts"
    ],
    checked: `all modes over all transports, in the library and in the daemon, in the small size. CI machines are busy, so the limits are wider: a call to a correct server may take ${seconds(ci.catalogue.goodMs)}, the shutdown ${seconds(ci.catalogue.closeMs)}.`
  },
  {
    text: "During any flood by one server, a call to another server returns within 250 ms or 3 times its p99 without load, stopping a server or the supervisor takes at most 5.5 s, and the supervisor stays below 300 MB.",
    campaigns: ["floods"],
    tests: [
      "test/live/supervision/floods.test.ts",
      "test/live/supervision/hostileLibrary.test.ts",
      "test/live/supervision/hostileDaemon.test.ts"
    ],
    checked: `CI machines are busy, so the time limits there only distinguish "blocked" from "not blocked"; \`npm run break\` measures exact times. The first test runs several floods at once: calls within 2 s and shutdown within 5 s on an idle machine, in proportion to the time of a call before the flood on a busy one, 300 MB. The others run every flood of the catalogue, six at once and all in sequence in one supervisor: 99 of 100 calls within ${seconds(ci.floods.goodMs)}, stopping the servers and the shutdown within ${seconds(ci.floods.stopMs)}, ${ci.floods.megabytes} MB.`
  },
  {
    text: "After `kill -9` of the daemon or of a program with a supervisor, none of its processes is left after 3 s even if no command follows, no file is corrupt, and the next start works.",
    campaigns: ["kills"],
    tests: [
      "test/live/alone/guard.test.ts",
      "test/live/supervision/campaigns.test.ts",
      "test/live/connection/childLedger.test.ts"
    ]
  },
  {
    text: "Every call settles with its own result or a typed error, even while servers are killed, and every call with a result was executed exactly once.",
    campaigns: ["load"],
    tests: ["test/live/supervision/campaigns.test.ts", "test/laws/simulation/simulation.test.ts"]
  },
  {
    text: "An interrupted call returns at once, and the server receives exactly one cancellation for each call it has received.",
    campaigns: ["interrupts"],
    tests: ["test/live/supervision/campaigns.test.ts"]
  },
  {
    text: "In whatever way a config file is written, no call is lost, no unchanged server is restarted, and the last edit is applied.",
    campaigns: ["config-churn"],
    tests: ["test/live/supervision/campaigns.test.ts", "test/live/config/watch.test.ts"]
  },
  {
    text: "Every request to the API that is valid HTTP gets a response, never with status 500; every error has the documented form, and no descriptor stays open.",
    campaigns: ["api-fuzz"],
    tests: ["test/live/supervision/campaigns.test.ts", "test/live/control/strangers.test.ts"]
  },
  {
    text: "Every command line ends with an exit code from 0 to 3, prints valid JSON with `--json`, reports errors on stderr, and never prints a stack trace.",
    campaigns: ["cli-fuzz"],
    tests: ["test/live/supervision/campaigns.test.ts"]
  },
  {
    text: "A signal at any time ends any command in order within 5 s; a second signal ends it at once. The exit code is 130, 143 or 129, and no process is left behind.",
    campaigns: ["signals"],
    tests: ["test/live/supervision/campaigns.test.ts", "test/live/supervision/hostSignals.test.ts"]
  },
  {
    text: "Memory, descriptors and fibers do not grow over time: after the warm-up of a soak, by at most 10 MB, 15 descriptors and 60 fibers.",
    campaigns: ["soak"],
    tests: ["test/live/supervision/leaks.test.ts"]
  },
  {
    text: "In every simulated history the supervisor obeys its laws, recovers, and leaves nothing behind after a shutdown.",
    campaigns: [],
    tests: [
      "test/laws/simulation/simulation.test.ts",
      "test/laws/lifecycle.test.ts",
      "test/laws/lifecycleCommands.test.ts",
      "test/laws/lifecycleRetries.test.ts",
      "test/laws/lifecycleStatus.test.ts"
    ]
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

/** The missing results as sentences: each campaign needs a large run, and the soak a long one, without a violation. */
export const missing = ({ results }: Recorded, campaigns: ReadonlyArray<string>): ReadonlyArray<string> =>
  [...campaigns, "soak"].flatMap((name) => {
    const result = results.find((each) => each.name === name)
    if (result === undefined) return [`${name} is not recorded`]
    if (result.violations.length > 0) return [`${name} did not hold: ${result.violations[0]}`]
    const isLarge = name === "soak" ? result.seconds >= leastSoak : result.size === "large"
    return isLarge ? [] : [`${name} is recorded with the size ${result.size}`]
  })

/** Seconds after which growth can be distinguished from the warm-up. */
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

This page lists the guarantees, the tests of each, and the figures that a campaign measured; *held* means that it found no
violation. \`npm run generate\` writes the page from [reliability.json](reliability.json), which
\`npm run break -- --size large --record\` and \`npm run soak -- --record\` write.

| Guarantee | Tested on every change by | Figures |
| --- | --- | --- |
${rows.join("\n")}

Measured on: ${machine}.

## Programs

- \`npm run break\` runs the campaigns, which attack a supervisor with random actions that depend on \`--seed\`. \`--only NAME\`
  runs one campaign, \`--size large\` runs the long form, and \`--seconds N\` limits the time of each campaign. If a guarantee does
  not hold, or a campaign does not end, the program exits with code 1 and prints the command that reproduces the failure. CI runs
  each campaign in its small size, except \`floods\` and \`hostile\`, which have tests of their own.
- \`npm run soak -- --minutes N\` runs a supervisor under calls, kills and config changes, draws memory, descriptors, fibers and
  events as an SVG, and reports whether memory grows.
- \`npm run simulate\` runs histories of a whole supervisor in virtual time; see [testing](testing.md#a-simulation).
- The [catalogue of misbehaviours](../test/hostile/modes.ts) has one row for each kind of broken or hostile server, with the
  expected outcome. \`npm run break -- --only hostile --size large\` also runs, one by one, the messages and lists that exist in a
  large size.
- [Attacks](attacks.md) lists the attacks that once had an effect, each with its tests.
`
}
