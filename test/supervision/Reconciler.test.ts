import { assert, describe, it } from "@effect/vitest"
import { Effect, Either } from "effect"
import { InvalidConfig } from "../../src/domain/Errors.js"
import * as DecodeConfig from "../../src/supervision/servers/decodeConfig.js"
import * as Reconciler from "../../src/supervision/servers/Reconciler.js"
import type { Desired } from "../../src/supervision/model.js"

const resolve = (desired: Desired) => Effect.runSync(DecodeConfig.decode(desired))
const running = (desired: Desired) => resolve(desired).definitions
const local = { command: "a" }
const remote = { url: "https://example.com" }
const dynamic = (name: string, input: unknown) =>
  [name, Either.getOrThrow(DecodeConfig.define(name, input, {}))] as const

describe("resolving", () => {
  it("returns a definition for each server, in order, with defaults and warnings", () => {
    const { agents, defaults, definitions, diagnostics, tools } = resolve({
      servers: { b: { ...local, unknown: 1 } as never, a: remote },
      defaults: { timeout: 5, odd: 1 } as never,
      tools: { "a_*": false },
      agents: { coder: { tools: { "a_*": true } }, other: {} }
    })
    assert.deepStrictEqual([...definitions.keys()], ["b", "a"])
    const b = definitions.get("b")!
    assert.deepStrictEqual([b.name, b.origin, b.config?.timeout.call], ["b", "config", 5])
    assert.deepStrictEqual(
      b.diagnostics.map(({ code }) => code),
      ["unknown_key"]
    )
    assert.deepStrictEqual(
      diagnostics.map(({ code }) => code),
      ["unknown_key"]
    )
    assert.deepStrictEqual(tools, { "a_*": false })
    assert.deepStrictEqual(
      [...agents],
      [
        ["coder", { "a_*": true }],
        ["other", {}]
      ]
    )
    assert.strictEqual(Either.getOrThrow(DecodeConfig.define("c", local, defaults)).config?.timeout.call, 5)
  })

  it("returns an invalid entry as a failed server, and keeps the others", () => {
    const definitions = running({ servers: { a: { command: 1 } as never, b: local } })
    assert.isUndefined(definitions.get("a")!.config)
    assert.strictEqual(definitions.get("a")!.settings.invalid?.errorTag, "InvalidConfig")
    assert.isDefined(definitions.get("b")!.config)
  })

  it("returns an unreadable entry as a failed server, whatever else it contains", () => {
    const unreadable = { a: new InvalidConfig({ server: "a", issues: [{ path: [], expected: "x", found: "y" }] }) }
    const a = running({ servers: { a: local }, unreadable }).get("a")!
    assert.isUndefined(a.config)
    assert.include(a.settings.invalid?.error, "expected x")
  })

  it("ignores an entry that only switches a server on or off", () => {
    assert.strictEqual(running({ servers: { a: { enabled: false }, b: { enabled: true } } }).size, 0)
  })

  it("never runs an untrusted server", () => {
    const definitions = running({ servers: { a: local, b: local }, untrusted: ["a"] })
    assert.strictEqual(definitions.get("a")!.settings.disabled, "trust")
    assert.isUndefined(definitions.get("b")!.settings.disabled)
  })

  it("accepts names of properties that every object has", () => {
    const servers = JSON.parse('{ "__proto__": { "command": "a" }, "constructor": { "command": "b" } }')
    assert.deepStrictEqual([...running({ servers }).keys()], ["__proto__", "constructor"])
  })

  it.each<[string, unknown, ReadonlyArray<string>]>([
    ["servers that are a list", { servers: [] }, ["servers"]],
    ["servers that are a Map", { servers: new Map() }, ["servers"]],
    ["servers that are inherited", { servers: Object.create({ a: local }) }, ["servers"]],
    ["servers that are null", { servers: null }, ["servers"]],
    ["defaults that are no object", { defaults: null }, ["defaults"]],
    ["wrong defaults", { defaults: { timeout: -1 } }, ["defaults", "timeout"]],
    ["tools that are no object", { tools: true }, ["tools"]],
    ["tools that are no booleans", { tools: { "a_*": "yes" } }, ["tools", "a_*"]],
    ["agents that are no object", { agents: 1 }, ["agents"]],
    ["an agent that is none", { agents: { x: undefined } }, ["agents", "x"]],
    ["an agent that is no object", { agents: { x: true } }, ["agents", "x"]],
    ["an agent's tools that are no booleans", { agents: { x: { tools: { y: 1 } } } }, ["agents", "x", "tools", "y"]],
    ["untrusted names that are no list", { untrusted: "a" }, ["untrusted"]]
  ])("rejects %s as a whole", (_, desired, path) => {
    const error = Effect.runSync(Effect.flip(DecodeConfig.decode(desired as Desired)))
    assert.isUndefined(error.server)
    assert.deepStrictEqual(error.issues[0]!.path, path)
  })

  it("rejects a value that throws when it is read, without showing the error", () => {
    const servers = {
      get a(): never {
        throw new Error("canary")
      }
    }
    const error = Effect.runSync(Effect.flip(DecodeConfig.decode({ servers })))
    assert.notInclude(JSON.stringify(error), "canary")
  })
})

