/**
 * Executes the moves of a history.
 */
import { Effect, Fiber, Stream } from "effect"
import { attemptsOf } from "./ledger.js"
import { errorOf } from "./faults.js"
import type { CallMove, Move, What } from "./history.js"
import { plainSpec, resourceUri, type ServerSpec, toInput } from "./specs.js"
import { desiredOf, peek, type World } from "./world.js"

const forever = Number.POSITIVE_INFINITY

/** Starts an effect whose end is checked. */
const command = (
  world: World,
  name: string,
  server: string | undefined,
  effect: Effect.Effect<unknown, unknown>,
  within = forever
): void => {
  const until = world.simulation.elapsed() + within
  world.commands.push({ name, server, until, fiber: world.simulation.fork(effect) })
}

const call = (world: World, server: string, move: CallMove): void => {
  const { simulation, supervisor } = world
  const { interrupt, ready, replay, tool, total } = move
  const id = ++world.lastCall
  const options = { totalTimeout: total, waitForReady: ready, replay }
  const listed = peek(supervisor.catalog).tools.find((each) => each.server === server && each.rawName === tool)
  const fiber = simulation.fork(
    move.by === "raw"
      ? supervisor.callServerTool(server, tool, { n: id }, options)
      : supervisor.callTool(listed?.name ?? `${server}_${tool}`, { n: id }, options)
  )
  world.calls.push({ id, server, tool, replay, total, startedAt: simulation.elapsed(), fiber })
  if (interrupt < 0) return
  simulation.fork(Effect.raceFirst(Effect.delay(Fiber.interrupt(fiber), interrupt), Fiber.await(fiber)))
}

/** Applies the current config. */
export const reconcile = (world: World): void =>
  command(world, "reconcile", undefined, world.supervisor.reconcile(desiredOf(world.desired, world.globs)))

const subscribe = (world: World, server: string): void => {
  const updates = world.supervisor.subscribeResource(server, resourceUri)
  const record = {
    server,
    seen: 0,
    fiber: world.simulation.fork(
      Stream.runForEach(updates, ({ resync }) =>
        Effect.sync(() => {
          record.seen++
          world.met(resync === true ? "resync" : "resource updated")
        })
      )
    )
  }
  world.subscriptions.push(record)
}

const request = (
  world: World,
  server: string,
  kind: "read" | "prompt" | "complete"
): Effect.Effect<unknown, unknown> => {
  const { supervisor } = world
  switch (kind) {
    case "read":
      return supervisor.readResource(server, resourceUri)
    case "prompt":
      return supervisor.getPrompt(server, "p")
    case "complete":
      return supervisor.complete(server, { ref: { type: "ref/prompt", name: "p" }, argument: { name: "x", value: "" } })
  }
}

const openAttempts = (world: World, server: string) =>
  attemptsOf(world.ledger, server).filter(({ stage }) => stage === "open")

/** Changes the open sessions of a server: the newest, or all. */
const toSessions = (
  world: World,
  server: string,
  which: "newest" | "all",
  act: (attempt: Effect.Effect.Success<ReturnType<World["controls"]["awaitAttempt"]>>) => Effect.Effect<unknown>
): void => {
  const open = openAttempts(world, server)
  const chosen = new Set((which === "all" ? open : open.slice(-1)).map(({ number }) => number))
  const handles = peek(world.controls.attempts(server)).filter(({ number }) => chosen.has(number))
  for (const handle of handles) world.simulation.fork(act(handle))
}

const make = (world: World, what: What): void => {
  const { simulation, supervisor } = world
  world.met(`move ${what.do}`)
  if (what.do === "pass") return
  if (what.do === "jump") return simulation.jump(what.ms)
  if (what.do === "awaitSettled") {
    const { timeout } = what
    return command(world, what.do, undefined, supervisor.awaitSettled({ timeout }), timeout)
  }
  if (what.do === "unsubscribe") {
    const chosen = world.subscriptions[what.pick]
    if (chosen === undefined) return
    world.subscriptions = world.subscriptions.filter((other) => other !== chosen)
    return command(world, what.do, chosen.server, Fiber.interrupt(chosen.fiber))
  }
  const server = world.names[what.server % world.names.length]!
  const site = world.sites.get(server)!
  switch (what.do) {
    case "connect":
    case "restart":
    case "enable":
    case "disable":
    case "disconnect":
    case "remove":
      return command(world, what.do, server, supervisor[what.do](server))
    case "add":
      return add(world, server, what.spec)
    case "call":
      for (let times = 0; times < what.times; times++) call(world, server, what)
      return
    case "request":
      return command(world, "request", server, request(world, server, what.kind), 60_000)
    case "subscribe":
      return subscribe(world, server)
    case "change":
      world.desired.set(server, { ...(world.desired.get(server) ?? plainSpec), ...what.to })
      world.globs = what.globs
      return reconcile(world)
    case "drop":
      world.desired.delete(server)
      return reconcile(world)
    case "site.connect":
      site.connect = what.mode
      site.connectLeft = what.times
      return
    case "site.crash":
      return toSessions(world, server, what.all ? "all" : "newest", (attempt) => {
        world.met("crash")
        world.met(`error ${what.error}`)
        return attempt.crash(errorOf(what.error, server))
      })
    case "site.list":
      site.tools = what.tools
      site.listing = what.mode
      site.listingLeft = what.times
      site.changedAfter = Math.max(0, ...attemptsOf(world.ledger, server).map(({ number }) => number))
      site.toldTo = new Set(what.told > 0 ? openAttempts(world, server).map(({ number }) => number) : [])
      for (let told = 0; told < what.told; told++) {
        toSessions(world, server, "all", (attempt) => attempt.listChanged("tools"))
      }
      return
    case "site.calls":
      site.calls = what.mode
      return
    case "site.probe":
      site.probe = what.mode
      return
    case "site.closing":
      site.closing = what.mode
      return
    case "site.update":
      return toSessions(world, server, "newest", (attempt) => attempt.updateResource(resourceUri))
    case "site.push":
      return toSessions(world, server, "newest", (attempt) => attempt.setPush(what.push))
    case "site.log":
      return toSessions(world, server, "newest", (attempt) => attempt.log("a line"))
  }
}

const add = (world: World, server: string, spec: ServerSpec): void => {
  // an invalid entry is rejected at once, and servers that a program adds are always trusted
  const good: ServerSpec = { ...spec, flaw: "none" }
  command(
    world,
    "add",
    server,
    Effect.tap(world.supervisor.add(server, toInput(good)), () => Effect.sync(() => world.dynamic.set(server, good)))
  )
}

/** Two changes of the config at the same time would have an undefined result. */
const mustBeAlone = (what: What["do"]): boolean => ["add", "remove", "change", "drop"].includes(what)

export const drive = (world: World, moves: ReadonlyArray<Move>): void => {
  const { simulation } = world
  for (const move of moves) {
    if (mustBeAlone(move.do)) simulation.settle()
    world.log(() => `${simulation.elapsed()} ---- ${JSON.stringify(move)}`)
    make(world, move)
    if (move.wait > 0) simulation.advance(move.wait)
    else if (move.wait === 0 || mustBeAlone(move.do)) simulation.settle()
  }
  simulation.settle()
}
