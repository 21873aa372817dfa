/**
 * The invariants that hold whenever nothing is left to do.
 */
import { Cause, Exit } from "effect"
import type * as ServerSnapshot from "../../../src/domain/server/ServerSnapshot.js"
import { checkCalls } from "./callLaw.js"
import { makeCatalogLaw } from "./catalogLaw.js"
import { checkCommands } from "./commandLaw.js"
import { attemptsOf, hasToldAll, liveAttempts } from "./ledger.js"
import { ensure, makeStatusLaw } from "./statusLaw.js"
import { peek, type World } from "./world.js"

export const makeInvariants = (world: World): { readonly check: () => void } => {
  const statuses = makeStatusLaw(world)
  const catalogs = makeCatalogLaw(world)
  let last: ReadonlyArray<unknown> = []

  const check = () => {
    ensure(world.wrongs.length === 0, () => world.wrongs.join("\n"))
    const hasNews = world.news.length > 0
    for (const event of world.news.splice(0)) {
      statuses.hear(event)
      catalogs.hear(event)
    }
    const snapshots = peek(world.supervisor.servers)
    const catalog = peek(world.supervisor.catalog)
    checkCalls(world)
    checkCommands(world, snapshots)
    // most moments are equal to the previous one
    const seen = [snapshots, catalog, world.ledger.entries, Math.floor(world.simulation.elapsed() / 5_000)]
    if (seen.every((each, index) => each === last[index]) && !hasNews) return
    last = seen
    statuses.rest(snapshots)
    checkLinks(world, snapshots)
    checkSubscriptions(world, snapshots)
    catalogs.rest(snapshots, catalog)
  }
  return { check }
}

const checkLinks = (world: World, snapshots: ReadonlyArray<ServerSnapshot.ServerSnapshot>): void => {
  const { controls, ledger, simulation } = world
  const open = peek(controls.openSessions())
  ensure(open === ledger.sessions, `${open} sessions are open, but ${ledger.sessions} were opened and not closed`)
  for (const { name, status } of snapshots) {
    const live = liveAttempts(ledger, name, simulation.elapsed())
    ensure(live.length <= 3, `${name} has ${live.length} links`)
    const count = (stage: "opening" | "open") => live.filter((attempt) => attempt.stage === stage).length
    ensure(count("opening") <= 1, `${name} opens ${count("opening")} links at once`)
    const open = live.filter(({ stage }) => stage === "open")
    const serving = status.status === "connected" ? open.findLast(hasToldAll) : undefined
    for (const { number, pending } of open) {
      if (serving === undefined || number >= serving.number) continue
      ensure(pending.size > 0, `${name}#${number} was replaced and has nothing left to do, but nobody closes it`)
      world.met("drained")
    }
    if (status.status === "disabled") {
      ensure(count("opening") + count("open") === 0, `${name} is disabled, but has a link that nobody closes`)
    }
  }
  for (const name of world.names) {
    if (snapshots.some((each) => each.name === name)) continue
    const left = attemptsOf(ledger, name).filter(({ stage }) => stage !== "over")
    ensure(left.length === 0, `${name} is gone, but has a link that nobody closes`)
  }
}

const checkSubscriptions = (world: World, snapshots: ReadonlyArray<ServerSnapshot.ServerSnapshot>): void => {
  world.subscriptions = world.subscriptions.filter(({ fiber, server }) => {
    const exit = fiber.unsafePoll()
    if (exit === null) {
      ensure(
        snapshots.some(({ name }) => name === server),
        `a subscription outlives its server ${server}`
      )
      return true
    }
    ensure(Exit.isFailure(exit), `a subscription to ${server} ended without a reason`)
    ensure(exit.cause._tag === "Fail", () => `a subscription to ${server} ended: ${Cause.pretty(exit.cause)}`)
    world.met(`subscription ${exit.cause.error._tag}`)
    return false
  })
}
