import { describe } from "vitest"
import { daemon } from "../../hostile/surface.js"
import { catalogue } from "../support/hostile.js"

describe("hostile servers in the daemon", () => {
  catalogue(daemon)
})
