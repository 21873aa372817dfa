/**
 * The catalogue: every misbehaviour by its name, with the expected outcome of a server that has it. The servers are in stdio.mjs,
 * http.mjs and payloads.mjs; a test checks that each of their modes is here.
 */
import type { ServerStatus } from "../../src/domain/server/ServerStatus.js"
import type { CallError } from "../../src/domain/Errors.js"

type Status = ServerStatus["status"]
type Outcome = "ok" | CallError["_tag"]

export interface Expected {
  /** The possible statuses after the first two attempts. */
  readonly status: ReadonlyArray<Status>
  /** The error of a failed server. A server's fault is never `UnexpectedFailure`, which is a defect of the supervisor. */
  readonly errorTags?: ReadonlyArray<string>
  /** The possible outcomes of a call to its tool `it`. */
  readonly call?: ReadonlyArray<Outcome>
  /** The number of its tools, if connected. */
  readonly tools?: number
}

export interface Mode {
  readonly name: string
  /** The sizes in CI and in the large campaign. The unit depends on the mode. */
  readonly size?: number
  readonly large?: number
  /** The arguments of the call. */
  readonly args?: () => Record<string, unknown>
  readonly timeout?: Readonly<Record<string, number>>
  /** Defaults to a server that is not restarted. */
  readonly restart?: { readonly maxRestarts: number }
  readonly expected: Expected
}

type Row = Omit<Mode, "name">

const table = (rows: Readonly<Record<string, Row>>): ReadonlyArray<Mode> =>
  Object.entries(rows).map(([name, row]) => ({ name, ...row }))

// --- outcomes of servers --------------------------------------------------------------------------------------------

const usable: Row = { expected: { status: ["connected"], call: ["ok"], tools: 1 } }
const answers = (...call: ReadonlyArray<Outcome>): Row => ({ expected: { status: ["connected"], call, tools: 1 } })
const lost = answers("OutcomeUnknown")
const fails = (...errorTags: ReadonlyArray<string>): Row => ({ expected: { status: ["failed"], errorTags } })
const incompatible = fails("IncompatibleServer")
const refused = fails("HandshakeRefused")
/** The end of the output and the exit of the process: either may be seen first. */
const ends = fails("ProcessExited", "ConnectionClosed")
const sized = (row: Row, size: number, large = size): Row => ({ ...row, size, large })

/** For handshakes without a response. */
const slow = (row: Row): Row => ({ ...row, timeout: { start: 2_500, connect: 2_500, list: 2_500 } })
const neverGreets = slow(fails("ConnectTimeout"))
const neverAnswers: Row = { ...answers("CallTimeout"), timeout: { call: 1_000 } }

/** Omitted from the list, with a diagnostic. */
const leftOut: Row = { expected: { status: ["connected"], call: ["ToolNotFound"], tools: 0 } }

// --- over stdio -----------------------------------------------------------------------------------------------------

export const stdioModes = table({
  good: usable,
  "answer-before-request": usable,
  "duplicate-answers": usable,
  "wrong-ids": neverGreets,
  "null-ids": neverGreets,
  "float-ids": neverGreets,
  "string-ids": neverGreets,
  "no-ids": neverGreets,
  "both-result-and-error": answers("ProtocolError"),
  "neither-result-nor-error": answers("InvalidResult"),
  "error-text": answers("ProtocolError"),
  "error-without-code": answers("ProtocolError"),
  "error-with-big-data": sized(answers("ProtocolError"), 100, 10_000),
  "wrong-jsonrpc": neverGreets,
  "no-jsonrpc": neverGreets,
  batches: usable,
  "pretty-printed": neverGreets,
  "initialize-error": fails("HandshakeRefused"),
  "list-error": fails("HandshakeRefused"),
  "two-initialize-answers": usable,
  "exit-at-start": fails("ProcessExited"),
  "exit-at-initialize": fails("ProcessExited"),
  "exit-after-initialize": ends,
  "exit-at-initialized": ends,
  "exit-at-list": ends,
  "exit-at-call": lost,
  "exit-well-at-call": lost,
  "exit-in-an-answer": lost,
  "killed-at-call": lost,
  "close-stdout-at-start": ends,
  "close-stdout-at-list": ends,
  "close-stdout-at-call": lost,
  "close-stdin-after-list": { expected: { status: ["connected"], call: ["OutcomeUnknown", "NotSent"] } },
  silent: neverGreets,
  "silent-list": slow(fails("ConnectTimeout")),
  "silent-call": neverAnswers,
  "silent-ping": usable,
  "not-reading": neverAnswers,
  "line-without-end-at-start": sized(fails("ConnectionClosed"), 66, 200),
  "line-without-end-at-call": sized({ ...lost, timeout: { call: 40_000, total: 60_000 } }, 66, 200),
  "byte-by-byte": usable,
  crlf: usable,
  bom: usable,
  "invalid-utf8": usable,
  "nul-bytes": usable,
  "line-separators": usable,
  banner: usable,
  "deep-lines": sized(usable, 10_000, 1_000_000),
  "notifications-before-answer": sized(usable, 5_000, 100_000),
  "unknown-notifications": sized(usable, 1_000, 10_000),
  "progress-before-answer": sized(usable, 1_000, 100_000),
  "progress-backwards": usable,
  "progress-for-others": usable,
  "late-progress": usable,
  "cancels-our-call": usable,
  "asks-what-we-do-not-offer": usable,
  "asks-with-our-ids": usable,
  "vanishing-tools": usable,
  "ignores-eof": usable,
  "ignores-eof-and-signals": usable,
  grandchild: usable,
  "grandchild-holds-stdout": usable,
  "grandchild-in-a-session-of-its-own": usable,
  "grandchild-after-exit": lost
})

