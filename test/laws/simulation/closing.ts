/**
 * The end of a history: first all servers become correct, and every enabled one must connect. Then the supervisor is shut
 * down, and nothing may be left of it.
 */
import { Cause, Effect, Exit, Fiber, Scope } from "effect"
import type { ServerStatus } from "../../../src/index.js"
import { checkCalls } from "./callLaw.js"
import { attemptsOf, hasToldAll } from "./ledger.js"
import { hasHeard, repair } from "./sites.js"
import { longestPause, timeout, toolLists } from "./specs.js"
import { ensure, show } from "./statusLaw.js"
import { peek, valueOf, waitingForEver, type World } from "./world.js"

/** A delay, a failed attempt, a successful one, and the one that ran before. */
const recovery = longestPause + 2 * timeout.connect + timeout.total + 60_000

/** Without faults, every enabled server is connected after the time that its policy allows. */
export const recover = (world: World): void => {
  const { simulation, supervisor } = world
  for (const site of world.sites.values()) repair(site)
  const until = simulation.elapsed() + recovery
  while (simulation.elapsed() < until && peek(supervisor.servers).some(({ status }) => isUnderWay(status))) {
    simulation.advance("5 seconds")
  }
  for (const { name, status } of peek(supervisor.servers)) {
    ensure(status.status !== "connecting", `${name} is still connecting`)
    if (status.status === "failed" && status.retryAt !== undefined) {
      ensure(false, `${name} was not connected again: ${show(status)}`)
    }
    // only these wait for the user
    if (status.status === "connected" || status.status === "disabled") continue
    if (
      status.status === "failed" &&
      status.errorTag === "InvalidConfig" &&
      world.desired.get(name)?.flaw === "invalid"
    )
      continue
    world.met(`recover from ${status.status}`)
    const after = valueOf(simulation.run(supervisor.connect(name)))
    ensure(after.status === "connected", () => `${name} was ${show(status)}, and connect gives ${show(after)}`)
  }
  // the longest delay before a list that changes often is fetched again
  simulation.advance("1 minute")
  for (const { name, status } of peek(supervisor.servers)) {
    if (status.status !== "connected") continue
    checkList(world, name)
    use(world, name)
  }
}

/** The last change of a list is fetched. */
const checkList = (world: World, server: string): void => {
  const site = world.sites.get(server)!
  const serving = attemptsOf(world.ledger, server).findLast(hasToldAll)
  if (serving === undefined || !hasHeard(site, serving.number)) return
  world.met("list heard in the end")
  const expected = toolLists[site.tools]!.map(({ name }) => name)
  ensure(
    show(serving.tools) === show(expected),
    () => `${server} lists ${show(serving.tools)} in the end, not ${show(expected)}`
  )
}

/** Whether it is connecting, or will connect. */
const isUnderWay = (status: ServerStatus.ServerStatus): boolean =>
  status.status === "connecting" || (status.status === "failed" && status.retryAt !== undefined)

/** A connected server can be called. */
const use = (world: World, server: string): void => {
  const { simulation, supervisor } = world
  const tool = peek(supervisor.catalog).tools.find((tool) => tool.server === server)
  if (tool !== undefined) {
    const exit = simulation.run(supervisor.callTool(tool.name, { n: ++world.lastCall }))
    ensure(Exit.isSuccess(exit), () => `${tool.name} cannot be called in the end: ${show(exit)}`)
    world.met("used in the end")
  }
  for (const subscription of world.subscriptions.filter((each) => each.server === server)) {
    const before = subscription.seen
    const newest = attemptsOf(world.ledger, server).findLast(({ stage }) => stage === "open")!
    const handle = peek(world.controls.attempts(server)).find(({ number }) => number === newest.number)!
    valueOf(simulation.run(handle.updateResource("r://1")))
    ensure(subscription.seen > before, `a subscription to ${server} does not hear of an update in the end`)
    world.met("heard in the end")
  }
}

/** The maximum time of a shutdown. */
const shutdownBudget = 5_000

export const shutDown = (world: World): void => {
  const { ledger, simulation } = world
  const calls = world.calls.map(({ fiber, id }) => [`call ${id}`, fiber] as const)
  const commands = world.commands.map(({ fiber, name }) => [name, fiber] as const)
  const closing = simulation.fork(Scope.close(world.scope, Exit.void))
  const begin = simulation.elapsed()
  const took = () => simulation.elapsed() - begin
  simulation.settle()
  while (closing.unsafePoll() === null && took() < 10 * shutdownBudget) simulation.advance(100)
  const exit = closing.unsafePoll()
  ensure(exit !== null, "the shutdown does not end")
  ensure(took() <= shutdownBudget, `the shutdown takes ${took()} ms`)
  ensure(Exit.isSuccess(exit), () => `the shutdown failed: ${show(exit)}`)
  for (const [what, fiber] of [...calls, ...commands]) {
    ensure(fiber.unsafePoll() !== null, `${what} still waits after the shutdown`)
  }
  checkCalls(world)
  for (const { fiber, server } of world.subscriptions) {
    ensure(fiber.unsafePoll() !== null, `the subscription to ${server} goes on after the shutdown`)
  }
  world.readers.forEach((fiber, index) => {
    const end = fiber.unsafePoll()
    ensure(end !== null, `reader ${index} goes on after the shutdown`)
    ensure(Exit.isSuccess(end), () => `reader ${index} failed: ${Exit.isFailure(end) ? Cause.pretty(end.cause) : ""}`)
  })
  const left = [...ledger.attempts.values()].flat()
  const stuck = left.filter(({ closingAt }) => closingAt === undefined)
  ensure(
    stuck.length === 0,
    () => `not closed after the shutdown: ${stuck.map(({ number, server }) => `${server}#${number}`)}`
  )
  // a server whose close never ends keeps running
  if (left.length === 0) {
    const pending = simulation.pendingTimers()
    ensure(pending === 0, `${pending} timers are pending after the shutdown`)
    const waiting = waitingForEver() - world.waitingBefore
    ensure(waiting === 0, `${waiting} fibers wait for ever after the shutdown`)
  } else world.met("never closed")
  const late = simulation.run(Effect.exit(world.supervisor.callServerTool("a", "read")))
  ensure(
    Exit.isSuccess(late) && show(Exit.mapError(late.value, ({ _tag }) => _tag)) === show(Exit.fail("SupervisorClosed")),
    () => `a call after the shutdown ends with ${show(late)}`
  )
  // Effect holds a root fiber that waits, and the fiber holds the whole world
  simulation.run(Fiber.interrupt(world.journalReader))
}
