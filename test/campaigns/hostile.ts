import { measured } from "../hostile/bounds.js"
import { chunks, largeOnes, payloads, transports } from "../hostile/groups.js"
import { observe, violations as violationsOf } from "../hostile/observe.js"
import { daemon, library } from "../hostile/surface.js"
import type { Campaign } from "./campaign.js"

/** The number of servers in one supervisor; more at once would measure the machine. */
const groupSize = 60

/** The number of modes in the small size. CI runs all of them, see test/live/supervision/hostileLibrary.test.ts. */
const drawn = 40

export const hostile: Campaign = {
  name: "hostile",
  guarantee:
    "A server that misbehaves in any way of the catalogue affects only itself: its status and errors are typed, other servers respond, and nothing of it is left.",
  run: async ({ isOver, log, random, size }) => {
    const violations: Array<string> = []
    let slowest = 0
    let peak = 0
    let observed = 0
    // servers are grouped at random
    const all = random.shuffle([...transports, ...payloads])
    const groups =
      size === "large"
        ? // large payloads take more memory one by one than small ones all at once
          [...chunks(all, groupSize), ...chunks(largeOnes(all), 1)]
        : [all.slice(0, drawn)]
    for (const [index, group] of groups.entries())
      for (const [surface, open] of [["library", library] as const, ["daemon", daemon] as const]) {
        if (isOver()) break
        const only = group.length === 1 ? ` (${group[0]!.transport} ${group[0]!.name})` : ""
        log(`group ${index + 1} of ${groups.length}${only} in the ${surface}`)
        const observation = await observe(open, group)
        violations.push(...violationsOf(observation, measured.catalogue).map((sentence) => `${surface}: ${sentence}`))
        observed += group.length
        slowest = Math.max(slowest, ...observation.good.map(({ ms }) => ms))
        peak = Math.max(peak, observation.closed.peakMegabytes)
      }
    return {
      figures: { modes: all.length, servers: observed, "slowest good call ms": slowest, "peak MB": peak },
      violations
    }
  }
}
