/** Runs the small size of each campaign of `npm run break`. Floods and the catalogue have their own tests. */
import { assert, describe, it } from "vitest"
import { campaigns, replay, runCampaign } from "../../campaigns/campaigns.js"

/** A fixed seed; `npm run break` uses a new one each time. */
const run = { seed: 14, size: "small" } as const

const elsewhere = new Set(["floods", "hostile"])

describe.each(campaigns.filter(({ name }) => !elsewhere.has(name)))("the campaign $name", (campaign) => {
  it(`${campaign.guarantee}`, async () => {
    const { violations } = await runCampaign(campaign, run)
    assert.deepStrictEqual(violations, [], replay(campaign, run))
  }, 300_000)
})
