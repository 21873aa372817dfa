import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import { httpFloods, httpModes, type Mode, payloadModes, stdioFloods, stdioModes } from "../../hostile/modes.js"
import { library } from "../../hostile/surface.js"
import { catalogue } from "../support/hostile.js"

describe("the catalogue of misbehaviours", () => {
  const offered = (file: string) => {
    const path = fileURLToPath(new URL(`../../hostile/${file}`, import.meta.url))
    return JSON.parse(execFileSync(process.execPath, [path, "--modes"], { encoding: "utf8" }))
  }
  const names = (...tables: ReadonlyArray<ReadonlyArray<Mode>>) => tables.flat().map(({ name }) => name)

  it("has an expected outcome for every mode of the scripted servers", () => {
    const { modes, payloads } = offered("stdio.mjs")
    assert.sameMembers(names(stdioModes, stdioFloods), modes)
    assert.sameMembers(names(payloadModes), payloads)
    assert.sameMembers(names(httpModes, httpFloods), offered("http.mjs").modes)
  })
})

describe("hostile servers in a program", () => {
  catalogue(library)
})
