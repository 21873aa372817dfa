import { assert, describe, it } from "@effect/vitest"
import { Either, Option, Redacted } from "effect"
import { serverTypes, transportNames, typeNames, typesOf } from "../../src/domain/server/ServerConfig/serverTypes.js"
import { ServerConfig } from "../../src/index.js"
import { decode, config, warnings, remote } from "./support/decoding.js"

describe("a local server", () => {
  it("has every default", () => {
    assert.deepStrictEqual(config({ command: ["node", "server.mjs"] }), {
      _tag: "Local",
      command: "node",
      args: ["server.mjs"],
      environment: {},
      inheritEnv: false,
      enabled: true,
      required: false,
      lazy: false,
      exclusive: false,
      protocol: "auto",
      replace: "overlap",
      concurrency: Number.POSITIVE_INFINITY,
      catalogTtl: 3_600_000,
      listBudget: 33_554_432,
      timeout: { connect: 30_000, list: 30_000, call: 30_000, total: 1_800_000 },
      health: { interval: 30_000, timeout: 5_000 },
      restart: {
        base: 500,
        factor: 2,
        cap: 60_000,
        stableAfter: 60_000,
        maxRestarts: 5,
        window: 60_000,
        cooldown: 300_000
      },
      tools: {},
      secrets: []
    })
  })

  it("keeps every key of its entry", () => {
    const decoded = config({
      type: "local",
      command: "npx",
      args: ["-y", "server"],
      environment: { DEBUG: "true" },
      cwd: "sub",
      inheritEnv: true,
      roots: ["/data"],
      idleStop: "5 minutes",
      tools: { "write_*": false }
    })
    assert.deepInclude(decoded, {
      command: "npx",
      args: ["-y", "server"],
      environment: { DEBUG: Redacted.make("true") },
      cwd: "sub",
      inheritEnv: true,
      roots: ["/data"],
      idleStop: 300_000,
      tools: { "write_*": false }
    })
  })

  it("accepts a command line in one list", () => {
    const argv: Array<string> = ["node", "server.mjs"]
    assert.deepInclude(config({ command: argv }), { command: "node", args: ["server.mjs"] })
  })

  it("can be disabled with the keys of other clients", () => {
    assert.isFalse(config({ command: "x", disabled: true }).enabled)
    assert.isTrue(config({ command: "x", disabled: true, enabled: true }).enabled)
  })

  it("is replaced stop-first if it is exclusive, unless the entry sets `replace`", () => {
    assert.strictEqual(config({ command: "x", exclusive: true }).replace, "stop-first")
    assert.strictEqual(config({ command: "x", exclusive: true, replace: "overlap" }).replace, "overlap")
    assert.strictEqual(config({ command: "x" }, { replace: "stop-first" }).replace, "stop-first")
  })

  it("redacts only arguments that contain a known secret", () => {
    const decoded = config({ command: "x", args: ["--key=hunter22", "--verbose"], secrets: ["hunter22", "no"] })
    assert(decoded._tag === "Local")
    assert.deepStrictEqual(decoded.args, [Redacted.make("--key=hunter22"), "--verbose"])
  })
})

describe("a remote server", () => {
  it("has every default, and is restarted without limit", () => {
    assert.deepInclude(remote(), {
      transport: "auto",
      url: "https://example.com/mcp",
      headers: {},
      oauth: { callbackPort: 19_876, grant: "authorization_code" },
      restart: {
        base: 500,
        factor: 2,
        cap: 60_000,
        stableAfter: 60_000,
        maxRestarts: Number.POSITIVE_INFINITY,
        window: 60_000,
        cooldown: 300_000
      }
    })
  })

  it("has the kind and the transport of its type", () => {
    for (const type of typesOf("local")) assert.strictEqual(config({ type, command: "x" })._tag, "Local", type)
    for (const type of typesOf("remote")) {
      assert.strictEqual(remote({ type }).transport, serverTypes[type].transport, type)
      assert.include(["auto", type, "http"], remote({ type }).transport)
    }
    assert.sameMembers([...typesOf("local"), ...typesOf("remote")], [...typeNames])
    assert.deepStrictEqual(transportNames, ["stdio", "http", "sse"])
  })

  it("falls back only if its type allows it", () => {
    assert.strictEqual(remote({ type: "remote" }).transport, "auto")
    assert.strictEqual(remote({ type: "http" }).transport, "http")
    assert.strictEqual(remote({ type: "streamable-http" }).transport, "http")
    assert.strictEqual(remote({ type: "sse" }).transport, "sse")
  })

  it("allows no private address unless the entry or the defaults do", () => {
    assert.isFalse(remote().privateNetwork)
    assert.isTrue(remote({ privateNetwork: true }).privateNetwork)
    const url = "https://example.com/mcp"
    assert.deepInclude(config({ url }, { privateNetwork: true }), { privateNetwork: true })
    assert.deepInclude(config({ url, privateNetwork: false }, { privateNetwork: true }), { privateNetwork: false })
  })

  it("keeps its OAuth settings", () => {
    assert.isFalse(remote({ oauth: false }).oauth)
    const oauth = {
      clientId: "id",
      clientSecret: "hunter22",
      scope: "repo read:user",
      callbackPort: 4000,
      grant: "client_credentials" as const,
      issuer: "https://idp.example.com",
      assumePkce: true,
      privateKeyPem: Redacted.make("key")
    }
    assert.deepStrictEqual(remote({ oauth }).oauth, {
      ...oauth,
      clientSecret: Redacted.make("hunter22"),
      privateKeyPem: Redacted.make("key")
    })
    assert.strictEqual(remote({ caFile: "ca.pem" }).caFile, "ca.pem")
    const interpolated = remote({ oauth: { clientId: "my-id-123" }, secrets: ["id-123"] })
    assert.deepInclude(interpolated.oauth, { clientId: Redacted.make("my-id-123") })
  })
})

