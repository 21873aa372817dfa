import { flood, floodViolations, p99 } from "../hostile/floods.js"
import { floods as subjects } from "../hostile/groups.js"
import { daemon, library, peakOf } from "../hostile/surface.js"
import type { Campaign } from "./campaign.js"

export const floods: Campaign = {
  name: "floods",
  guarantee:
    "During any flood of one server, a call to another answers within 250 ms or 3 times its quiet p99, a stop stays within the shutdown budget, and the supervisor below 300 MB.",
  run: async ({ log, random, size }) => {
    const violations: Array<string> = []
    let slowest = 0
    let slowestStop = 0
    let peak = 0
    const chosen = size === "large" ? subjects : [0, 1, 2].map(() => random.pick(subjects))
    const quiets: Array<number> = []
    // a supervisor for each, so that one flood is not blamed for another
    for (const subject of chosen)
      for (const [surface, open] of [["library", library] as const, ["daemon", daemon] as const]) {
        log(`${subject.transport} ${subject.name} in the ${surface}`)
        const { closed, each, quiet } = await flood(open, [[subject]], size === "large" ? 5_000 : 1_500, peakOf)
        const bounds = { goodMs: Math.max(250, 3 * p99(quiet)), stopMs: 5_500, megabytes: 300 }
        violations.push(...floodViolations({ closed, each }, bounds).map((sentence) => `${surface}: ${sentence}`))
        quiets.push(p99(quiet))
        for (const { good, megabytes, stopMs } of each) {
          slowest = Math.max(slowest, p99(good))
          slowestStop = Math.max(slowestStop, stopMs)
          peak = Math.max(peak, megabytes)
        }
      }
    return {
      figures: {
        floods: chosen.length,
        "quiet p99 ms": Math.max(...quiets),
        "slowest p99 ms": slowest,
        "slowest stop ms": slowestStop,
        "peak MB": peak
      },
      violations
    }
  }
}
