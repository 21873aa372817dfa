import { assert, describe, it } from "@effect/vitest"
import { Either } from "effect"
import { Lifecycle, ServerConfig } from "../../src/index.js"
import { config, remote } from "./support/decoding.js"

describe("a change", () => {
  const local = config({ command: "x" })
  const other = remote()

  it("of the command needs a new link", () => {
    for (const change of [
      { args: ["y"] },
      { env: { A: "1" } },
      { cwd: "y" },
      { inheritEnv: true },
      { protocol: "legacy" }
    ] as const) {
      assert.strictEqual(ServerConfig.compare(local, config({ command: "x", ...change })), "link")
    }
    assert.strictEqual(ServerConfig.compare(other, remote({ type: "sse" })), "link")
    assert.strictEqual(ServerConfig.compare(other, remote({ privateNetwork: true })), "link")
  })

  it("of the server's identity or of the credentials never falls back", () => {
    const moved = config({ url: "https://example.com/other" })
    for (const changed of [moved, remote({ headers: { A: "1" } }), remote({ oauth: false }), local]) {
      assert.strictEqual(ServerConfig.compare(other, changed), "identity")
    }
    assert.strictEqual(ServerConfig.compare(local, other), "identity")
  })

  it("of other keys needs no new link, and no change needs nothing", () => {
    assert.strictEqual(ServerConfig.compare(local, config({ command: "x", timeout: 5 })), "settings")
    assert.strictEqual(ServerConfig.compare(other, remote({ tools: { a: false } })), "settings")
    assert.strictEqual(ServerConfig.compare(other, remote()), "none")
    const filtered = (tools: Record<string, boolean>) => remote({ tools })
    assert.strictEqual(
      ServerConfig.compare(filtered({ a: true, "*": false }), filtered({ "*": false, a: true })),
      "settings"
    )
    const hidden = config({ command: "x", args: ["--key=hunter22"], secrets: ["hunter22"] })
    assert.strictEqual(ServerConfig.compare(config({ command: "x", args: ["--key=hunter22"] }), hidden), "settings")
  })
})

describe("a login", () => {
  it("is possible for a remote server whose config has no credentials", () => {
    assert.isTrue(ServerConfig.allowsLogin(remote()))
    assert.isTrue(ServerConfig.allowsLogin(remote({ headers: { "x-key": "a" } })))
    assert.isFalse(ServerConfig.allowsLogin(remote({ oauth: false })))
    assert.isFalse(ServerConfig.allowsLogin(remote({ headers: { AUTHORIZATION: "Bearer a" } })))
    assert.isFalse(ServerConfig.allowsLogin(config({ url: "https://user:password@example.com" })))
    assert.isFalse(ServerConfig.allowsLogin(config({ command: "node" })))
    assert.isTrue(ServerConfig.allowsLogin({ ...remote(), url: "not an address" }))
  })
})

describe("the settings of the lifecycle", () => {
  it("are taken from the config", () => {
    const decoded = config({ command: "x", lazy: true, replace: "stop-first", timeout: { call: 7 } })
    assert.deepStrictEqual(ServerConfig.toSettings("s", decoded), {
      server: "s",
      restart: decoded.restart,
      lazy: true,
      replace: "stop-first",
      drain: 7
    })
    assert.strictEqual(ServerConfig.toSettings("s", config({ command: "x" })).drain, 1_800_000)
  })

  it("of an invalid entry prevent that it is ever opened", () => {
    const error = Either.getOrThrow(Either.flip(ServerConfig.decode("s", { command: 3 })))
    const { actions, state } = Lifecycle.start(ServerConfig.toInvalidSettings("s", error), 0)
    assert.deepStrictEqual(actions, [])
    assert.deepInclude(Lifecycle.status(state), { status: "failed", errorTag: "InvalidConfig", failures: 1 })
  })

  it("say why the server is disabled, missing trust first", () => {
    const off = config({ command: "x", enabled: false })
    assert.strictEqual(ServerConfig.toSettings("s", off).disabled, "config")
    assert.strictEqual(ServerConfig.toSettings("s", off, { trusted: false }).disabled, "trust")
    assert.isUndefined(ServerConfig.toSettings("s", config({ command: "x" }), { trusted: true }).disabled)
  })
})
