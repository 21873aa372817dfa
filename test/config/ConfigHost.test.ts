import { assert, describe, it } from "@effect/vitest"
import { surroundings } from "../../src/config/ConfigHost.js"

describe("the directories of a user", () => {
  for (const home of ["relative/home", ".", ""]) {
    it(`are not below the current directory with a home of "${home}"`, () => {
      const env = { XDG_DATA_HOME: "data", XDG_CONFIG_HOME: "config" }
      const found = surroundings({ cwd: "/some/project", home, env, platform: "linux" })
      assert.isTrue(found.home.startsWith("/"))
      assert.isFalse(found.stateDir.startsWith("/some/project"), found.stateDir)
    })
  }
})
