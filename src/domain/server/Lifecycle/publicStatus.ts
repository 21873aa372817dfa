/**
 * Computes the public status of a server from the state of its lifecycle.
 */
import { defined } from "../../internal/defined.js"
import type { DisabledBy, ServerStatus } from "../ServerStatus.js"
import { shellWord } from "../../internal/shellWord.js"
import type { Pursuit, State } from "./State.js"

/**
 * Computes the public status of a server from its state, for every interface.
 *
 * @since 0.1.0
 * @category projections
 */
export const status = (state: State): ServerStatus => {
  const { phase } = state
  switch (phase._tag) {
    case "Removed":
      return { status: "disabled", by: "command" }
    case "Stopped":
      return { status: "disabled", by: phase.by, hint: enablingHint(phase.by, state.settings.server) }
    case "Resting":
      return { status: "idle", since: phase.since }
    case "Serving":
      return { status: "connected", since: phase.routed.since, ...phase.routed.info }
    case "Seeking":
      return seeking(state, phase.pursuit)
  }
}

const enablingHint = (by: DisabledBy, server: string): string => {
  switch (by) {
    case "config":
      return `enable it: mcp-supervisor enable ${shellWord(server)}`
    case "command":
      return `connect it: mcp-supervisor connect ${shellWord(server)}`
    case "trust":
      return "its project file is not trusted: mcp-supervisor trust"
  }
}

const seeking = (state: State, pursuit: Pursuit): ServerStatus => {
  const attempt = state.streak.failures + 1
  switch (pursuit._tag) {
    case "Pending":
      return { status: "connecting", attempt, since: pursuit.since, phase: "spawn" }
    case "Opening":
      return { status: "connecting", attempt, since: pursuit.since, phase: pursuit.phase }
    case "Backoff":
    case "GaveUp":
    case "Parked":
      return failing(state, pursuit)
  }
}

const failing = (state: State, pursuit: Extract<Pursuit, { readonly failure: unknown }>): ServerStatus => {
  const { error, errorTag, exitCode, hint = "", kind, scope, signal, stderr } = pursuit.failure
  if (kind === "auth") return { status: "needs_auth", reason: error, hint, ...defined({ scope }) }
  if (kind === "registration") return { status: "needs_client_registration", error, hint }
  return {
    status: "failed",
    error,
    errorTag,
    failures: state.streak.failures,
    ...defined({
      retryAt: "until" in pursuit ? pursuit.until : undefined,
      gaveUp: pursuit._tag === "GaveUp" ? state.streak.gaveUp : undefined,
      exitCode,
      signal,
      stderr
    })
  }
}

/**
 * The progress of replacing a serving link, for the snapshot.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replacement {
  /** The generation of the running attempt, the last failed one, or the next one. */
  readonly generation: number
  readonly error?: string | undefined
  readonly retryAt?: number | undefined
}

/**
 * The progress of replacing the serving link. Undefined if its config has not changed.
 *
 * @since 0.1.0
 * @category projections
 */
export const replacement = ({ generation, phase }: State): Replacement | undefined => {
  if (phase._tag !== "Serving" || phase.replacement === undefined) return undefined
  const pursuit = phase.replacement
  return {
    generation: pursuit._tag === "Pending" ? generation + 1 : generation,
    ...defined({
      error: "failure" in pursuit ? pursuit.failure.error : undefined,
      retryAt: "until" in pursuit ? pursuit.until : undefined
    })
  }
}
