/**
 * Renders metrics in the text format of Prometheus.
 */
import * as MetricKeyType from "effect/MetricKeyType"
import type * as MetricPair from "effect/MetricPair"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"

type Labels = ReadonlyArray<readonly [string, string]>

type Sample = readonly [suffix: string, labels: Labels, value: number | bigint]

/** Renders one family of lines per metric name, sorted by name. */
export const render = (pairs: Iterable<MetricPair.MetricPair.Untyped>): string => {
  const families = new Map<string, { readonly type: string; readonly help: string; readonly lines: Array<string> }>()
  for (const { metricKey, metricState } of pairs) {
    const name = metricName(metricKey.name)
    const type = typeOf(metricKey.keyType as never)
    const help = Option.getOrElse(metricKey.description, () => "")
    const family = families.get(name) ?? { type, help, lines: [] }
    families.set(name, family)
    // Prometheus allows one type per name: metrics of a second type are left out
    if (family.type !== type) continue
    const tags = metricKey.tags.map(({ key, value }): [string, string] => [labelName(key), value])
    for (const [suffix, labels, value] of samples(metricState as never)) {
      family.lines.push(`${name}${suffix}${labelText([...tags, ...labels])} ${number(value)}`)
    }
  }
  return [...families]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, { help, lines, type }]) =>
      [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`, ...lines, ""].join("\n")
    )
    .join("")
}

const typeOf = (type: MetricKeyType.MetricKeyType<unknown, unknown>): string => {
  // a Prometheus counter must never decrease
  if (MetricKeyType.isCounterKey(type)) return isIncremental(type) ? "counter" : "gauge"
  if (MetricKeyType.isFrequencyKey(type)) return "counter"
  if (MetricKeyType.isHistogramKey(type)) return "histogram"
  return MetricKeyType.isSummaryKey(type) ? "summary" : "gauge"
}

const isIncremental = (type: object): boolean => "incremental" in type && type.incremental === true

const samples = (state: MetricState.MetricState<unknown>): ReadonlyArray<Sample> => {
  if (MetricState.isCounterState(state)) return [["", [], state.count]]
  if (MetricState.isGaugeState(state)) return [["", [], state.value]]
  if (MetricState.isFrequencyState(state)) {
    return Array.from(state.occurrences, ([key, count]): Sample => ["", [["key", key]], count])
  }
  if (MetricState.isHistogramState(state)) {
    const buckets = [...state.buckets].filter(([bound]) => Number.isFinite(bound))
    return [
      ...buckets.map(([bound, count]): Sample => ["_bucket", [["le", String(bound)]], count]),
      ["_bucket", [["le", "+Inf"]], state.count],
      ["_sum", [], state.sum],
      ["_count", [], state.count]
    ]
  }
  if (MetricState.isSummaryState(state)) {
    return [
      ...[...state.quantiles].flatMap(([quantile, value]) =>
        Option.toArray(
          Option.map(value, (quantileValue): Sample => ["", [["quantile", String(quantile)]], quantileValue])
        )
      ),
      ["_sum", [], state.sum],
      ["_count", [], state.count]
    ]
  }
  return []
}

const number = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

const metricName = (name: string): string => name.replace(/[^a-zA-Z0-9_:]/g, "_").replace(/^(?=\d)/, "_")

const labelName = (name: string): string => name.replace(/[^a-zA-Z0-9_]/g, "_").replace(/^(?=\d)/, "_")

const labelText = (labels: Labels): string =>
  labels.length === 0 ? "" : `{${labels.map(([name, value]) => `${name}="${escapeValue(value)}"`).join(",")}}`

const escapeHelp = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const escapeValue = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')