/** Endless floods. A flooding server may keep running, or become `failed` with that error. */
const floods: Row = { expected: { status: ["connected", "connecting", "failed"] } }

export const stdioFloods = table({
  "newline-flood": floods,
  "garbage-flood": floods,
  "brace-flood": floods,
  "array-flood": floods,
  "notification-flood": floods,
  "list-changed-flood": floods,
  "progress-flood": floods,
  "answer-flood": floods,
  "ping-flood": floods,
  "ping-flood-deaf": floods,
  "roots-flood-deaf": floods,
  "sampling-flood-deaf": floods,
  "unknown-request-flood-deaf": floods,
  "stderr-flood": floods,
  "stderr-line-without-end": floods
})

// --- over HTTP ------------------------------------------------------------------------------------------------------

const httpFails = fails("HttpFailed")

export const httpModes = table({
  good: usable,
  silent: neverGreets,
  "silent-call": neverAnswers,
  drip: usable,
  "drip-without-end": neverAnswers,
  "endless-json": sized(lost, 66, 200),
  "endless-event": sized(lost, 66, 200),
  "endless-event-lines": sized(lost, 66, 200),
  "progress-then-answer": sized(usable, 1_000, 100_000),
  garbage: lost,
  "garbage-greeting": incompatible,
  html: lost,
  "html-greeting": incompatible,
  "no-content-type": lost,
  "odd-content-type": usable,
  "empty-body": lost,
  "empty-stream": lost,
  "body-array": usable,
  "foreign-id": lost,
  // the ids of the handshake are numbers
  "string-ids": fails("ConnectionClosed"),
  "null-id": lost,
  "neither-result-nor-error": answers("InvalidResult"),
  "both-result-and-error": answers("ProtocolError"),
  "two-answers": usable,
  "invalid-utf8": usable,
  "sse-crlf": usable,
  "sse-cr": usable,
  "sse-bom": usable,
  "sse-without-last-newline": lost,
  "sse-many-lines": usable,
  "sse-other-event-type": lost,
  "sse-retry-zero": usable,
  "sse-id-with-nul": usable,
  "sse-byte-by-byte": usable,
  "sse-answer-and-no-end": usable,
  "sse-ends-early": lost,
  "sse-resume-without-end": lost,
  "redirect-circle": httpFails,
  "redirect-elsewhere": httpFails,
  "redirect-endless": httpFails,
  "redirect-nowhere": httpFails,
  "redirect-to-a-file": httpFails,
  "redirect-garbage": httpFails,
  "retry-after-year-9999": httpFails,
  "retry-after-huge": httpFails,
  "retry-after-negative": httpFails,
  "retry-after-zero": httpFails,
  "retry-after-1970": httpFails,
  "retry-after-garbage": httpFails,
  "rate-limited-call": answers("RateLimited"),
  "status-204": lost,
  "status-202": neverAnswers,
  "status-401": answers("AuthRequired"),
  "status-401-greeting": { expected: { status: ["needs_auth"] } },
  "status-403": answers("NotSent"),
  // the session is lost, and there is no other
  "status-404": answers("ServerUnavailable"),
  "status-404-greeting": httpFails,
  "status-500": lost,
  "status-500-greeting": httpFails,
  "status-999": lost,
  "status-101": lost,
  flapping: lost,
  "session-changing": usable,
  "session-latin1": usable,
  "session-doubled": usable,
  "session-long": usable,
  "session-empty": usable,
  "session-control-characters": usable,
  "session-lost-once": { ...usable, restart: { maxRestarts: 3 } },
  "half-open": neverAnswers,
  reset: lost,
  "reset-greeting": fails("NetworkFailed"),
  "reset-in-body": lost,
  "close-without-answer": lost,
  "content-length-too-long": lost,
  "content-length-too-short": lost,
  "content-length-garbage": lost,
  "content-length-twice": lost,
  "http-1.0": usable,
  "not-http": incompatible,
  "chunked-garbage": lost,
  "chunked-without-end": neverAnswers,
  "headers-of-a-megabyte": lost,
  "headers-without-end": lost,
  "trailing-flood": usable,
  "gzip-bomb-json": sized(lost, 8, 640),
  "gzip-bomb-stream": sized(lost, 8, 640),
  "gzip-bomb-202": sized(usable, 8, 640),
  "gzip-bomb-500": sized(lost, 8, 640),
  "gzip-bomb-greeting": sized(incompatible, 8, 640),
  "gzip-truncated": lost,
  "gzip-corrupt": lost,
  "unknown-encoding": usable,
  "push-closes-at-once": usable,
  "push-hangs": usable,
  "delete-hangs": usable,
  "delete-500": usable
})

