/** The catalogue of misbehaviours against one way to a supervisor. */
import { assert, it } from "vitest"
import { flood, floodViolations } from "../../hostile/floods.js"
import { floodGroups, groupsOf, payloads, transports } from "../../hostile/groups.js"
import { observe, type Subject, type Transport, violations } from "../../hostile/observe.js"
import { type Entries, peakOf, type Surface } from "../../hostile/surface.js"

/** These tell "blocked" from "not blocked" on a loaded machine; `npm run break` measures. */
const bounds = { megabytes: 700, goodMs: 15_000, closeMs: 12_000 }
const floodBounds = { goodMs: 10_000, stopMs: 8_000, megabytes: 450 }

type Open = (servers: Entries, mark: string) => Promise<Surface>

const check = async (open: Open, subjects: ReadonlyArray<Subject>) => {
  const found: Array<string> = []
  for (const group of groupsOf(subjects)) found.push(...violations(await observe(open, group), bounds))
  assert.deepStrictEqual(found, [])
}

export const catalogue = (open: Open, payloadsOver: Transport): void => {
  it("ends, answers and waits as the catalogue says, and the good server answers meanwhile", async () => {
    await check(open, transports)
  }, 600_000)

  it("keeps out what is too large, too deep or malformed, and the good server answers meanwhile", async () => {
    await check(open, payloads(payloadsOver))
  }, 600_000)

  it("serves the good server during every flood, and ends those that flood (breaker 1, breaker 2)", async () => {
    assert.deepStrictEqual(floodViolations(await flood(open, floodGroups(6), 700, peakOf), floodBounds), [])
  }, 600_000)
}
