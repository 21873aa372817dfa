/**
 * Defines all metrics. Metrics of one server carry its name as `mcp.server`.
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricLabel from "effect/MetricLabel"
import type { ServerStatus } from "../domain/server/ServerStatus.js"

const connections = Metric.gauge("mcp_connections", { description: "servers by status" })
const restarts = Metric.counter("mcp_restarts_total", {
  description: "restarts that nobody asked for",
  incremental: true
})
const refreshes = Metric.counter("mcp_catalog_refreshes_total", {
  description: "lists that were fetched again",
  incremental: true
})
const inFlight = Metric.gauge("mcp_calls_in_flight", { description: "requests that wait for their answer" })
const queued = Metric.gauge("mcp_calls_queued", { description: "calls that wait for their turn" })
const latency = Metric.histogram(
  "mcp_call_duration_ms",
  MetricBoundaries.exponential({ start: 1, factor: 2, count: 18 }),
  "time from the call to its end, in milliseconds"
)

/** Adds to the number of servers with this status. */
export const count = (status: ServerStatus["status"], change: number): void => {
  if (change !== 0) connections.unsafeModify(change, [MetricLabel.make("status", status)])
}

/** The metrics of one server. Labels are prepared once, because calls are frequent. */
export interface ServerMetrics {
  /** Moves the server to the gauge of this status; `undefined` removes it. */
  readonly isAt: (status: ServerStatus["status"] | undefined) => void
  readonly restarted: () => void
  readonly refreshed: () => void
  readonly inFlight: (change: 1 | -1) => void
  readonly queued: (count: number) => void
  readonly settled: (outcome: string, ms: number) => void
}

export const ofServer = (server: string): ServerMetrics => {
  // Effect looks a metric up by the identity of this array: pass the same one each time.
  const here = [MetricLabel.make("mcp.server", server)]
  const byOutcome = new Map<string, ReadonlyArray<MetricLabel.MetricLabel>>()
  const labelsOf = (outcome: string) => {
    const labels = byOutcome.get(outcome) ?? [...here, MetricLabel.make("outcome", outcome)]
    byOutcome.set(outcome, labels)
    return labels
  }
  let counted: ServerStatus["status"] | undefined
  return {
    isAt: (status) => {
      if (status === counted) return
      if (counted !== undefined) count(counted, -1)
      if (status !== undefined) count(status, 1)
      counted = status
    },
    restarted: () => restarts.unsafeUpdate(1, here),
    refreshed: () => refreshes.unsafeUpdate(1, here),
    inFlight: (change) => inFlight.unsafeModify(change, here),
    queued: (count) => queued.unsafeUpdate(count, here),
    settled: (outcome, ms) => latency.unsafeUpdate(ms, labelsOf(outcome))
  }
}