/** The first three begin with a call. */
export const httpFloods = table({
  "comment-flood": floods,
  "event-flood": floods,
  "garbage-event-flood": floods,
  "status-102-flood": floods,
  "push-flood": floods,
  "push-garbage-flood": floods,
  "push-endless-line": floods,
  "push-ping-flood": floods,
  "delete-flood": floods
})

// --- responses, over both transports --------------------------------------------------------------------------------

const list = (items: number, item: (index: number) => unknown) => () => ({
  list: Array.from({ length: items }, (_, index) => item(index))
})
const rejects = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"
/** Arguments are not checked if the check would take too long. */
const checked = (args: () => Record<string, unknown>): Row => ({ ...answers("ok", "InvalidArguments"), args })

export const payloadModes = table({
  "unknown-version": incompatible,
  "no-version": incompatible,
  "version-number": incompatible,
  "no-server-info": incompatible,
  "capabilities-array": incompatible,
  "greeting-null": refused,
  "greeting-array": refused,
  "big-info": sized(incompatible, 2, 30),
  "big-instructions": sized(usable, 2, 30),
  "deep-info": sized(incompatible, 8_000, 400_000),
  "deep-capabilities": sized(incompatible, 8_000, 400_000),
  "deep-greeting": sized(refused, 100_000, 400_000),
  "many-tools": { ...sized(usable, 2_000, 100_000), expected: { status: ["connected"], call: ["ok"] } },
  "big-description": sized(usable, 4, 30),
  // above the budget of a whole listing
  "list-bytes": sized(incompatible, 36, 500),
  "big-cursor": sized(usable, 2, 10),
  "same-cursor": usable,
  "empty-cursor": usable,
  "number-cursor": usable,
  "endless-pages": { expected: { status: ["connected"], call: ["ok"] } },
  "endless-empty-pages": leftOut,
  "malformed-tools": usable,
  "doubled-tools": usable,
  "proto-tools": { expected: { status: ["connected"], call: ["ok"], tools: 3 } },
  "odd-names": { expected: { status: ["connected"], call: ["ok"] } },
  "tools-object": incompatible,
  "tools-missing": incompatible,
  "list-null": incompatible,
  "list-text": incompatible,
  "deep-schema": sized(leftOut, 3_000, 100_000),
  "deep-annotations": sized(leftOut, 6_000, 100_000),
  "deep-meta": sized(leftOut, 6_000, 100_000),
  "deep-entry-beside-a-good-one": sized(usable, 6_000, 100_000),
  "ref-loop": usable,
  "ref-elsewhere": usable,
  "redos-pattern": checked(() => ({ text: rejects })),
  "redos-property-names": checked(() => ({ [rejects]: 1 })),
  "unique-items": checked(list(4_000, (index) => ({ index }))),
  contains: checked(list(300, () => Array.from({ length: 300 }, () => 1))),
  "large-enum": sized(checked(list(500, () => ({ each: -1 }))), 2_000),
  "nested-unions": sized(checked(list(500, () => "x")), 8),
  "schema-of-every-draft": usable,
  "schema-false": answers("InvalidArguments"),
  "big-result": sized(usable, 8, 24),
  "deep-result": sized(answers("InvalidResult"), 8_000, 100_000),
  "deep-content": sized(answers("InvalidResult"), 8_000, 100_000),
  "result-null": answers("InvalidResult"),
  "result-array": answers("InvalidResult"),
  "result-number": answers("InvalidResult"),
  "content-text": answers("InvalidResult"),
  "content-missing": usable,
  "content-of-unknown-type": usable,
  "content-null": answers("InvalidResult"),
  "many-contents": sized(usable, 5_000, 10_000),
  "lone-surrogates": usable,
  "huge-number": usable
})
