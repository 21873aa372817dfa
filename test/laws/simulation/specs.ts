/**
 * The configs of simulated servers, in few numbers, and what they mean.
 */
import type { ServerConfig, ToolName } from "../../../src/index.js"

export interface ServerSpec {
  readonly remote: boolean
  /** Who the server is, or who we are to it. */
  readonly address: number
  /** How it is reached. */
  readonly link: number
  readonly enabled: boolean
  readonly lazy: boolean
  readonly idleStop: boolean
  readonly stopFirst: boolean
  /** 0 is no limit. */
  readonly concurrency: number
  readonly health: boolean
  /** Which of {@link serverGlobs}. */
  readonly globs: number
  /** Which of {@link policies}. */
  readonly policy: number
  readonly flaw: "none" | "untrusted" | "invalid"
}

/** The second is how names become ambiguous; the fourth cannot be part of a public name as it is. */
export const serverNames = ["a", "b", "a_b", "x.y", "z"] as const

export const plainSpec: ServerSpec = {
  remote: false,
  address: 0,
  link: 0,
  enabled: true,
  lazy: false,
  idleStop: false,
  stopFirst: false,
  concurrency: 0,
  health: true,
  globs: 0,
  policy: 0,
  flaw: "none"
}

export const timeout = { connect: 10_000, list: 5_000, call: 10_000, total: 60_000 }

export const policies = [
  {},
  { base: 100, cap: 2_000, maxRestarts: 2, cooldown: 30_000 },
  { maxRestarts: 0, cooldown: 20_000 },
  { maxRestarts: "none", cap: 10_000, stableAfter: 5_000 }
] as const

/** No policy lets a server that could be connected wait longer than this. */
export const longestPause = 300_000

export const serverGlobs: ReadonlyArray<ToolName.Globs> = [{}, { "*": false, read: true }, { act: false }]

/** On `server_tool`. */
export const globalGlobs: ReadonlyArray<ToolName.Globs> = [{}, { "*_put": false }, { "a_*": false, a_act: true }]

/** The tools a server lists, in five variants. */
const read = { name: "read", annotations: { readOnlyHint: true } }
const put = { name: "put", annotations: { idempotentHint: true } }
const act = { name: "act" }
export const toolLists = [
  [read, put, act],
  [act, read],
  [act, { name: "odd name!" }, put],
  [],
  [...Array.from({ length: 12 }, (_, index) => ({ name: `tool${index}` })), act, read, put]
] as const

export const resourceUri = "r://1"

/** Tools that say that repeating does no harm. */
export const isRepeatable = (tool: string): boolean => tool === "read" || tool === "put"

export const toInput = (spec: ServerSpec): ServerConfig.Input => {
  const common = {
    timeout,
    enabled: spec.enabled,
    lazy: spec.lazy,
    ...(spec.idleStop && { idleStop: 20_000 }),
    replace: spec.stopFirst ? ("stop-first" as const) : ("overlap" as const),
    ...(spec.concurrency > 0 && { concurrency: spec.concurrency }),
    health: spec.health ? { interval: 30_000, timeout: 5_000 } : false,
    tools: serverGlobs[spec.globs]!,
    restart: policies[spec.policy]!
  }
  // no program at all
  if (spec.flaw === "invalid") return { ...common, command: "" }
  return spec.remote
    ? { ...common, url: `https://host${spec.address}.test/mcp`, caFile: `/ca/${spec.link}` }
    : { ...common, command: `server${spec.address}`, args: [`${spec.link}`] }
}

/** Whether the old connection, or what it listed, may be taken for one with the new config. */
export const isSameServer = (before: ServerSpec, after: ServerSpec): boolean =>
  before.remote === after.remote &&
  before.address === after.address &&
  before.link === after.link &&
  before.flaw === after.flaw
