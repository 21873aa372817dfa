/**
 * The configs of simulated servers, encoded in few numbers.
 */
import type { ServerConfig, ToolName } from "../../../src/index.js"

export interface ServerSpec {
  readonly remote: boolean
  /** The identity of the server. */
  readonly address: number
  /** The transport. */
  readonly link: number
  readonly enabled: boolean
  readonly lazy: boolean
  readonly idleStop: boolean
  readonly stopFirst: boolean
  /** 0 for no limit. */
  readonly concurrency: number
  readonly health: boolean
  /** The index in {@link serverGlobs}. */
  readonly globs: number
  /** The index in {@link policies}. */
  readonly policy: number
  readonly flaw: "none" | "untrusted" | "invalid"
}

/** The second name makes public names ambiguous; the fourth is not valid in a public name. */
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

/** The longest delay of any policy. */
export const longestPause = 300_000

export const serverGlobs: ReadonlyArray<ToolName.Globs> = [{}, { "*": false, read: true }, { act: false }]

/** Patterns on `server_tool`. */
export const globalGlobs: ReadonlyArray<ToolName.Globs> = [{}, { "*_put": false }, { "a_*": false, a_act: true }]

/** The tools that a server lists, in five variants. */
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

/** Tools that are annotated as safe to repeat. */
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
  // an entry without a program
  if (spec.flaw === "invalid") return { ...common, command: "" }
  return spec.remote
    ? { ...common, url: `https://host${spec.address}.test/mcp`, caFile: `/ca/${spec.link}` }
    : { ...common, command: `server${spec.address}`, args: [`${spec.link}`] }
}

/** Whether the old connection, or its listing, may serve for the new config. */
export const isSameServer = (before: ServerSpec, after: ServerSpec): boolean =>
  before.remote === after.remote &&
  before.address === after.address &&
  before.link === after.link &&
  before.flaw === after.flaw
