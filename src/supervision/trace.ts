/**
 * Spans of what users call, and how servers are told of them.
 */
import * as Effect from "effect/Effect"
import type * as Tracer from "effect/Tracer"

/** Runs a public method in a span of its name. */
export const traced = <A, E, R>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  run: (span: Tracer.Span) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => Effect.useSpan(name, { attributes, captureStackTrace: false, kind: "client" }, run)

/** What tells a server of a span, as W3C Trace Context. */
export const traceMeta = ({ sampled, spanId, traceId }: Tracer.Span): Readonly<Record<string, unknown>> | undefined =>
  sampled ? { traceparent: `00-${traceId}-${spanId}-01` } : undefined
