/**
 * Writes the figures as Markdown.
 */
import { availableParallelism, cpus } from "node:os"

/** The values of one figure, one for each round. */
export interface Row {
  readonly server: string
  readonly measure: string
  readonly unit: string
  readonly better: "less" | "more"
  readonly who: string
  /** Infinite if there is no value. */
  readonly figures: ReadonlyArray<number>
  /** The values that it is compared with. */
  readonly than?: { readonly who: string; readonly figures: ReadonlyArray<number> } | undefined
  /** The target for the ratio, or for the figure itself if it is compared with nothing. */
  readonly target?: { readonly ratio: number } | { readonly figure: number } | undefined
}

/** The rows of one subject. */
export interface Section {
  readonly name: string
  readonly parts: ReadonlyArray<{
    /** Usually the name of a server. */
    readonly name: string
    readonly measure: () => Promise<ReadonlyArray<Row>>
  }>
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

const best = ({ better }: Row, values: ReadonlyArray<number>): number =>
  better === "less" ? Math.min(...values) : Math.max(...values)

const ratioOf = ({ figures, than }: Row): number =>
  than === undefined ? Number.NaN : median(figures) / median(than.figures)

/** The value that the target refers to. */
const judged = (row: Row): number =>
  row.target !== undefined && "ratio" in row.target ? ratioOf(row) : median(row.figures)

const limitOf = (target: NonNullable<Row["target"]>): number => ("ratio" in target ? target.ratio : target.figure)

const meets = (row: Row): boolean => {
  if (row.target === undefined) return true
  const limit = limitOf(row.target)
  return row.better === "less" ? judged(row) <= limit : judged(row) >= limit
}

const figure = (value: number): string => {
  if (!Number.isFinite(value)) return "never"
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}

const ratio = (value: number): string => (Number.isFinite(value) ? `${value.toFixed(2)}×` : "")

const targetOf = ({ better, target, unit }: Row): string => {
  if (target === undefined) return ""
  return `${better === "less" ? "≤" : "≥"} ${limitOf(target)}${"ratio" in target ? "×" : ` ${unit}`}`
}

const verdict = (row: Row): string => (row.target === undefined ? "" : meets(row) ? "met" : "**missed**")

export const table = (rows: ReadonlyArray<Row>): string =>
  [
    "| server | measure | who | figure | compared with | ratio | best round | target | |",
    "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |",
    ...rows.map((row) => {
      const { than } = row
      const cells = [
        row.server,
        `${row.measure}, ${row.unit}`,
        row.who,
        figure(median(row.figures)),
        than === undefined ? "" : `${than.who} ${figure(median(than.figures))}`,
        ratio(ratioOf(row)),
        than === undefined ? figure(best(row, row.figures)) : ratio(best(row, row.figures) / best(row, than.figures)),
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
    ...missed.map((row) => `- ${row.server}, ${row.measure}, ${row.who}: ${reached(row)}, wanted ${targetOf(row)}`)
  ].join("\n")
}

const reached = (row: Row): string =>
  row.target !== undefined && "ratio" in row.target ? ratio(ratioOf(row)) : `${figure(median(row.figures))} ${row.unit}`

export const machine = (): string =>
  `${availableParallelism()} cores (${cpus()[0]?.model.trim() ?? "unknown"}), ${process.platform}, Node ${process.version}`
