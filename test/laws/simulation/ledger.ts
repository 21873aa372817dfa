/**
 * What the servers saw: every attempt to reach them, what they told, and which calls they got. Kept up to date from the
 * journal of the fake, entry by entry.
 */
import type { FakeConnector } from "../../../src/testing/Testing.js"

/** An attempt to connect, as its server sees it. */
export interface AttemptRecord {
  readonly server: string
  readonly number: number
  stage: "opening" | "open" | "over"
  /** Whether it ever was open. */
  opened: boolean
  closed: boolean
  /** Since when its end is waited for, if that takes time. */
  closingAt: number | undefined
  /** What was asked of it. */
  readonly asked: Set<string>
  /** Calls that it has not answered. */
  readonly pending: Set<number>
  /** The tools it told last. */
  tools: ReadonlyArray<string> | undefined
}

export interface Ledger {
  /** By server, oldest first, without those that are over and closed. */
  readonly attempts: Map<string, Array<AttemptRecord>>
  /** Tools that were told by attempts of which nothing else is noted yet: the journal is read a moment later. */
  readonly early: Map<string, ReadonlyArray<string>>
  /** The tools that each server told last, whether or not anybody came to see it connected. */
  readonly lastTold: Map<string, ReadonlyArray<string>>
  /** How often a call was received, by its number. */
  readonly received: Map<unknown, number>
  /** Calls that did not get as far as their server, whatever else became of their session. */
  readonly unsent: Set<unknown>
  /** Sessions that were opened and not closed. */
  sessions: number
  /** How often something happened that matters. */
  entries: number
}

/** No connection may take longer than this to end: then nobody waits for it any more. */
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

/** Notes the tools that a server tells. */
export const noteTools = (ledger: Ledger, server: string, number: number, tools: ReadonlyArray<string>): void => {
  ledger.lastTold.set(server, tools)
  const attempt = attemptsOf(ledger, server).find((attempt) => attempt.number === number)
  if (attempt === undefined) ledger.early.set(`${server}#${number}`, tools)
  else attempt.tools = tools
}

export const attemptsOf = (ledger: Ledger, server: string): ReadonlyArray<AttemptRecord> =>
  ledger.attempts.get(server) ?? []

/** Those that still count: not the ones whose end nobody waits for any more. */
export const liveAttempts = (ledger: Ledger, server: string, now: number): ReadonlyArray<AttemptRecord> =>
  attemptsOf(ledger, server).filter((attempt) => !isGivenUp(attempt, now))

export const isGivenUp = ({ closingAt }: AttemptRecord, now: number): boolean =>
  closingAt !== undefined && now - closingAt >= closeBudget

/** Notes an entry, and says what is wrong with it. */
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
  // an answer may come later than the end
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

/** A call that the journal has did not reach its server. */
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

/** At most one serves, one opens, one drains; and nothing opens beside one that closes. */
const objection = (server: string, number: number, others: ReadonlyArray<AttemptRecord>): string | undefined => {
  const what = `${server}#${number} is opened`
  if (others.length > 2) return `${what} beside ${others.length} others`
  const opening = others.find(({ stage }) => stage === "opening")
  if (opening !== undefined) return `${what} while #${opening.number} is being opened`
  const closing = others.find(({ closingAt }) => closingAt !== undefined)
  if (closing !== undefined) return `${what} while #${closing.number} is closing`
  return undefined
}

/** Whether it has told everything that belongs to being connected. */
export const hasToldAll = ({ asked, stage, tools }: AttemptRecord): boolean =>
  stage === "open" &&
  tools !== undefined &&
  ["resources", "resourceTemplates", "prompts"].every((list) => asked.has(list))
