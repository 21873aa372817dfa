/**
 * A history: servers, and events that happen to them. It is plain data that is valid in any state, so that a failing history
 * can shrink, be printed and be read back.
 */
import { FastCheck as fc } from "effect"
import type { CallMode, ClosingMode, ConnectMode, ListingMode, ProbeMode } from "./faults.js"
import { errorKinds } from "./faults.js"
import { policies, type ServerSpec } from "./specs.js"

export interface CallMove {
  readonly do: "call"
  readonly server: number
  readonly tool: "read" | "put" | "act" | "none"
  readonly by: "public" | "raw"
  readonly total: number
  readonly ready: number
  readonly replay: "safe" | "never"
  /** Milliseconds after which the caller interrupts it; negative for never. */
  readonly interrupt: number
  /** The number of concurrent calls. */
  readonly times: number
}

export type What =
  | { readonly do: "pass" }
  | { readonly do: "jump"; readonly ms: number }
  | {
      readonly do: "connect" | "disconnect" | "restart" | "enable" | "disable" | "remove"
      readonly server: number
    }
  | { readonly do: "add"; readonly server: number; readonly spec: ServerSpec }
  | { readonly do: "awaitSettled"; readonly timeout: number }
  | CallMove
  | { readonly do: "request"; readonly server: number; readonly kind: "read" | "prompt" | "complete" }
  | { readonly do: "subscribe"; readonly server: number }
  | { readonly do: "unsubscribe"; readonly pick: number }
  | { readonly do: "change"; readonly server: number; readonly to: Partial<ServerSpec>; readonly globs: number }
  | { readonly do: "drop"; readonly server: number }
  | { readonly do: "site.connect"; readonly server: number; readonly mode: ConnectMode; readonly times: number }
  | { readonly do: "site.crash"; readonly server: number; readonly error: string; readonly all: boolean }
  | {
      readonly do: "site.list"
      readonly server: number
      readonly tools: number
      readonly mode: ListingMode
      readonly times: number
      /** The number of notifications about the changed list. */
      readonly told: number
    }
  | { readonly do: "site.calls"; readonly server: number; readonly mode: CallMode }
  | { readonly do: "site.probe"; readonly server: number; readonly mode: ProbeMode }
  | { readonly do: "site.closing"; readonly server: number; readonly mode: ClosingMode }
  | { readonly do: "site.update"; readonly server: number }
  | { readonly do: "site.push"; readonly server: number; readonly push: "open" | "degraded" | "none" }
  | { readonly do: "site.log"; readonly server: number }

export type Move = What & {
  /** The time that passes after it; -1 for none, without settling. */
  readonly wait: number
}

export interface History {
  /** Decides the order in which fibers run, and every random delay. */
  readonly seed: number
  readonly servers: ReadonlyArray<ServerSpec>
  readonly moves: ReadonlyArray<Move>
  /** Whether it ends at any moment, instead of after all servers became correct. */
  readonly isAbrupt?: boolean
}

const spec: fc.Arbitrary<ServerSpec> = fc.record({
  remote: fc.boolean(),
  address: fc.nat({ max: 1 }),
  link: fc.nat({ max: 1 }),
  enabled: often(true, false),
  lazy: often(false, true),
  idleStop: fc.boolean(),
  stopFirst: often(false, true),
  concurrency: fc.constantFrom(0, 0, 1, 2),
  health: often(true, false),
  globs: fc.nat({ max: 2 }),
  policy: fc.nat({ max: policies.length - 1 }),
  flaw: fc.constantFrom(...Array<"none">(18).fill("none"), "untrusted" as const, "invalid" as const)
})

function often<A>(usual: A, other: A): fc.Arbitrary<A> {
  return fc.constantFrom(usual, usual, usual, other)
}

/** One change in a new config. */
const change: fc.Arbitrary<Partial<ServerSpec>> = fc.oneof(
  fc.constant({}),
  fc.record({ link: fc.nat({ max: 3 }) }),
  fc.record({ link: fc.nat({ max: 3 }) }),
  fc.record({ address: fc.nat({ max: 3 }) }),
  fc.record({ globs: fc.nat({ max: 2 }) }),
  fc.record({ lazy: fc.boolean(), idleStop: fc.boolean() }),
  fc.record({ enabled: fc.boolean() }),
  fc.record({ stopFirst: fc.boolean(), link: fc.nat({ max: 3 }) }),
  fc.record({ concurrency: fc.nat({ max: 2 }) }),
  fc.record({ policy: fc.nat({ max: policies.length - 1 }) }),
  fc.record({ remote: fc.boolean() }),
  fc.record({ flaw: fc.constantFrom("none" as const, "none" as const, "untrusted" as const, "invalid" as const) })
)

