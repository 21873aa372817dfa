import { measured } from "../hostile/bounds.js"
import { flood, floodViolations, p99 } from "../hostile/floods.js"
import { floods as subjects } from "../hostile/groups.js"
import { daemon, library } from "../hostile/surface.js"
import type { Campaign } from "./campaign.js"

export const floods: Campaign = {
  name: "floods",
  guarantee:
    "During any flood by one server, a call to another server returns within 250 ms or 3 times its p99 without load, stopping a server or the supervisor takes at most 5.5 s, and the supervisor stays below 300 MB.",
  run: async ({ isOver, log, random, size }) => {
    const violations: Array<string> = []
    let slowest = 0
    let slowestStop = 0
    let slowestClose = 0
    let peak = 0
    let poured = 0
    let run = 0
    const over = (transport: string) => subjects.filter((each) => each.transport === transport)
    const chosen = size === "large" ? subjects : [random.pick(over("stdio")), random.pick(over("http"))]
    const quiets: Array<number> = []
    // one supervisor for each flood, so that floods do not affect each other
    for (const subject of chosen)
      for (const [surface, open] of [["library", library] as const, ["daemon", daemon] as const]) {
        if (isOver()) break
        log(`${subject.transport} ${subject.name} in the ${surface}`)
        const { closed, each, quiet } = await flood(open, [[subject]], size === "large" ? 5_000 : 1_500)
        const found = floodViolations({ closed, each }, measured.floods(p99(quiet)))
        violations.push(...found.map((sentence) => `${surface}: ${sentence}`))
        run += 1
        quiets.push(p99(quiet))
        slowestClose = Math.max(slowestClose, closed.ms)
        for (const { floods, good, megabytes, stopMs } of each) {
          slowest = Math.max(slowest, p99(good))
          slowestStop = Math.max(slowestStop, stopMs)
          peak = Math.max(peak, megabytes)
          for (const { bytes } of floods) poured += bytes
        }
      }
    return {
      figures: {
        floods: run,
        "poured MB": Math.round(poured / 1024 / 1024),
        "quiet p99 ms": Math.max(...quiets),
        "slowest p99 ms": slowest,
        "slowest stop ms": slowestStop,
        "slowest shutdown during a flood ms": slowestClose,
        "peak MB": peak
      },
      violations
    }
  }
}
