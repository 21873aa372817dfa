/** All campaigns, and how one is run. */
import { apiFuzz } from "./apiFuzz.js"
import { type Campaign, type Outcome, randomOf, seedOf, type Size } from "./campaign.js"
import { cliFuzz } from "./cliFuzz.js"
import { configChurn } from "./configChurn.js"
import { floods } from "./floods.js"
import { hostile } from "./hostile.js"
import { interrupts } from "./interrupts.js"
import { kills } from "./kills.js"
import { load } from "./load.js"
import { signals } from "./signals.js"

export const campaigns: ReadonlyArray<Campaign> = [
  kills,
  load,
  interrupts,
  configChurn,
  apiFuzz,
  cliFuzz,
  signals,
  floods,
  hostile
]

export interface Run {
  readonly seed: number
  readonly size: Size
  readonly seconds?: number | undefined
  readonly log?: ((line: string) => void) | undefined
}

/** Runs one campaign. What it throws is a violation as well. */
export const runCampaign = async (
  campaign: Campaign,
  { log = () => {}, seconds, seed, size }: Run
): Promise<Outcome> => {
  try {
    return await campaign.run({
      random: randomOf(seedOf(seed, campaign.name)),
      size,
      seconds: seconds ?? (size === "large" ? 60 : 3),
      log
    })
  } catch (error) {
    return {
      figures: {},
      violations: [`the campaign broke off: ${error instanceof Error ? error.stack : String(error)}`]
    }
  }
}

/** The command that does the same again. */
export const replay = ({ name }: Campaign, { seconds, seed, size }: Run): string =>
  `npm run break -- --only ${name} --seed ${seed} --size ${size}${seconds === undefined ? "" : ` --seconds ${seconds}`}`