/** One of these values. */
const one = <const Word extends string>(...words: ReadonlyArray<Word>): fc.Arbitrary<Word> => fc.constantFrom(...words)

/** The first of them are always configured. */
const server = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4)
const errorKind = fc.constantFrom(...errorKinds)
const brief = fc.oneof(fc.constant(0), fc.nat({ max: 3_000 }))

const connectMode: fc.Arbitrary<ConnectMode> = fc.oneof(
  { arbitrary: fc.record({ kind: fc.constant("fail" as const), error: errorKind, after: brief }), weight: 6 },
  { arbitrary: fc.record({ kind: fc.constant("slow" as const), after: fc.nat({ max: 12_000 }) }), weight: 2 },
  { arbitrary: fc.constant({ kind: "hang" as const }), weight: 1 },
  {
    arbitrary: fc.record({
      kind: fc.constant("crash" as const),
      error: errorKind,
      after: fc.oneof(fc.constant(0), fc.nat({ max: 200 }), fc.nat({ max: 90_000 }))
    }),
    weight: 3
  },
  { arbitrary: fc.constant({ kind: "good" as const }), weight: 2 }
)

const call: fc.Arbitrary<CallMove> = fc.record({
  do: fc.constant("call" as const),
  server,
  tool: one("read", "put", "act", "act", "none"),
  by: one("public", "raw"),
  total: fc.constantFrom(60_000, 60_000, 15_000, 2_000, 100),
  ready: fc.constantFrom(10_000, 10_000, 1_000, 60_000, 0),
  replay: one("safe", "safe", "safe", "never"),
  interrupt: fc.constantFrom(-1, -1, -1, 0, 500, 5_000),
  times: fc.constantFrom(1, 1, 1, 2, 5)
})

const callMode: fc.Arbitrary<CallMode> = one(
  "answer",
  "slow",
  "stuck",
  "progress",
  "error",
  "refuse",
  "garbage",
  "limited",
  "auth",
  "crash",
  "crash",
  "unsent",
  "lost"
)

const listMove = fc.record({
  do: fc.constant("site.list" as const),
  server,
  tools: fc.nat({ max: 4 }),
  mode: one("good", "good", "slow", "fail", "garbage", "hang", "limited", "auth", "crash"),
  times: fc.constantFrom(1, 1, 2, 5),
  told: fc.constantFrom(1, 1, 2, 50, 0)
})

const what: fc.Arbitrary<What> = fc.oneof(
  { arbitrary: fc.constant<What>({ do: "pass" }), weight: 4 },
  { arbitrary: fc.record({ do: fc.constant("jump" as const), ms: fc.nat({ max: 7_200_000 }) }), weight: 2 },
  {
    arbitrary: fc.record({
      do: one("connect", "disconnect", "restart", "enable", "disable", "connect", "restart"),
      server
    }),
    weight: 10
  },
  { arbitrary: fc.record({ do: fc.constant("remove" as const), server }), weight: 2 },
  { arbitrary: fc.record({ do: fc.constant("add" as const), server, spec }), weight: 3 },
  {
    arbitrary: fc.record({
      do: fc.constant("awaitSettled" as const),
      timeout: fc.constantFrom(1_000, 30_000, 3_600_000)
    }),
    weight: 1
  },
  { arbitrary: call, weight: 16 },
  {
    arbitrary: fc.record({
      do: fc.constant("request" as const),
      server,
      kind: one("read", "prompt", "complete")
    }),
    weight: 3
  },
  { arbitrary: fc.record({ do: fc.constant("subscribe" as const), server }), weight: 3 },
  { arbitrary: fc.record({ do: fc.constant("unsubscribe" as const), pick: fc.nat({ max: 3 }) }), weight: 1 },
  {
    arbitrary: fc.record({ do: fc.constant("change" as const), server, to: change, globs: fc.nat({ max: 2 }) }),
    weight: 9
  },
  { arbitrary: fc.record({ do: fc.constant("drop" as const), server }), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("site.connect" as const),
      server,
      mode: connectMode,
      times: fc.constantFrom(1, 1, 2, 3, 8, 1_000)
    }),
    weight: 12
  },
  {
    arbitrary: fc.record({ do: fc.constant("site.crash" as const), server, error: errorKind, all: fc.boolean() }),
    weight: 10
  },
  {
    arbitrary: listMove,
    weight: 7
  },
  {
    arbitrary: fc.record({
      do: fc.constant("site.calls" as const),
      server,
      mode: callMode
    }),
    weight: 6
  },
  {
    arbitrary: fc.record({
      do: fc.constant("site.probe" as const),
      server,
      mode: one("good", "fail", "hang", "slow")
    }),
    weight: 4
  },
  {
    arbitrary: fc.record({
      do: fc.constant("site.closing" as const),
      server,
      mode: one("at once", "slow", "slow", "forever")
    }),
    weight: 3
  },
  { arbitrary: fc.record({ do: fc.constant("site.update" as const), server }), weight: 2 },
  {
    arbitrary: fc.record({
      do: fc.constant("site.push" as const),
      server,
      push: one("open", "degraded", "none")
    }),
    weight: 1
  },
  { arbitrary: fc.record({ do: fc.constant("site.log" as const), server }), weight: 1 }
)

