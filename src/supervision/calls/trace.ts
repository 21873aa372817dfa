/**
 * Creates spans for public methods and passes their trace context to servers.
 */
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"

/** The span of a running public method. */
export interface Trace {
  readonly attribute: (key: string, value: unknown) => void
  /** The trace context for the server, in the format of W3C Trace Context. */
  readonly meta: () => Readonly<Record<string, unknown>> | undefined
}

/**
 * Runs a public method in a span of its name. Without a tracer and a parent span no span is created: it could not be
 * read.
 */
export const traced = <A, E, R>(
  name: string,
  attributes: Readonly<Record<string, string>>,
  run: (trace: Trace) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime<A, E, R>(({ currentSpan, currentTracer }) =>
    currentTracer === unheard && currentSpan === undefined
      ? run(untraced)
      : Effect.useSpan(name, { attributes, captureStackTrace: false, kind: "client" }, (span) => run(traceOf(span)))
  )

/** Effect's default tracer, which exports nothing. */
const unheard = Context.get(DefaultServices.liveServices, Tracer.Tracer)

const untraced: Trace = { attribute: () => {}, meta: () => undefined }

const traceOf = (span: Tracer.Span): Trace => ({
  attribute: (key, value) => span.attribute(key, value),
  meta: () => (span.sampled ? { traceparent: `00-${span.traceId}-${span.spanId}-01` } : undefined)
})