describe("limits", () => {
  it("are one duration for connecting, listing and silence, or one for each", () => {
    assert.deepStrictEqual(config({ command: "x", timeout: "1 minute" }).timeout, {
      connect: 60_000,
      list: 60_000,
      call: 60_000,
      total: 1_800_000
    })
    assert.deepStrictEqual(config({ command: "x", timeout: { call: 7_200_000 } }).timeout, {
      connect: 30_000,
      list: 30_000,
      call: 7_200_000,
      total: 7_200_000
    })
    assert.strictEqual(config({ command: "x", timeout: { total: "2 hours" } }).timeout.total, 7_200_000)
  })

  it("of the entry override those of the defaults, one by one", () => {
    const { timeout } = config({ command: "x", timeout: { connect: 1 } }, { timeout: { connect: 2, list: "3" } })
    assert.deepStrictEqual(timeout, { connect: 1, list: 3, call: 30_000, total: 1_800_000 })
    const { restart } = config(
      { command: "x", restart: { base: 1, maxRestarts: "none" } },
      { restart: { base: 2, cap: 3, maxRestarts: 4 } }
    )
    assert.deepInclude(restart, { base: 1, cap: 3, maxRestarts: Number.POSITIVE_INFINITY })
  })

  it("of health checks can be disabled and enabled again", () => {
    assert.isFalse(config({ command: "x", health: false }).health)
    assert.isFalse(config({ command: "x" }, { health: false }).health)
    const health = { interval: 1_000, timeout: 5_000 }
    assert.deepStrictEqual(config({ command: "x", health: true }, { health: false }).health, {
      ...health,
      interval: 30_000
    })
    assert.deepStrictEqual(config({ command: "x", health: { interval: 1_000 } }, { health: false }).health, health)
    assert.deepStrictEqual(config({ command: "x" }, { health: { interval: 1_000 } }).health, health)
  })
})

describe("an entry that only enables or disables", () => {
  it("is neither a server nor an error", () => {
    assert.deepStrictEqual(decode({ enabled: false }), { config: Option.none(), warnings: [] })
    assert.deepStrictEqual(decode({ enabled: true }), { config: Option.none(), warnings: [] })
    assert.deepStrictEqual(warnings({ enabled: false, comment: "not now" }), ["unknown key comment; it is ignored"])
  })
})

describe("defaults for all servers", () => {
  it("are checked like entries", () => {
    const good = Either.getOrThrow(ServerConfig.decodeDefaults({ timeout: 5, tmeout: 6 }))
    assert.deepStrictEqual(good.defaults, { timeout: 5 })
    assert.deepStrictEqual(
      good.warnings.map(({ message }) => message),
      ['unknown key tmeout; did you mean "timeout"?']
    )
    const bad = Either.getOrThrow(Either.flip(ServerConfig.decodeDefaults({ timeout: 0 })))
    assert.match(bad.message, /^invalid config: timeout: /)
  })

  it("apply to keys that the entry omits", () => {
    const defaults = {
      protocol: "legacy",
      inheritEnv: true,
      lazy: true,
      idleStop: 1,
      concurrency: 2,
      catalogTtl: 3,
      listBudget: 4
    } as const
    assert.deepInclude(config({ command: "x" }, defaults), defaults)
  })
})