const wait = fc.oneof(
  { arbitrary: fc.constant(-1), weight: 3 },
  { arbitrary: fc.constant(0), weight: 4 },
  { arbitrary: fc.nat({ max: 300 }), weight: 3 },
  { arbitrary: fc.nat({ max: 6_000 }), weight: 5 },
  { arbitrary: fc.nat({ max: 60_000 }), weight: 3 },
  { arbitrary: fc.nat({ max: 1_200_000 }), weight: 1 }
)

const move: fc.Arbitrary<Move> = fc.tuple(what, wait).map(([what, wait]) => ({ ...what, wait }))

/** Events of the first server while it has pending calls. */
const upset: fc.Arbitrary<What> = fc.oneof(
  fc.record({ do: one("restart", "disable", "remove", "restart", "disconnect"), server: fc.constant(0) }),
  fc.record({
    do: fc.constant("change" as const),
    server: fc.constant(0),
    to: fc.oneof(
      { arbitrary: fc.record({ link: fc.nat({ max: 3 }) }), weight: 3 },
      { arbitrary: fc.record({ address: fc.nat({ max: 3 }) }), weight: 1 }
    ),
    globs: fc.constant(0)
  }),
  fc.record({ do: fc.constant("site.crash" as const), server: fc.constant(0), error: errorKind, all: fc.boolean() }),
  fc.record({ do: fc.constant("site.calls" as const), server: fc.constant(0), mode: callMode }),
  fc.constant<What>({ do: "pass" })
)

/** Slow responses. */
const lasting = one("slow", "stuck", "progress")

const moment = fc.constantFrom(-1, 0, 0, 500, 3_000)

/** Sequences on one server that random events seldom produce. */
const scene: fc.Arbitrary<ReadonlyArray<Move>> = fc.oneof(
  // an event during calls
  fc
    .tuple(server, fc.oneof(callMode, lasting), call, upset, call, fc.tuple(moment, moment, moment, wait))
    .map(([server, mode, first, upset, second, waits]) =>
      [
        { do: "site.calls" as const, server, mode },
        { ...first, server, times: first.times + 1 },
        "server" in upset ? { ...upset, server } : upset,
        { ...second, server }
      ].map((what, index): Move => ({ ...what, wait: waits[index]! }))
    ),
  // its list changes again before the last change is fetched
  fc.tuple(server, listMove, listMove, moment, wait).map(([server, first, second, between, after]) => [
    { ...first, server, wait: between },
    { ...second, server, wait: after }
  ])
)

export const history: fc.Arbitrary<History> = fc.record({
  seed: fc.nat(),
  servers: fc.array(spec, { minLength: 1, maxLength: 5 }),
  moves: fc
    .array(
      fc.oneof(
        { arbitrary: move.map((move): ReadonlyArray<Move> => [move]), weight: 8 },
        { arbitrary: scene, weight: 2 }
      ),
      { minLength: 1, maxLength: 20, size: "max" }
    )
    .map((parts) => parts.flat()),
  isAbrupt: often(false, true)
})
