/**
 * The simulated servers with their current behaviour. A session reads it at each request, so a server can become faulty while
 * it is connected.
 */
import { Effect } from "effect"
import { Errors, type Session } from "../../../src/index.js"
import { FakeConnector } from "../../../src/testing/Testing.js"
import {
  type CallMode,
  type ClosingMode,
  type ConnectMode,
  errorOf,
  type ListingMode,
  type ProbeMode
} from "./faults.js"
import { resourceUri, toolLists } from "./specs.js"

export interface Site {
  readonly name: string
  /** The behaviour of the next attempts, and their number. */
  connect: ConnectMode
  connectLeft: number
  /** The index of its current list of tools. */
  tools: number
  listing: ListingMode
  listingLeft: number
  /** The newest attempt at the last change of the list, and those that were notified. */
  changedAfter: number
  toldTo: ReadonlySet<number>
  calls: CallMode
  probe: ProbeMode
  closing: ClosingMode
}

/** The callbacks of a site. */
export interface Watch {
  readonly met: (what: string) => void
  /** It returned its tools. */
  readonly listed: (server: string, attempt: number, tools: ReadonlyArray<string>) => void
  /** A call in the journal did not reach the server. */
  readonly unsent: (call: unknown) => void
  /** Ends the session of an attempt. */
  readonly crash: (server: string, attempt: number, error: Errors.ConnectionError) => Effect.Effect<void>
}

export const makeSite = (name: string): Site => ({
  name,
  connect: { kind: "good" },
  connectLeft: 0,
  tools: 0,
  listing: "good",
  listingLeft: 0,
  changedAfter: 0,
  toldTo: new Set(),
  calls: "answer",
  probe: "good",
  closing: "at once"
})

/** Removes all faults. The list stays unchanged. */
export const repair = (site: Site): void => {
  const { changedAfter, name, toldTo, tools } = site
  Object.assign(site, { ...makeSite(name), tools, changedAfter, toldTo })
}

/** Whether the session of this attempt must know the current list. */
export const hasHeard = ({ changedAfter, toldTo }: Site, attempt: number): boolean =>
  attempt > changedAfter || toldTo.has(attempt)

export const behaviourOf = (site: Site, watch: Watch): FakeConnector.Behaviour => {
  const mode: ConnectMode = site.connectLeft-- > 0 ? site.connect : { kind: "good" }
  const server = serverOf(site, watch)
  watch.met(`connect ${mode.kind}`)
  if ("error" in mode) watch.met(`error ${mode.error}`)
  return closing(site, toBehaviour(site.name, mode, server))
}

const toBehaviour = (name: string, mode: ConnectMode, server: FakeConnector.ServerOptions): FakeConnector.Behaviour => {
  switch (mode.kind) {
    case "good":
      return FakeConnector.open(server)
    case "fail":
      return FakeConnector.failAfter(mode.after, errorOf(mode.error, name))
    case "slow":
      return FakeConnector.open({ ...server, latency: mode.after })
    case "hang":
      return FakeConnector.hang
    case "crash":
      return FakeConnector.openThenCrash(mode.after, errorOf(mode.error, name), server)
  }
}

const closing = (site: Site, behaviour: FakeConnector.Behaviour): FakeConnector.Behaviour => {
  switch (site.closing) {
    case "at once":
      return behaviour
    case "slow":
      return FakeConnector.closing(behaviour, 2_000)
    case "forever":
      return FakeConnector.closing(behaviour, "forever")
  }
}

const serverOf = (site: Site, watch: Watch): FakeConnector.ServerOptions => ({
  tools: (call) => listing(site, watch, call.attempt),
  resources: [resourceUri],
  prompts: ["p"],
  completes: { completion: { values: ["x"] } },
  calls: (call) => answer(site, watch, call),
  probe: Effect.suspend(() => probing(site, watch))
})

type Listed = Effect.Effect<ReadonlyArray<FakeConnector.ToolInput>, Session.RequestError>

const listing = (site: Site, watch: Watch, attempt: number): Listed => {
  const mode = site.listingLeft-- > 0 ? site.listing : "good"
  const { name: server } = site
  const good = Effect.sync(() => {
    const tools = toolLists[site.tools]!
    watch.listed(
      server,
      attempt,
      tools.map(({ name }) => name)
    )
    return tools
  })
  watch.met(`list ${mode}`)
  switch (mode) {
    case "good":
      return good
    case "slow":
      return Effect.delay(good, "2 seconds")
    case "hang":
      return Effect.never
    case "crash":
      return Effect.zipRight(watch.crash(server, attempt, errorOf("exited", server)), Effect.never)
    default:
      return Effect.fail(requestError(mode, server))
  }
}

const answer = (
  site: Site,
  watch: Watch,
  call: FakeConnector.Call<typeof FakeConnector.text extends (text: string) => infer Result ? Result : never>
): Effect.Effect<ReturnType<typeof FakeConnector.text>, Session.RequestError> => {
  const { calls: mode, name: server } = site
  const good = Effect.succeed(FakeConnector.text(call.name))
  watch.met(`call ${mode}`)
  switch (mode) {
    case "answer":
      return good
    case "slow":
      return Effect.delay(good, "3 seconds")
    case "stuck":
      return Effect.never
    case "progress":
      return Effect.zipRight(Effect.repeatN(Effect.delay(call.progress({ progress: 1 }), "4 seconds"), 4), good)
    case "error":
      return Effect.succeed(FakeConnector.errorText("no"))
    case "crash":
      return Effect.zipRight(watch.crash(server, call.attempt, errorOf("closed", server)), Effect.never)
    case "unsent":
      watch.unsent(call.args.n)
      return Effect.fail(new Errors.NotSent({ server, reason: "no" }))
    case "lost":
      return Effect.fail(new Errors.OutcomeUnknown({ server, cause: errorOf("closed", server) }))
    default:
      return Effect.fail(requestError(mode, server))
  }
}

const probing = (site: Site, watch: Watch): Effect.Effect<void, Errors.ConnectionError> => {
  watch.met(`probe ${site.probe}`)
  switch (site.probe) {
    case "good":
      return Effect.void
    case "fail":
      return Effect.fail(errorOf("closed", site.name))
    case "hang":
      return Effect.never
    case "slow":
      return Effect.sleep("3 seconds")
  }
}

const requestError = (
  mode: "fail" | "refuse" | "garbage" | "limited" | "auth",
  server: string
): Session.RequestError => {
  switch (mode) {
    case "fail":
    case "refuse":
      return new Errors.ProtocolError({ server, code: -32603, message: "no" })
    case "garbage":
      return new Errors.InvalidResult({ server, issues: [{ path: [], expected: "a result", found: "garbage" }] })
    case "limited":
      return new Errors.RateLimited({ server, retryAfter: 1_000 })
    case "auth":
      return new Errors.AuthRequired({ server, reason: "401", login: true })
  }
}
