/**
 * Laws of calls: each ends once and in time, no unsafe call is executed twice, and its error is right about whether it was
 * executed.
 */
import { Cause, Exit, Option } from "effect"
import type { Errors } from "../../../src/index.js"
import { isRepeatable } from "./specs.js"
import { ensure } from "./statusLaw.js"
import type { CallRecord, World } from "./world.js"

/** The errors of calls that were not executed. */
const notExecuted: ReadonlyArray<Errors.CallError["_tag"]> = [
  "NotSent",
  "ServerNotFound",
  "ToolNotFound",
  "ServerUnavailable",
  "InvalidArguments",
  "Overloaded",
  "SupervisorClosed"
]

/** The errors that the server itself returns. */
const answered: ReadonlyArray<Errors.CallError["_tag"]> = [
  "OutcomeUnknown",
  "RateLimited",
  "InvalidResult",
  "ProtocolError"
]

export const checkCalls = (world: World): void => {
  const now = world.simulation.elapsed()
  const running: Array<CallRecord> = []
  for (const call of world.calls) {
    const received = world.ledger.received.get(call.id) ?? 0
    const most = isRepeatable(call.tool) && call.replay === "safe" ? 2 : 1
    ensure(received <= most, `${name(call)} was received ${received} times`)
    const exit = call.fiber.unsafePoll()
    if (exit !== null) checkExit(world, call, exit, received)
    else {
      ensure(now - call.startedAt <= call.total, `${name(call)} still runs after its ${call.total} ms`)
      running.push(call)
    }
  }
  world.calls = running
}

const checkExit = (
  world: World,
  call: CallRecord,
  exit: Exit.Exit<unknown, Errors.CallError>,
  received: number
): void => {
  if (received === 2) world.met("replayed")
  if (Exit.isSuccess(exit)) {
    world.met("outcome ok")
    return ensure(received > 0, `${name(call)} was answered, but never received`)
  }
  const failure = Cause.failureOption(exit.cause)
  if (Option.isNone(failure)) {
    ensure(Cause.isInterruptedOnly(exit.cause), () => `${name(call)}: ${Cause.pretty(exit.cause)}`)
    return world.met("outcome interrupted")
  }
  const error = failure.value
  world.met(`outcome ${error._tag}`)
  const claim = `${name(call)} ended with ${error._tag}`
  if (notExecuted.includes(error._tag)) ensure(received === 0, `${claim}, but was received ${received} times`)
  // a session that ends while a call is sent cannot know how far the call got
  const isUndecided = error._tag === "OutcomeUnknown" && world.ledger.unsent.has(call.id)
  if (answered.includes(error._tag)) ensure(received > 0 || isUndecided, `${claim}, but was never received`)
  if (error._tag === "CallTimeout") {
    ensure(error.sent === received > 0, `${claim}, sent ${error.sent}, but was received ${received} times`)
  }
}

const name = ({ id, server, tool }: CallRecord): string => `call ${id} of ${server}/${tool}`
