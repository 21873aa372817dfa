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
  it.scoped("has everything of everybody, in the order of the configuration", () =>
    Effect.gen(function* () {
      const { controls, supervisor, toolNames } = yield* supervise({ servers: { b: local, a: local } })
      // who comes first makes no difference
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

  it.scoped("is the same object while nothing changes, and has a higher number when something has", () =>
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

  it.scoped("tools whose plain names would be the same have different ones, whoever is up", () =>
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

  it.scoped("catalogChanges: the current one first, then each change, conflated", () =>
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

  it.scoped("an agent sees a new tool that is hidden from everybody else", () =>
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
  it.scoped("with the same list: nothing is published, and the catalog is the same object", () =>
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

  it.scoped("with another list: exactly the difference is published", () =>
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

  it.scoped("stays listed for 30 seconds while it is being connected again, then no longer", () =>
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

  it.scoped("comes back with its tools after the grace, and a call by name waits for it meanwhile", () =>
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

  it.scoped("is gone at once when nobody expects it back", () =>
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

  it.scoped("that was given up is not listed", () =>
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
  it.scoped("a tool that is added later is callable in the same session, one that is taken away is not", () =>
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

  it.scoped("200 notifications cause at most 2 lists, and the last state is known", () =>
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

  it.scoped("one that changes while it is fetched is fetched exactly once more", () =>
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

  it.scoped("a server that says so after every list is asked more and more seldom", () =>
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

  it.scoped("while it is being opened is fetched again", () =>
    Effect.gen(function* () {
      const { controls, toolNames } = yield* supervise({ servers: { a: local } })
      const attempt = yield* controls.awaitAttempt("a")
      const late = yield* Deferred.make<void>()
      yield* attempt.open({ tools: ["old"], prompts: Effect.as(Deferred.await(late), []) })
      yield* settle
      // the tools were fetched already, the prompts not yet
      yield* attempt.set({ tools: ["new"] })
      yield* attempt.listChanged("tools")
      yield* Deferred.succeed(late, undefined)
      yield* passed("1 second")
      assert.deepStrictEqual(yield* toolNames, ["a_new"])
    })
  )

  it.scoped("and fails to be fetched keeps what is known, says so, and is tried again", () =>
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

  it.scoped("nobody heard of is fetched after the time to live, that of the server or else of the config", () =>
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

  it.scoped("is fetched by a shorter time to live as soon as the server says one", () =>
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

  it.scoped(
    "tools of a server that went away are not shown for longer than the grace, whatever the clock on the wall says",
    () =>
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
