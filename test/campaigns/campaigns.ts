/** Lists all campaigns, and runs one. */
import { endMachines } from "../hostile/machine.js"
import { apiFuzz } from "./apiFuzz.js"
import { type Campaign, type Outcome, randomOf, seedOf, type Size, within } from "./campaign.js"
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
  /** The time limit of each campaign. */
  readonly seconds?: number | undefined
  readonly log?: ((line: string) => void) | undefined
}

/** Longer than any campaign takes, also on a busy machine: a campaign that has not ended by then hangs. */
const longest: Readonly<Record<Size, number>> = { small: 120, large: 3_600 }

/** Runs one campaign. A thrown error and a hang are violations, too. */
export const runCampaign = async (
  campaign: Campaign,
  { log = () => {}, seconds, seed, size }: Run
): Promise<Outcome> => {
  const begin = performance.now()
  const isOver = () => seconds !== undefined && performance.now() - begin > seconds * 1000
  const limit = longest[size] + (seconds ?? 0)
  try {
    const running = campaign.run({
      random: randomOf(seedOf(seed, campaign.name)),
      size,
      seconds: seconds ?? (size === "large" ? 60 : 3),
      isOver,
      log
    })
    const outcome = await within(limit * 1000, running)
    if (outcome !== undefined) return outcome
    // later errors of the aborted campaign are ignored
    running.catch(() => {})
    endMachines()
    return { figures: {}, violations: [`the campaign did not end within ${limit} s`] }
  } catch (error) {
    endMachines()
    return {
      figures: {},
      violations: [`the campaign broke off: ${error instanceof Error ? error.stack : String(error)}`]
    }
  }
}

/** The command that repeats the run. */
export const replay = ({ name }: Campaign, { seconds, seed, size }: Run): string =>
  `npm run break -- --only ${name} --seed ${seed} --size ${size}${seconds === undefined ? "" : ` --seconds ${seconds}`}`
