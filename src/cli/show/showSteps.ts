/**
 * Renders the steps of a diagnosis for people, one line each.
 */
import type { ProbeStep } from "../commands/login/probe.js"
import type { Style } from "../terminal/style.js"
import { oneLine } from "../terminal/table.js"

export const stepLine = ({ detail, ms, ok, phase }: ProbeStep, style: Style): string => {
  const time = ms === undefined || ms < 1 ? "" : style.dim(` ${Math.round(ms)} ms`)
  return `${ok ? style.good("✓") : style.bad("✗")} ${phase.padEnd(13)} ${oneLine(detail)}${time}`
}
