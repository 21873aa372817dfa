import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Stream } from "effect"
import * as Errors from "../../src/domain/Errors.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import {
  citySchema,
  closed,
  failsWith,
  local,
  notFound,
  passed,
  remote,
  settle,
  supervise,
  textOf,
  withRandom
} from "./support.js"

const listed = ({ controls }: Pick<FakeConnector.FakeConnector, "controls">, server = "a") =>
  Effect.map(controls.journal, (entries) =>
    entries.filter((entry) => entry.type === "listed" && entry.list === "tools" && entry.server === server)
  )

describe("one catalog of all servers", () => {
  it.scoped("contains the listings of all servers in the order of the config", () =>
    Effect.gen(function* () {
      const { controls, supervisor, toolNames } = yield* supervise({ servers: { b: local, a: local } })
      // the order of connecting makes no difference
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) =>
        attempt.open({ tools: ["x"], resources: ["file:///r"], prompts: ["p"] })
      )
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      yield* Effect.flatMap(controls.awaitAttempt("b"), (attempt) =>
        attempt.open({ tools: ["x"], resourceTemplates: ["file:///{t}"] })
      )
      assert.deepStrictEqual(yield* toolNames, ["b_x", "a_x"])
      const catalog = yield* supervisor.catalog
      assert.deepStrictEqual(catalog.resources[0], { server: "a", uri: "file:///r", name: "file:///r" })
      assert.deepStrictEqual(catalog.resourceTemplates[0]?.uriTemplate, "file:///{t}")
      assert.deepStrictEqual(catalog.prompts[0]?.name, "p")
    })
  )

  it.scoped("is the same object while nothing changes, and has a higher revision after a change", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const before = yield* supervisor.catalog
      yield* supervisor.callTool("a_x")
      yield* passed("5 minutes")
      assert.strictEqual(yield* supervisor.catalog, before)
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: ["x", "y"] })
      yield* attempt.listChanged("tools")
      yield* settle
      const after = yield* supervisor.catalog
      assert.isAbove(after.revision, before.revision)
      assert.strictEqual(after.tools[0], before.tools[0])
    })
  )

  it.scoped("gives tools with equal plain names different names, whichever servers are connected", () =>
    Effect.gen(function* () {
      const { supervisor, toolNames } = yield* supervise(
        { servers: { a: local, a_b: local } },
        { scripts: { a: FakeConnector.open({ tools: ["b_x"] }), a_b: FakeConnector.open({ tools: ["x"] }) } }
      )
      const [first, second] = yield* toolNames
      assert.notStrictEqual(first, second)
      assert.strictEqual(textOf(yield* supervisor.callTool(first!)), "b_x")
      assert.strictEqual(textOf(yield* supervisor.callTool(second!)), "x")
      yield* supervisor.disable("a")
      assert.deepStrictEqual(yield* toolNames, [second!])
    })
  )

  it.scoped("catalogChanges streams the current catalog, then changes, conflated", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const seen: Array<number> = []
      yield* Effect.forkScoped(
        Stream.runForEach(supervisor.catalogChanges, ({ tools }) => Effect.sync(() => seen.push(tools.length)))
      )
      yield* settle
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: ["x", "y"] })
      yield* attempt.listChanged("tools")
      yield* settle
      assert.deepStrictEqual(seen, [1, 2])
    })
  )

  it.scoped("shows an agent a new tool that the default view hides", () =>
    Effect.gen(function* () {
      const { controls, supervisor } = yield* supervise(
        { servers: { a: local }, tools: { "a_*": false }, agents: { bold: { tools: { "a_*": true } } } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const names = Effect.map(supervisor.catalogFor("bold"), ({ tools }) => tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* names, ["a_x"])
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: ["x", "y"] })
      yield* attempt.listChanged("tools")
      yield* settle
      assert.deepStrictEqual(yield* names, ["a_x", "a_y"])
      yield* supervisor.callTool("a_y", {}, { agent: "bold" })
    })
  )
})

