/**
 * Laws of commands: each ends when the state that it waits for is reached.
 */
import { Cause, Exit, Option, Predicate } from "effect"
import type * as ServerSnapshot from "../../../src/domain/server/ServerSnapshot.js"
import type { ServerStatus } from "../../../src/index.js"
import { attemptsOf } from "./ledger.js"
import { ensure } from "./statusLaw.js"
import type { CommandRecord, World } from "./world.js"

type Snapshots = ReadonlyArray<ServerSnapshot.ServerSnapshot>

export const checkCommands = (world: World, snapshots: Snapshots): void => {
  const running: Array<CommandRecord> = []
  for (const command of world.commands) {
    const exit = command.fiber.unsafePoll()
    if (exit !== null) checkExit(world, command, exit)
    else {
      checkWaiting(world, command, snapshots)
      running.push(command)
    }
  }
  world.commands = running
}

const checkExit = (world: World, { name, server }: CommandRecord, exit: Exit.Exit<unknown, unknown>): void => {
  const claim = `${name} ${server ?? ""}`
  if (Exit.isFailure(exit)) {
    const failure = Cause.failureOption(exit.cause)
    ensure(Option.isSome(failure) || Cause.isInterruptedOnly(exit.cause), () => `${claim}: ${Cause.pretty(exit.cause)}`)
    const tag =
      Option.isSome(failure) && Predicate.hasProperty(failure.value, "_tag") ? failure.value._tag : "interrupted"
    return world.met(`${name} ${String(tag)}`)
  }
  world.met(`${name} done`)
  if (name === "connect" || name === "restart") {
    const { status } = exit.value as ServerStatus.ServerStatus
    ensure(status !== "connecting", `${claim} gave a status that is none yet`)
  }
}

/** When nothing runs, every pending command must have a reason to wait. */
const checkWaiting = (world: World, { name, server, until }: CommandRecord, snapshots: Snapshots): void => {
  const claim = `${name} ${server ?? ""} still waits`
  ensure(world.simulation.elapsed() <= until, `${claim} after its time`)
  const isConnecting = (each: ServerSnapshot.ServerSnapshot) => each.status.status === "connecting"
  switch (name) {
    case "connect":
    case "restart":
      return ensure(
        snapshots.some((each) => each.name === server && isConnecting(each)),
        `${claim}, but the server is not connecting`
      )
    case "awaitSettled":
      return ensure(snapshots.some(isConnecting), `${claim}, but nothing is connecting`)
    case "remove":
      return ensure(attemptsOf(world.ledger, server!).length > 0, `${claim}, but nothing of it is left`)
    case "reconcile":
      return ensure(
        world.names.some((each) => attemptsOf(world.ledger, each).length > 0),
        `${claim}, but nothing is left to end`
      )
    case "request":
      return
    default:
      return ensure(false, claim)
  }
}
