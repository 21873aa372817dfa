/** Runs the catalogue of misbehaviours against one kind of supervisor. */
import { assert, it } from "vitest"
import { ci } from "../../hostile/bounds.js"
import { flood, floodViolations } from "../../hostile/floods.js"
import { chunks, floods, payloads, transports } from "../../hostile/groups.js"
import { observe, type Subject, violations } from "../../hostile/observe.js"
import type { Entries, Surface } from "../../hostile/surface.js"

type Open = (servers: Entries, mark: string) => Promise<Surface>

export const catalogue = (open: Open): void => {
  const check = async (subjects: ReadonlyArray<Subject>) =>
    assert.deepStrictEqual(violations(await observe(open, subjects), ci.catalogue), [])

  it("has the outcomes of the catalogue, while the good server answers", async () => {
    await check(transports)
  }, 600_000)

  it.each(["stdio", "http"])(
    "rejects messages over %s that are too large, too deep or malformed, while the good server answers",
    async (transport) => {
      await check(payloads.filter((each) => each.transport === transport))
    },
    600_000
  )

  it("answers calls to the good server during every flood, and ends the servers that flood", async () => {
    assert.deepStrictEqual(floodViolations(await flood(open, chunks(floods, 6), 700), ci.floods), [])
  }, 600_000)
}