describe("a server that goes away and comes back", () => {
  it.scoped("with the same listing publishes nothing, and the catalog is the same object", () =>
    Effect.gen(function* () {
      const { controls, eventsOf, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x", { name: "y", inputSchema: citySchema }] }) } }
      )
      const before = yield* supervisor.catalog
      assert.lengthOf(eventsOf("CatalogChanged"), 1)
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* settle
      yield* supervisor.restart("a")
      assert.strictEqual(yield* supervisor.catalog, before)
      assert.lengthOf(eventsOf("CatalogChanged"), 1)
    })
  )

  it.scoped("with another listing publishes exactly the difference", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: [FakeConnector.open({ tools: ["x", "y"] }), FakeConnector.open({ tools: ["y", "z"] })] } }
      )
      yield* supervisor.restart("a")
      yield* settle
      const { revision } = yield* supervisor.catalog
      const last = eventsOf("CatalogChanged").at(-1)
      assert.deepInclude(last, { server: "a", revision, kind: "tools", added: ["a_z"], removed: ["a_x"] })
    })
  )

  it.scoped("stays listed for 30 seconds while it is reconnected", () =>
    Effect.gen(function* () {
      const { controls, eventsOf, snapshot, toolNames } = yield* supervise(
        { servers: { a: remote } },
        { scripts: { a: [FakeConnector.open({ tools: ["x"] }), FakeConnector.hang] } }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* passed("29999 millis")
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      yield* passed("1 millis")
      assert.deepStrictEqual(yield* toolNames, [])
      assert.strictEqual((yield* snapshot("a")).tools, 0)
      assert.deepInclude(eventsOf("CatalogChanged").at(-1), { removed: ["a_x"] })
    })
  )

  it.scoped("is listed again after the grace period, and a call by name waits for it meanwhile", () =>
    Effect.gen(function* () {
      const { controls, supervisor, toolNames } = yield* supervise(
        { servers: { a: { ...remote, timeout: { connect: "2 minutes" } } } },
        { scripts: { a: [FakeConnector.open({ tools: ["x"] }), FakeConnector.byHand] } }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      yield* passed("40 seconds")
      assert.deepStrictEqual(yield* toolNames, [])
      const call = yield* Effect.fork(supervisor.callTool("a_x"))
      yield* settle
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.open({ tools: ["x"] }))
      yield* call
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
    })
  )

  it.scoped("is removed from the catalog at once if it is not reconnected", () =>
    Effect.gen(function* () {
      const { controls, supervisor, toolNames } = yield* supervise(
        { servers: { a: local, b: local } },
        {
          scripts: {
            a: [FakeConnector.open({ tools: ["x"] }), FakeConnector.fail(notFound())],
            b: FakeConnector.open({ tools: ["y"] })
          }
        }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      assert.deepStrictEqual(yield* toolNames, ["b_y"])
      yield* supervisor.disable("b")
      assert.deepStrictEqual(yield* toolNames, [])
      yield* supervisor.enable("b")
      assert.deepStrictEqual(yield* toolNames, ["b_y"])
      yield* supervisor.remove("b")
      assert.deepStrictEqual(yield* toolNames, [])
    })
  )

  it.scoped("is not listed after it was given up", () =>
    Effect.gen(function* () {
      const { toolNames, status } = yield* supervise(
        { servers: { a: { ...local, restart: { maxRestarts: 1 } } } },
        { scripts: { a: FakeConnector.openThenCrash("1 second", closed(), { tools: ["x"] }) } }
      )
      yield* passed("2 seconds")
      assert.property(yield* status("a"), "gaveUp")
      assert.deepStrictEqual(yield* toolNames, [])
    })
  )
})

