import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as ServerConfig from "../../src/domain/server/ServerConfig.js"
import { FakeConnector } from "../../src/testing/Testing.js"
import { local, settle, supervise, textOf } from "./support.js"
import { visits } from "./visits.js"

const off = { ...local, disabled: true }
const open = (...tools: ReadonlyArray<string>) => FakeConnector.open({ tools })

describe("the work to add and remove one server", () => {
  /** The number of steps for one server among a number of others. */
  const workAmong = (count: number, others: ServerConfig.Input, one: ServerConfig.Input) =>
    Effect.gen(function* () {
      const names = Array.from({ length: count }, (_, index) => `s${index}`)
      const scripts = Object.fromEntries([...names, "one"].map((name) => [name, open("x", "y")]))
      const { supervisor } = yield* supervise(
        { servers: Object.fromEntries(names.map((name) => [name, others])) },
        { scripts }
      )
      yield* supervisor.awaitOutcomes()
      const change = Effect.gen(function* () {
        yield* supervisor.add("one", one)
        yield* supervisor.awaitOutcomes({ servers: ["one"] })
        yield* supervisor.remove("one")
      })
      // a warm-up: objects for the first change are reused by the others
      yield* change
      return yield* visits(change)
    }).pipe(Effect.scoped)

  const cases = [
    { title: "a disabled one among disabled ones", others: off, one: off },
    { title: "a connected one among disabled ones", others: off, one: local },
    { title: "a disabled one among connected ones", others: local, one: off },
    { title: "a connected one among connected ones", others: local, one: local }
  ]
  for (const { one, others, title } of cases) {
    it.effect(`does not grow with the number of servers: ${title}`, () =>
      Effect.gen(function* () {
        // a warm-up: a fiber that has run a supervisor carries more state than a new one
        yield* workAmong(1, others, one)
        const few = yield* workAmong(10, others, one)
        const many = yield* workAmong(110, others, one)
        assert.isAbove(few, 0)
        assert.isBelow(many - few, 50, `${few} steps among 10, ${many} among 110`)
      })
    )
  }
})

describe("a server that is added or removed while others run", () => {
  const hashed = (head: string) => new RegExp(`^${head}_[0-9a-v]{10}$`)

  it.scoped("changes the public names of tools with its prefix, and restores them", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor, toolNames } = yield* supervise(
        { servers: { a: local, p_q: local, other: local } },
        { scripts: { a: open("b_x", "y"), p_q: open("z"), other: open("a_b_x") } }
      )
      const before = ["a_b_x", "a_y", "p_q_z", "other_a_b_x"]
      assert.deepStrictEqual(yield* toolNames, before)
      const { revision } = yield* supervisor.catalog
      const changes = () =>
        eventsOf("CatalogChanged")
          .filter((event) => event.revision > revision)
          .map(({ added, removed, revision, server }) => ({ revision, server, added, removed }))

      yield* supervisor.add("a_b", off)
      yield* supervisor.add("p", off)
      const [x = "", y, z = "", other, ...rest] = yield* toolNames
      assert.match(x, hashed("a_b_x"))
      assert.match(z, hashed("p_q_z"))
      assert.deepStrictEqual([y, other, ...rest], ["a_y", "other_a_b_x"])
      const renamed = [
        { revision: revision + 1, server: "a", added: [x], removed: ["a_b_x"] },
        { revision: revision + 2, server: "p_q", added: [z], removed: ["p_q_z"] }
      ]
      assert.deepStrictEqual(changes(), renamed)
      assert.strictEqual(textOf(yield* supervisor.callTool(x)), "b_x")

      yield* supervisor.remove("p")
      yield* supervisor.remove("a_b")
      assert.deepStrictEqual(yield* toolNames, before)
      assert.deepStrictEqual(changes().slice(2), [
        { revision: revision + 3, server: "p_q", added: ["p_q_z"], removed: [z] },
        { revision: revision + 4, server: "a", added: ["a_b_x"], removed: [x] }
      ])
    })
  )

  it.scoped("comes last in all lists, also after others were removed", () =>
    Effect.gen(function* () {
      const { supervisor, toolNames } = yield* supervise(
        { servers: { a: local, b: off, c: local } },
        { scripts: { a: open("x"), b: open("x"), c: open("x"), d: open("x") } }
      )
      const names = Effect.map(supervisor.servers, (servers) => servers.map(({ name }) => name))
      yield* supervisor.remove("a")
      yield* supervisor.add("d", local)
      yield* supervisor.add("a", off)
      assert.deepStrictEqual(yield* names, ["b", "c", "d", "a"])
      yield* supervisor.enable("a")
      yield* supervisor.enable("b")
      yield* settle
      assert.deepStrictEqual(yield* toolNames, ["b_x", "c_x", "d_x", "a_x"])
    })
  )

  it.scoped("also renames tools that only an agent sees", () =>
    Effect.gen(function* () {
      const { eventsOf, supervisor } = yield* supervise(
        { servers: { a: local }, tools: { "*": false }, agents: { bold: { tools: { "*": true } } } },
        { scripts: { a: open("b_x") } }
      )
      const seen = Effect.map(supervisor.catalogFor("bold"), ({ tools }) => tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* seen, ["a_b_x"])
      yield* supervisor.add("a_b", off)
      const [renamed = "", ...rest] = yield* seen
      assert.match(renamed, hashed("a_b_x"))
      assert.deepStrictEqual(rest, [])
      assert.strictEqual(textOf(yield* supervisor.callTool(renamed, {}, { agent: "bold" })), "b_x")
      yield* supervisor.remove("a_b")
      assert.deepStrictEqual(yield* seen, ["a_b_x"])
      assert.deepStrictEqual(eventsOf("CatalogChanged"), [])
    })
  )

  it.scoped("reports a collision for both servers until one of them is removed", () =>
    Effect.gen(function* () {
      // two tools whose public names collide in all 50 bits of their hashes
      const { eventsOf, snapshot, supervisor, toolNames } = yield* supervise(
        { servers: { "s:": local } },
        { scripts: { "s:": open("//:$+.!."), "s.": open("==^!|:@.") } }
      )
      const codes = (server: string) =>
        Effect.map(snapshot(server), ({ diagnostics }) => diagnostics.map(({ code }) => code))
      const before = yield* toolNames
      assert.lengthOf(before, 1)
      yield* supervisor.add("s.", local)
      assert.deepStrictEqual([yield* codes("s:"), yield* codes("s.")], [["name_collision"], ["name_collision"]])
      assert.deepStrictEqual(yield* toolNames, [])
      yield* supervisor.remove("s.")
      assert.deepStrictEqual(yield* codes("s:"), [])
      assert.deepStrictEqual(yield* toolNames, before)
      assert.deepStrictEqual(
        eventsOf("Diagnostic").map(({ server }) => server),
        ["s.", "s:"]
      )
    })
  )
})
