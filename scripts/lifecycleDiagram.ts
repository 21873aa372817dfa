/**
 * Draws the lifecycle by running it: from every initial state, it applies every kind of event to every kind of state and records the
 * next state. So the diagram always matches the code.
 */
import { type Failure, Lifecycle } from "../src/index.js"

const nodes = {
  disabled: "disabled",
  idle: "idle",
  connecting: "connecting",
  connected: "connected",
  replacing: "connected, being replaced",
  retrying: "failed, retried soon",
  gave_up: "failed, gave up for now",
  failed: "failed until something changes",
  needs_auth: "needs_auth",
  needs_client_registration: "needs_client_registration",
  removed: "removed"
}

type Node = keyof typeof nodes

const nodeOf = (state: Lifecycle.State): Node => {
  if (state.phase._tag === "Removed") return "removed"
  const status = Lifecycle.status(state)
  if (status.status === "connected") return Lifecycle.replacement(state) === undefined ? "connected" : "replacing"
  if (status.status !== "failed") return status.status
  return status.gaveUp === undefined ? (status.retryAt === undefined ? "failed" : "retrying") : "gave_up"
}

const info: Lifecycle.LinkInfo = {
  transport: "stdio",
  protocolVersion: "2025-11-25",
  era: "legacy",
  tools: 0,
  resources: 0,
  prompts: 0,
  push: "none"
}

/** A short policy: the first failure restarts at once, the second waits, the third gives up. */
const settings: Lifecycle.Settings = {
  server: "server",
  restart: { base: 100, factor: 2, cap: 1_000, stableAfter: 100, maxRestarts: 2, window: 1e9, cooldown: 1_000 },
  lazy: false,
  replace: "overlap",
  drain: 100
}

const beginnings: Record<string, Lifecycle.Settings> = {
  added: settings,
  "added, lazy": { ...settings, lazy: true },
  "added, disabled or not trusted": { ...settings, disabled: "config" }
}

const failureKinds: ReadonlyArray<Failure.Kind> = ["transient", "session_lost", "permanent", "auth", "registration"]

const failureOf = (kind: Failure.Kind): Failure.Failure => ({ kind, error: kind, errorTag: kind })

/** Every event that can happen in a state, with its label. */
function* happenings(state: Lifecycle.State, at: number): Iterable<readonly [words: string, event: Lifecycle.Event]> {
  const stamp = { at, random: 0.5 }
  for (const command of ["Enable", "Disable", "Connect", "Restart", "Remove"] as const) {
    yield [command.toLowerCase(), { _tag: command, ...stamp }]
  }
  yield ["call", { _tag: "Demanded", ...stamp }]
  const { disabled, ...enabled } = state.settings
  const configure = (change: "settings" | "link" | "identity", settings: Lifecycle.Settings): Lifecycle.Event => ({
    _tag: "ConfigChanged",
    ...stamp,
    change,
    settings
  })
  yield ["config changed", configure("link", state.settings)]
  yield ["address or login changed", configure("identity", state.settings)]
  yield [
    disabled === undefined ? "disabled by config" : "enabled by config",
    configure("settings", disabled === undefined ? { ...enabled, disabled: "config" } : enabled)
  ]
  if (enabled.lazy) yield ["no longer lazy", configure("settings", { ...state.settings, lazy: false })]
  yield ["logged in", { _tag: "CredentialsChanged", ...stamp, revoked: false }]
  yield ["logged out", { _tag: "CredentialsChanged", ...stamp, revoked: true }]
  const opening = Lifecycle.opening(state)
  if (opening !== undefined) {
    yield ["opened", { _tag: "Opened", ...stamp, generation: opening, info }]
    for (const kind of failureKinds) {
      if (kind === "session_lost") continue
      yield [`${kind} failure`, { _tag: "Lost", ...stamp, generation: opening, failure: failureOf(kind) }]
    }
  }
  const routed = Lifecycle.routed(state)
  if (routed !== undefined) {
    const replaced = Lifecycle.pursuit(state) !== undefined
    for (const kind of failureKinds) {
      const words = replaced ? "old link lost" : kind === "session_lost" ? "session lost" : `${kind} failure`
      yield [words, { _tag: "Lost", ...stamp, generation: routed.generation, failure: failureOf(kind) }]
    }
    yield ["unused for long", { _tag: "Idle", ...stamp, generation: routed.generation }]
  }
  for (const timer of Lifecycle.timers(state)) {
    if (timer.kind === "drain") continue
    yield [`${timer.kind} timer`, { _tag: "TimerFired", ...stamp, at: Math.max(at, timer.at), timer: timer.id }]
  }
}

/** Releases closing and draining links, which the diagram does not show. */
const settle = (state: Lifecycle.State, at: number): Lifecycle.State => {
  const [closing] = state.closing
  const stamp = { at, random: 0.5 }
  if (closing !== undefined) {
    return settle(Lifecycle.step(state, { _tag: "Released", ...stamp, generation: closing }).state, at)
  }
  if (state.draining === undefined) return state
  return settle(Lifecycle.step(state, { _tag: "Drained", ...stamp, generation: state.draining.generation }).state, at)
}

/** States with equal keys are visited once. */
const kindOf = (state: Lifecycle.State): string => {
  const pursuit = Lifecycle.pursuit(state)
  const waitsFor = pursuit !== undefined && "failure" in pursuit ? pursuit.failure.kind : undefined
  const { lazy, disabled } = state.settings
  const { failures, gaveUp } = state.streak
  return JSON.stringify([nodeOf(state), pursuit?._tag, waitsFor, lazy, disabled, Math.min(failures, 3), gaveUp])
}

const explore = () => {
  const at = 0
  const edges = new Map<string, Set<string>>()
  const starts: Array<readonly [words: string, to: Node]> = []
  const seen = new Set<string>()
  const queue: Array<Lifecycle.State> = []
  const visit = (state: Lifecycle.State) => {
    if (seen.has(kindOf(state))) return
    seen.add(kindOf(state))
    queue.push(state)
  }
  for (const [words, settings] of Object.entries(beginnings)) {
    const { state } = Lifecycle.start(settings, at)
    starts.push([words, nodeOf(state)])
    visit(state)
  }
  for (let state = queue.shift(); state !== undefined; state = queue.shift()) {
    for (const [words, event] of happenings(state, at)) {
      const next = settle(Lifecycle.step(state, event).state, event.at)
      visit(next)
      const edge = `${nodeOf(state)} --> ${nodeOf(next)}`
      if (nodeOf(state) !== nodeOf(next)) edges.set(edge, (edges.get(edge) ?? new Set()).add(words))
    }
  }
  return { edges, starts }
}

export const lifecycleDiagram = (): string => {
  const { edges, starts } = explore()
  const order = Object.keys(nodes)
  const rank = (edge: string) =>
    edge
      .split(" --> ")
      .map((node) => String(order.indexOf(node)).padStart(2, "0"))
      .join()
  return [
    "stateDiagram-v2",
    ...Object.entries(nodes).map(([id, words]) => (id === words ? `  state ${id}` : `  state "${words}" as ${id}`)),
    ...starts.map(([words, to]) => `  [*] --> ${to}: ${words}`),
    ...[...edges]
      .sort(([a], [b]) => (rank(a) < rank(b) ? -1 : 1))
      .map(([edge, words]) => `  ${edge}: ${[...words].sort().join(", ")}`),
    "  removed --> [*]"
  ].join("\n")
}