describe("adding a server while running", () => {
  it("fails for an invalid entry and for one that only switches", () => {
    for (const input of [{ command: 1 }, { enabled: false }, 1]) {
      const error = Either.getOrThrow(Either.flip(DecodeConfig.define("a", input, {})))
      assert.strictEqual(error.server, "a")
    }
    assert.strictEqual(dynamic("a", local)[1].origin, "dynamic")
  })
})

describe("comparing", () => {
  const change = (before: Desired, after: Desired) =>
    Reconciler.compare(running(before), resolve(after)).change[0]?.change
  const one = (a: unknown): Desired => ({ servers: { a: a as never } })

  it.each<[string, Desired, Desired, string | undefined]>([
    ["nothing", one(local), one(local), undefined],
    ["a warning", one({ ...local, odd: 1 }), one(local), undefined],
    ["a timeout", one(local), one({ ...local, timeout: 5 }), "settings"],
    ["the program", one(local), one({ command: "b" }), "link"],
    ["the address", one(remote), one({ url: "https://example.org" }), "identity"],
    ["the kind", one(local), one(remote), "identity"],
    ["trust", { ...one(local), untrusted: ["a"] }, one(local), "identity"],
    ["to invalid", one(local), one({ command: 1 }), "identity"],
    ["from invalid", one({ command: 1 }), one(local), "identity"],
    ["what is invalid", one({ command: 1 }), one({ url: 1 }), "settings"],
    ["nothing of what is invalid", one({ command: 1 }), one({ command: 2 }), undefined]
  ])("a change of %s", (_, before, after, expected) => {
    assert.strictEqual(change(before, after), expected)
  })

  it("starts, stops and keeps servers, and leaves those that were added while running", () => {
    const before = new Map([dynamic("d", local), ...running({ servers: { a: local, b: local } })])
    const changes = Reconciler.compare(before, resolve({ servers: { c: local, b: local } }))
    assert.deepStrictEqual(Reconciler.toPlan(changes, { appear: ["c_x"], vanish: [] }), {
      start: ["c"],
      stop: ["a"],
      restart: [],
      update: [],
      keep: ["b", "d"],
      tools: { appear: ["c_x"], vanish: [] }
    })
    assert.deepStrictEqual([...Reconciler.apply(before, changes).keys()], ["c", "b", "d"])
  })

  it("gives the config a name that was added while running", () => {
    const before = new Map([dynamic("same", local), dynamic("other", local)])
    const changes = Reconciler.compare(before, resolve({ servers: { same: local, other: { command: "b" } } }))
    assert.deepStrictEqual(changes.taken, ["same", "other"])
    const { restart, update } = Reconciler.toPlan(changes, { appear: [], vanish: [] })
    assert.deepStrictEqual({ restart, update }, { restart: ["other"], update: ["same"] })
    assert.strictEqual(Reconciler.apply(before, changes).get("same")!.origin, "config")
  })

  it("updates the diagnostics of a server that is kept", () => {
    const before = running(one({ ...local, odd: 1 }))
    const changes = Reconciler.compare(before, resolve(one(local)))
    assert.deepStrictEqual(changes.keep, ["a"])
    assert.deepStrictEqual(Reconciler.apply(before, changes).get("a")!.diagnostics, [])
  })
})

describe("diagnostics", () => {
  it("are published only for servers whose diagnostics changed, however many there are", () => {
    const odd = { ...local, odd: 1 } as never
    const before = running({ servers: { a: local, b: local, c: odd, d: odd } })
    const { change, remarked } = Reconciler.compare(
      before,
      resolve({ servers: { a: local, b: odd, c: local, d: odd, e: local } })
    )
    assert.deepStrictEqual(change, [])
    assert.deepStrictEqual(
      remarked.map(({ name }) => name),
      ["b", "c"]
    )
  })
})