describe("a list that changes", () => {
  it.scoped("an added tool can be called in the same session, a removed one cannot", () =>
    Effect.gen(function* () {
      const { controls, snapshot, supervisor } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: ["y"] })
      yield* attempt.listChanged("tools")
      yield* settle
      yield* supervisor.callTool("a_y")
      yield* failsWith(supervisor.callTool("a_x"), "ToolNotFound")
      assert.deepInclude(yield* snapshot("a"), { generation: 1, tools: 1 })
    })
  )

  it.scoped("is fetched at most twice for 200 notifications, and ends in the last state", () =>
    Effect.gen(function* () {
      const { controls, fake, toolNames } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["t0"] }) } }
      )
      const attempt = yield* controls.awaitAttempt("a")
      const before = (yield* listed(fake)).length
      for (let i = 1; i <= 200; i++) {
        yield* attempt.set({ tools: [`t${i}`] })
        yield* attempt.listChanged("tools")
      }
      yield* passed("10 seconds")
      assert.isAtMost((yield* listed(fake)).length - before, 2)
      assert.deepStrictEqual(yield* toolNames, ["a_t200"])
    })
  )

  it.scoped("is fetched exactly once more if it changes while it is fetched", () =>
    Effect.gen(function* () {
      const { controls, fake, toolNames } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const attempt = yield* controls.awaitAttempt("a")
      const gate = yield* Deferred.make<void>()
      const before = (yield* listed(fake)).length
      yield* attempt.set({ tools: Effect.as(Deferred.await(gate), ["old"]) })
      yield* attempt.listChanged("tools")
      yield* settle
      yield* attempt.set({ tools: ["new"] })
      for (let i = 0; i < 5; i++) yield* attempt.listChanged("tools")
      yield* Deferred.succeed(gate, undefined)
      yield* passed("10 seconds")
      assert.strictEqual((yield* listed(fake)).length - before, 2)
      assert.deepStrictEqual(yield* toolNames, ["a_new"])
    })
  )

  it.scoped("is fetched after growing delays if the server notifies after every fetch", () =>
    Effect.gen(function* () {
      const { controls, fake } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: Effect.as(attempt.listChanged("tools"), ["x"]) })
      const before = (yield* listed(fake)).length
      yield* attempt.listChanged("tools")
      yield* passed("1 minute")
      const during = (yield* listed(fake)).length - before
      assert.isAtLeast(during, 3)
      assert.isAtMost(during, 10)
      yield* passed("10 minutes")
      assert.isAtMost((yield* listed(fake)).length - before - during, 21)
    })
  )

  it.scoped("while the link is opened is fetched again", () =>
    Effect.gen(function* () {
      const { controls, toolNames } = yield* supervise({ servers: { a: local } })
      const attempt = yield* controls.awaitAttempt("a")
      const late = yield* Deferred.make<void>()
      yield* attempt.open({ tools: ["old"], prompts: Effect.as(Deferred.await(late), []) })
      yield* settle
      // the tools are fetched, the prompts not yet
      yield* attempt.set({ tools: ["new"] })
      yield* attempt.listChanged("tools")
      yield* Deferred.succeed(late, undefined)
      yield* passed("1 second")
      assert.deepStrictEqual(yield* toolNames, ["a_new"])
    })
  )

  it.scoped("keeps the old entries if it cannot be fetched, reports that, and is fetched again", () =>
    Effect.gen(function* () {
      const { controls, snapshot, toolNames } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }) } }
      )
      const attempt = yield* controls.awaitAttempt("a")
      const error = new Errors.ProtocolError({ server: "a", code: -32603, message: "busy" })
      yield* attempt.set({ tools: Effect.fail(error) })
      yield* attempt.listChanged("tools")
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      assert.deepStrictEqual(
        (yield* snapshot("a")).diagnostics.map(({ code }) => code),
        ["list_failed"]
      )
      yield* attempt.set({ tools: ["y"] })
      yield* passed("1 second")
      assert.deepStrictEqual(yield* toolNames, ["a_y"])
      assert.deepStrictEqual((yield* snapshot("a")).diagnostics, [])
      assert.deepInclude(yield* snapshot("a"), { generation: 1 })
    })
  )

  it.scoped("without a notification is fetched after the time to live of the server or the config", () =>
    Effect.gen(function* () {
      const config = { ...local, health: false, catalogTtl: "10 minutes" } as const
      const listing = { items: [{ name: "x", inputSchema: { type: "object" } }], diagnostics: [], ttl: 60_000 }
      const { fake } = yield* supervise(
        { servers: { a: config, b: config } },
        { scripts: { a: FakeConnector.open({ tools: ["x"] }), b: FakeConnector.open({ tools: listing }) } }
      )
      yield* passed("9 minutes")
      assert.lengthOf(yield* listed(fake, "a"), 1)
      assert.lengthOf(yield* listed(fake, "b"), 10)
      yield* passed("1 minute")
      assert.lengthOf(yield* listed(fake, "a"), 2)
    }).pipe(withRandom(0.5))
  )

  it.scoped("is fetched after a shorter time to live as soon as the server gives one", () =>
    Effect.gen(function* () {
      const listing = (ttl: number) => ({
        items: [{ name: "x", inputSchema: { type: "object" } }],
        diagnostics: [],
        ttl
      })
      const { controls, fake } = yield* supervise(
        { servers: { a: { ...local, health: false } } },
        { scripts: { a: FakeConnector.open({ tools: listing(3_600_000) }) } }
      )
      const attempt = yield* controls.awaitAttempt("a")
      yield* attempt.set({ tools: listing(10_000) })
      yield* attempt.listChanged("tools")
      yield* settle
      assert.lengthOf(yield* listed(fake, "a"), 2)
      yield* passed("10 seconds")
      assert.lengthOf(yield* listed(fake, "a"), 3)
    })
  )

  it.scoped("of a lost server is not shown for longer than the grace period, whatever the wall clock shows", () =>
    Effect.gen(function* () {
      const clock = yield* Effect.clock
      let back = 0
      const wall: typeof clock = Object.assign(Object.create(clock), {
        unsafeCurrentTimeMillis: () => clock.unsafeCurrentTimeMillis() - back
      })
      const { controls, toolNames } = yield* supervise(
        { servers: { a: local } },
        { scripts: { a: [FakeConnector.open({ tools: ["x"] }), FakeConnector.hang] }, clock: wall }
      )
      yield* Effect.flatMap(controls.awaitAttempt("a"), (attempt) => attempt.crash(closed()))
      back = 3_600_000
      yield* passed("29 seconds")
      assert.deepStrictEqual(yield* toolNames, ["a_x"])
      yield* passed("1 second")
      assert.deepStrictEqual(yield* toolNames, [])
    })
  )
})
