import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Fiber } from "effect"
import { runs } from "../runs.js"
import { errorKinds } from "./faults.js"
import { history } from "./history.js"
import { type Outcome, run, runMany } from "./simulate.js"

/** The time that a slow machine needs for all histories. */
const patience = 900_000

/** The histories are always the same; `npm run simulate` generates others. */
const seed = 99

/** One run for all tests. */
let outcome: Promise<Outcome> | undefined
const simulated = (): Promise<Outcome> => (outcome ??= runMany({ histories: runs(2_000).numRuns, seed }))

/** The minimum counts of events, so that the histories really test something. */
const words = (text: string) => text.trim().split(/\s+/)

const expected = [
  ...words(`
    pass jump connect disconnect restart enable disable remove add awaitSettled call request subscribe unsubscribe change
    drop site.connect site.crash site.list site.calls site.probe site.closing site.update site.push site.log
  `).map((move) => `move ${move}`),
  ...errorKinds.map((kind) => `error ${kind}`),
  ...words("good fail slow hang crash").map((mode) => `connect ${mode}`),
  ...words("good slow fail garbage hang limited auth crash").map((mode) => `list ${mode}`),
  ...words("good fail hang slow").map((mode) => `probe ${mode}`),
  ...words("answer slow stuck progress error refuse garbage limited auth crash unsent lost").map(
    (mode) => `call ${mode}`
  ),
  ...words(`
    ok interrupted ServerNotFound ToolNotFound ServerUnavailable OutcomeUnknown CallTimeout AuthRequired RateLimited
    InvalidResult ProtocolError NotSent SupervisorClosed
  `).map((tag) => `outcome ${tag}`),
  ...words("connecting connected idle disabled failed needs_auth needs_client_registration").map(
    (status) => `status ${status}`
  ),
  ...words(`
    StatusChanged CatalogChanged ResourceUpdated ServerAdded ServerRemoved Replacement CallSettled ConfigApplied
  `).map((type) => `event ${type}`),
  ...words("idle needs_auth failed").map((status) => `recover from ${status}`),
  ...words("config command trust").map((by) => `disabled by ${by}`),
  "gave up",
  "will retry",
  "parked",
  "resync",
  "resource updated",
  "replayed",
  "never closed",
  "drained",
  "used in the end",
  "heard in the end",
  "list heard in the end",
  "read logs",
  "add ServerExists",
  "subscription ServerNotFound"
]

describe("a simulated supervisor", () => {
  it(
    "obeys every law at every moment, recovers, and leaves nothing behind",
    async () => {
      const { failure } = await simulated()
      if (failure !== undefined) assert.fail(failure)
    },
    patience
  )

  it(
    "meets every kind of event and fault",
    async () => {
      const { coverage } = await simulated()
      assert.deepStrictEqual(
        expected.filter((what) => !coverage.has(what)),
        []
      )
    },
    patience
  )

  it("repeats a history exactly from its seed", () => {
    for (const each of fc.sample(history, { numRuns: 20, seed: 11 })) {
      assert.deepStrictEqual(run(each).journal(), run(each).journal())
    }
  })

  it("leaves no fiber of a finished history", () => {
    const roots = () => Effect.runSync(Fiber.roots).length
    const before = roots()
    let left = 0
    for (const each of fc.sample(history, { numRuns: 50, seed: 12 })) {
      const coverage = new Map<string, number>()
      run(each, { coverage })
      // a server whose close never ends keeps its own fiber
      if (coverage.has("never closed")) left += 2
    }
    assert.isAtMost(roots() - before, left)
  })
})
