/**
 * Records what the servers saw: every attempt, their listings, and the calls that they received. Updated entry by entry from
 * the journal of the fake.
 */
import type { FakeConnector } from "../../../src/testing/Testing.js"

/** An attempt, as its server sees it. */
export interface AttemptRecord {
  readonly server: string
  readonly number: number
  stage: "opening" | "open" | "over"
  /** Whether it was ever open. */
  opened: boolean
  closed: boolean
  /** The time since which it is closing, if closing takes time. */
  closingAt: number | undefined
  /** The requests that it received. */
  readonly asked: Set<string>
  /** The pending calls. */
  readonly pending: Set<number>
  /** The tools of the last listing. */
  tools: ReadonlyArray<string> | undefined
}

export interface Ledger {
  /** By server, oldest first, without finished ones. */
  readonly attempts: Map<string, Array<AttemptRecord>>
  /** Listings of attempts that are not recorded yet: the journal is read a moment later. */
  readonly early: Map<string, ReadonlyArray<string>>
  /** The last listing of each server, even if the server was never seen connected. */
  readonly lastTold: Map<string, ReadonlyArray<string>>
  /** How often a call was received, by its number. */
  readonly received: Map<unknown, number>
  /** Calls that did not reach their server. */
  readonly unsent: Set<unknown>
  /** Sessions that were opened and not closed. */
  sessions: number
  /** Counts of important events. */
  entries: number
}

/** The maximum time that the supervisor waits for a connection to close. */
export const closeBudget = 4_500

export const makeLedger = (): Ledger => ({
  attempts: new Map(),
  early: new Map(),
  lastTold: new Map(),
  received: new Map(),
  unsent: new Set(),
  sessions: 0,
  entries: 0
})

/** Records a listing. */
export const noteTools = (ledger: Ledger, server: string, number: number, tools: ReadonlyArray<string>): void => {
  ledger.lastTold.set(server, tools)
  const attempt = attemptsOf(ledger, server).find((attempt) => attempt.number === number)
  if (attempt === undefined) ledger.early.set(`${server}#${number}`, tools)
  else attempt.tools = tools
}

export const attemptsOf = (ledger: Ledger, server: string): ReadonlyArray<AttemptRecord> =>
  ledger.attempts.get(server) ?? []

/** Without those whose close took too long. */
export const liveAttempts = (ledger: Ledger, server: string, now: number): ReadonlyArray<AttemptRecord> =>
  attemptsOf(ledger, server).filter((attempt) => !isGivenUp(attempt, now))

export const isGivenUp = ({ closingAt }: AttemptRecord, now: number): boolean =>
  closingAt !== undefined && now - closingAt >= closeBudget

/** Records an entry, and returns what violates a law. */
export const note = (ledger: Ledger, entry: FakeConnector.Entry, now: number): string | undefined => {
  const { server } = entry
  if (entry.type !== "probed") ledger.entries++
  if (entry.type === "opening") {
    const others = liveAttempts(ledger, server, now)
    const attempt = newAttempt(server, entry.attempt)
    attempt.tools = ledger.early.get(`${server}#${entry.attempt}`)
    ledger.attempts.set(server, [...attemptsOf(ledger, server), attempt])
    return objection(server, entry.attempt, others)
  }
  if (entry.type === "called") noteReceived(ledger, entry.args.n, 1)
  const attempt = attemptsOf(ledger, server).find(({ number }) => number === entry.attempt)
  // a response may arrive after the end
  if (attempt === undefined && (entry.type === "settled" || entry.type === "cancelled")) return undefined
  if (attempt === undefined) return `${server}#${entry.attempt} ${entry.type}, but it is not there`
  switch (entry.type) {
    case "opened":
      attempt.stage = "open"
      attempt.opened = true
      ledger.sessions++
      return undefined
    case "failed":
    case "abandoned":
    case "crashed":
      attempt.stage = "over"
      return undefined
    case "closing":
      attempt.stage = "over"
      attempt.closingAt = now
      return undefined
    case "closed":
      attempt.stage = "over"
      attempt.closed = true
      if (attempt.opened) ledger.sessions--
      ledger.attempts.set(
        server,
        attemptsOf(ledger, server).filter((other) => other !== attempt)
      )
      return undefined
    case "listed":
      attempt.asked.add(entry.list)
      return undefined
    case "called":
      attempt.pending.add(entry.call)
      return undefined
    case "settled":
    case "cancelled":
      attempt.pending.delete(entry.call)
      return undefined
    default:
      return undefined
  }
}

/** A call in the journal that did not reach its server. */
export const noteUnsent = (ledger: Ledger, call: unknown): void => {
  ledger.unsent.add(call)
  noteReceived(ledger, call, -1)
}

const noteReceived = (ledger: Ledger, call: unknown, times: 1 | -1): void =>
  void ledger.received.set(call, (ledger.received.get(call) ?? 0) + times)

const newAttempt = (server: string, number: number): AttemptRecord => ({
  server,
  number,
  stage: "opening",
  opened: false,
  closed: false,
  closingAt: undefined,
  asked: new Set(),
  pending: new Set(),
  tools: undefined
})

/** At most one serving, one opening and one draining link; and none opens while another one closes. */
const objection = (server: string, number: number, others: ReadonlyArray<AttemptRecord>): string | undefined => {
  const what = `${server}#${number} is opened`
  if (others.length > 2) return `${what} beside ${others.length} others`
  const opening = others.find(({ stage }) => stage === "opening")
  if (opening !== undefined) return `${what} while #${opening.number} is being opened`
  const closing = others.find(({ closingAt }) => closingAt !== undefined)
  if (closing !== undefined) return `${what} while #${closing.number} is closing`
  return undefined
}

/** Whether it listed everything that a connected server must list. */
export const hasToldAll = ({ asked, stage, tools }: AttemptRecord): boolean =>
  stage === "open" &&
  tools !== undefined &&
  ["resources", "resourceTemplates", "prompts"].every((list) => asked.has(list))
