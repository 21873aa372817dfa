import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { linkFields, localChanges, remoteChanges } from "../../src/domain/server/ServerConfig/configChange.js"
import { ServerConfig } from "../../src/index.js"
import { config, remote } from "./support/decoding.js"

describe("the classification of config changes", () => {
  it("has every field of a config", () => {
    expectTypeOf<keyof typeof localChanges>().toEqualTypeOf<keyof ServerConfig.Local>()
    expectTypeOf<keyof typeof remoteChanges>().toEqualTypeOf<keyof ServerConfig.Remote>()
    assert.sameMembers(Object.keys(localChanges), Object.keys(ServerConfig.Local.fields))
    assert.sameMembers(Object.keys(remoteChanges), Object.keys(ServerConfig.Remote.fields))
  })

  it("decides which fields belong to the link", () => {
    const local = config({ command: "x" })
    assert.notDeepEqual(linkFields(config({ command: "x", cwd: "/y" })), linkFields(local))
    assert.deepEqual(linkFields(config({ command: "x", lazy: true })), linkFields(local))
    assert.notDeepEqual(linkFields(remote({ privateNetwork: true })), linkFields(remote()))
    assert.notDeepEqual(linkFields(remote({ headers: { A: "1" } })), linkFields(remote()))
    assert.deepEqual(linkFields(remote({ lazy: true })), linkFields(remote()))
  })
})
