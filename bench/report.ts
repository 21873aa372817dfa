import { availableParallelism, cpus } from "node:os"

/** One figure, as each round has it. */
export interface Row {
  readonly server: string
  readonly measure: string
  readonly unit: string
  readonly better: "less" | "more"
  /** The ratio of ours to the SDK's that we want, if we want one. */
  readonly target?: number | undefined
  readonly ours: ReadonlyArray<number>
  readonly sdk: ReadonlyArray<number>
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

const best = ({ better }: Row, values: ReadonlyArray<number>): number =>
  better === "less" ? Math.min(...values) : Math.max(...values)

const ratioOf = ({ ours, sdk }: Row): number => median(ours) / median(sdk)

const meets = (row: Row): boolean =>
  row.target === undefined || (row.better === "less" ? ratioOf(row) <= row.target : ratioOf(row) >= row.target)

const figure = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

const targetOf = ({ better, target }: Row): string =>
  target === undefined ? "" : `${better === "less" ? "≤" : "≥"} ${target}×`

const verdict = (row: Row): string => (row.target === undefined ? "" : meets(row) ? "met" : "**missed**")

export const table = (rows: ReadonlyArray<Row>): string =>
  [
    "| server | measure | ours | SDK | ratio | best round | target | |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ...rows.map((row) => {
      const bestRatio = best(row, row.ours) / best(row, row.sdk)
      const cells = [
        row.server,
        `${row.measure}, ${row.unit}`,
        figure(median(row.ours)),
        figure(median(row.sdk)),
        `${ratioOf(row).toFixed(2)}×`,
        `${bestRatio.toFixed(2)}×`,
        targetOf(row),
        verdict(row)
      ]
      return `| ${cells.join(" | ")} |`
    })
  ].join("\n")

export const summary = (rows: ReadonlyArray<Row>): string => {
  const wanted = rows.filter(({ target }) => target !== undefined)
  const missed = wanted.filter((row) => !meets(row))
  if (missed.length === 0) return `All ${wanted.length} targets are met.`
  return [
    `${missed.length} of ${wanted.length} targets are missed:`,
    ...missed.map((row) => `- ${row.server}, ${row.measure}: ${ratioOf(row).toFixed(2)}×, wanted ${targetOf(row)}`)
  ].join("\n")
}

export const machine = (): string =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${process.platform}, Node ${process.version}`
