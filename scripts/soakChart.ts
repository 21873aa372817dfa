/** Draws lines over time as an SVG: one panel for each measure, with axes and labels. */

export interface Sample {
  /** Seconds since the beginning. */
  readonly at: number
  readonly values: Readonly<Record<string, number>>
}

export interface Panel {
  readonly measure: string
  readonly title: string
}

const width = 900
const panelHeight = 170
const left = 80
const right = 20
const top = 60
const gap = 50

const escape = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** About five round numbers from 0 to at least `highest`. */
export const ticks = (highest: number): ReadonlyArray<number> => {
  const rough = Math.max(highest, 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough)!
  return Array.from(
    { length: Math.ceil(highest / step) + 1 || 2 },
    (_, index) => Math.round(index * step * 1000) / 1000
  )
}

const text = (x: number, y: number, content: string, more = "") =>
  `<text x="${x}" y="${y}" ${more}>${escape(content)}</text>`

const panel = ({ measure, title }: Panel, samples: ReadonlyArray<Sample>, index: number): string => {
  const y0 = top + index * (panelHeight + gap)
  const bottom = y0 + panelHeight
  const inner = width - left - right
  const duration = Math.max(samples.at(-1)?.at ?? 1, 1)
  const values = samples.map(({ values }) => values[measure] ?? 0)
  const levels = ticks(values.reduce((highest, value) => Math.max(highest, value), 1))
  const highest = levels.at(-1)!
  const x = (at: number) => Math.round((left + (at / duration) * inner) * 10) / 10
  const y = (value: number) => Math.round((bottom - (value / highest) * panelHeight) * 10) / 10
  const grid = levels.map(
    (level) =>
      `<line x1="${left}" x2="${width - right}" y1="${y(level)}" y2="${y(level)}" stroke="#ddd"/>` +
      text(left - 8, y(level) + 4, level.toLocaleString("en"), 'text-anchor="end"')
  )
  const times = ticks(duration / 60).filter((minutes) => minutes * 60 <= duration)
  const axis = times.map((minutes) => text(x(minutes * 60), bottom + 18, `${minutes} min`, 'text-anchor="middle"'))
  const points = samples.map(({ at }, each) => `${x(at)},${y(values[each]!)}`).join(" ")
  return [
    text(left, y0 - 10, title, 'font-weight="bold"'),
    ...grid,
    ...axis,
    `<polyline points="${points}" fill="none" stroke="#1f6feb" stroke-width="1.5"/>`
  ].join("\n")
}

export const chart = (title: string, panels: ReadonlyArray<Panel>, samples: ReadonlyArray<Sample>): string => {
  const height = top + panels.length * (panelHeight + gap)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#222">
<rect width="${width}" height="${height}" fill="#fff"/>
${text(left, 26, title, 'font-size="15" font-weight="bold"')}
${panels.map((each, index) => panel(each, samples, index)).join("\n")}
</svg>
`
}

/** The lowest sample of each of several parts of the time after the warm-up, which leaves out temporary peaks. */
const floor = (samples: ReadonlyArray<Sample>, measure: string, warmUp: number, parts = 12) => {
  const rest = samples.filter(({ at }) => at >= warmUp)
  const size = Math.max(1, Math.ceil(rest.length / parts))
  return Array.from({ length: Math.ceil(rest.length / size) }, (_, index) =>
    rest
      .slice(index * size, (index + 1) * size)
      .map(({ at, values }) => ({ at, value: values[measure] ?? 0 }))
      .reduce((lowest, each) => (each.value < lowest.value ? each : lowest))
  )
}

/** By how much the floor of a measure grows in an hour, by least squares. */
export const growthPerHour = (samples: ReadonlyArray<Sample>, measure: string, warmUp: number): number => {
  const points = floor(samples, measure, warmUp)
  if (points.length < 2) return 0
  const meanAt = points.reduce((sum, { at }) => sum + at, 0) / points.length
  const mean = points.reduce((sum, { value }) => sum + value, 0) / points.length
  const above = points.reduce((sum, { at, value }) => sum + (at - meanAt) * (value - mean), 0)
  const below = points.reduce((sum, { at }) => sum + (at - meanAt) ** 2, 0)
  return below === 0 ? 0 : (above / below) * 3600
}
