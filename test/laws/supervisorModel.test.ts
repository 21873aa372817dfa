import { assert, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, Layer, Logger, LogLevel, Scope } from "effect"
import { Connector } from "../../src/connection/Connector.js"
import { ToolName } from "../../src/index.js"
import { McpSupervisor, type Shape } from "../../src/supervision/model.js"
import * as Supervisor from "../../src/supervision/Supervisor.js"
import { FakeConnector, Simulation } from "../../src/testing/Testing.js"
import { nextTurn, runs } from "./runs.js"

/** The model: each server with its origin, and whether it should be connected. */
type Model = Map<string, { readonly origin: "config" | "dynamic"; readonly isUp: boolean }>

interface Real {
  readonly supervisor: Shape
  readonly simulation: Simulation.Simulation
}

type Command = fc.Command<Model, Real>

const names = ["a", "b", "a_b"] as const
const tools = ["one", "two"]
const entry = { command: "server" }

/** Compares the supervisor's snapshots with the model. */
const agree = (model: Model, { simulation, supervisor }: Real): void => {
  simulation.settle()
  const snapshots = Effect.runSync(supervisor.servers)
  const byName = (list: ReadonlyArray<readonly [string, string, string]>) => [...list].sort()
  assert.deepStrictEqual(
    byName(snapshots.map(({ name, origin, status }) => [name, origin, status.status])),
    byName([...model].map(([name, { isUp, origin }]) => [name, origin, isUp ? "connected" : "disabled"]))
  )
  const nameOf = ToolName.namer(model.keys())
  const up = [...model].filter(([, { isUp }]) => isUp)
  assert.deepStrictEqual(
    Effect.runSync(supervisor.catalog)
      .tools.map(({ name }) => name)
      .sort(),
    up.flatMap(([server]) => tools.map((tool) => nameOf({ server, tool }))).sort()
  )
}

/** A command, its effect on the model, and its expected result. */
const command = (
  text: string,
  act: (supervisor: Shape) => Effect.Effect<unknown, { readonly _tag: string }>,
  expect: (model: Model) => string | undefined
): Command => ({
  check: () => true,
  run: (model, real) => {
    const failure = expect(model)
    const exit = real.simulation.run(Effect.either(act(real.supervisor)))
    assert.isTrue(Exit.isSuccess(exit), text)
    if (Exit.isSuccess(exit)) {
      assert.strictEqual(exit.value._tag === "Left" ? exit.value.left._tag : undefined, failure, text)
    }
    agree(model, real)
  },
  toString: () => text
})

/** A command on a server that must exist. */
const about = (
  what: "connect" | "restart" | "enable" | "disable" | "disconnect" | "remove",
  name: string,
  change: (model: Model, server: { readonly origin: "config" | "dynamic"; readonly isUp: boolean }) => void
): Command =>
  command(
    `${what} ${name}`,
    (supervisor) => supervisor[what](name),
    (model) => {
      const server = model.get(name)
      if (server === undefined) return "ServerNotFound"
      change(model, server)
      return undefined
    }
  )

const setUp = (name: string, isUp: boolean) => (model: Model, server: { readonly origin: "config" | "dynamic" }) =>
  void model.set(name, { ...server, isUp })

const add = (name: string): Command =>
  command(
    `add ${name}`,
    (supervisor) => supervisor.add(name, entry),
    (model) => {
      if (model.has(name)) return "ServerExists"
      model.set(name, { origin: "dynamic", isUp: true })
      return undefined
    }
  )

/** A config replaces the previous one and servers with its names; a server that a command disabled stays disabled. */
const reconcile = (configured: ReadonlyArray<string>): Command =>
  command(
    `reconcile ${configured.join(" ")}`,
    (supervisor) => supervisor.reconcile({ servers: Object.fromEntries(configured.map((name) => [name, entry])) }),
    (model) => {
      for (const [name, { origin }] of model) {
        if (origin === "config" && !configured.includes(name)) model.delete(name)
      }
      for (const name of configured) model.set(name, { origin: "config", isUp: model.get(name)?.isUp ?? true })
      return undefined
    }
  )

const commands = fc.commands(
  [
    fc.constantFrom(...names).map(add),
    fc.constantFrom(...names).map((name) => about("remove", name, (model) => void model.delete(name))),
    fc.constantFrom(...names).map((name) => about("connect", name, setUp(name, true))),
    fc.constantFrom(...names).map((name) => about("restart", name, setUp(name, true))),
    fc.constantFrom(...names).map((name) => about("enable", name, setUp(name, true))),
    fc.constantFrom(...names).map((name) => about("disable", name, setUp(name, false))),
    fc.constantFrom(...names).map((name) => about("disconnect", name, setUp(name, false))),
    fc.subarray([...names]).map(reconcile)
  ],
  { maxCommands: 30, size: "max" }
)

const law = fc.property(fc.nat(), commands, (seed, commands) => {
  const simulation = Simulation.make(seed)
  const scope = Effect.runSync(Scope.make())
  const build = Effect.gen(function* () {
    const good = FakeConnector.open({ tools })
    const { connector } = yield* FakeConnector.make(Object.fromEntries(names.map((name) => [name, good])))
    const layer = Layer.provide(Supervisor.layer(), Layer.succeed(Connector, connector))
    return yield* Effect.provide(McpSupervisor, yield* Layer.buildWithScope(layer, scope))
  })
  const built = simulation.run(Logger.withMinimumLogLevel(build, LogLevel.None))
  assert.isTrue(Exit.isSuccess(built))
  if (Exit.isFailure(built)) return
  fc.modelRun(() => ({ model: new Map(), real: { simulation, supervisor: built.value } }), commands)
  simulation.run(Scope.close(scope, Exit.void))
  assert.strictEqual(simulation.pendingTimers(), 0)
})

/** A run of all histories takes many seconds: the event loop turns after each part. */
const parts = 10

it("behaves like a list of names with one switch each", async () => {
  for (let part = 0; part < parts; part += 1) {
    fc.assert(law, runs(200 / parts))
    await nextTurn()
  }
})
