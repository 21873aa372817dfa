import { payloads, transports } from "../hostile/groups.js"
import { observe, violations as violationsOf } from "../hostile/observe.js"
import { daemon, library } from "../hostile/surface.js"
import type { Campaign } from "./campaign.js"

/** Groups of servers in one supervisor; more at once would measure the machine. */
const groupSize = 60

export const hostile: Campaign = {
  name: "hostile",
  guarantee:
    "A server that misbehaves in any way of the catalogue affects only itself: typed status and errors, the good server answers, nothing is left.",
  run: async ({ log }) => {
    const violations: Array<string> = []
    let slowest = 0
    let peak = 0
    const all = [...transports, ...payloads("stdio"), ...payloads("http")]
    for (const [surface, open] of [["library", library] as const, ["daemon", daemon] as const])
      for (let index = 0; index < all.length; index += groupSize) {
        log(`modes ${index} to ${Math.min(index + groupSize, all.length)} in the ${surface}`)
        const observation = await observe(open, all.slice(index, index + groupSize))
        const found = violationsOf(observation, { megabytes: 600, goodMs: 5_000, closeMs: 6_500 })
        violations.push(...found.map((sentence) => `${surface}: ${sentence}`))
        slowest = Math.max(slowest, ...observation.good.map(({ ms }) => ms))
        peak = Math.max(peak, observation.closed.peakMegabytes)
      }
    return { figures: { modes: all.length, "slowest good call ms": slowest, "peak MB": peak }, violations }
  }
}
