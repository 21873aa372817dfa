/**
 * Runs one history or many, and reports the result.
 */
import { FastCheck as fc } from "effect"
import { FakeConnector } from "../../../src/testing/Testing.js"
import { recover, shutDown } from "./closing.js"
import { drive, reconcile } from "./drive.js"
import { type History, history } from "./history.js"
import { makeInvariants } from "./invariants.js"
import { build, peek, type World } from "./world.js"

/** Counts of events. */
export type Coverage = Map<string, number>

export interface Ran {
  readonly steps: number
  /** Milliseconds. */
  readonly simulated: number
  /** All entries of the journal as text. */
  readonly journal: () => ReadonlyArray<string>
}

/** Runs a history. Throws if a law is violated. */
export const run = (
  history: History,
  options: { readonly coverage?: Coverage | undefined; readonly log?: World["log"] | undefined } = {}
): Ran => {
  const { coverage = new Map<string, number>(), log = () => {} } = options

  let check = () => {}
  const met = (what: string) => coverage.set(what, (coverage.get(what) ?? 0) + 1)
  const world = build(history, { met, log, onRest: () => check() })
  const { simulation } = world
  check = makeInvariants(world).check
  if (history.servers.some(({ flaw }) => flaw === "untrusted")) reconcile(world)
  simulation.settle()
  drive(world, history.moves)
  if (history.isAbrupt !== true) recover(world)
  check = () => {}
  shutDown(world)
  return {
    steps: simulation.steps(),
    simulated: simulation.elapsed(),
    journal: () => peek(world.controls.journal).map((entry) => `${entry.at} ${FakeConnector.render(entry)}`)
  }
}

export interface Outcome {
  readonly histories: number
  readonly steps: number
  /** Milliseconds. */
  readonly simulated: number
  readonly coverage: Coverage
  /** The violation, the smallest history that shows it, and how to repeat it. */
  readonly failure: string | undefined
}

export const runMany = async (options: {
  readonly histories: number
  readonly seed?: number | undefined
}): Promise<Outcome> => {
  const coverage: Coverage = new Map()
  let steps = 0
  let simulated = 0
  let ran = 0
  const property = fc.asyncProperty(history, async (history) => {
    // yields to the event loop of the test runner
    if (++ran % 20 === 0) await breath()
    const { simulated: passed, steps: taken } = run(history, { coverage })
    steps += taken
    simulated += passed
  })
  const details = await fc.check(property, {
    numRuns: options.histories,
    // a failing history is shrunk within the time limit
    ...(options.seed === undefined ? {} : { seed: options.seed })
  })
  return {
    histories: details.numRuns,
    steps,
    simulated,
    coverage,
    failure: details.failed ? explain(details) : undefined
  }
}

const breath = () => new Promise((resolve) => setImmediate(resolve))

const explain = ({ counterexample, errorInstance, numRuns, seed }: fc.RunDetails<[History]>): string => {
  const [smallest] = counterexample!
  return [
    `history ${numRuns} of seed ${seed}: ${errorInstance instanceof Error ? errorInstance.message : errorInstance}`,
    "",
    ...smallest.servers.map((spec, index) => `  server ${index}: ${JSON.stringify(spec)}`),
    ...smallest.moves.map((move) => `  ${JSON.stringify(move)}`),
    "",
    `npm run simulate -- --replay '${JSON.stringify(smallest)}'`
  ].join("\n")
}
