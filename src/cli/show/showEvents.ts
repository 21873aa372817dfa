/**
 * Renders events, log lines and plans for people, one line each.
 */
import type { Plan } from "../../domain/server/Plan.js"
import type { LogLine } from "../../domain/catalog/Protocol.js"
import type { ServerEvent } from "../../domain/server/ServerEvent.js"
import type { Style } from "../terminal/style.js"
import { oneLine } from "../terminal/table.js"

/** The local time of day in milliseconds. */
export const clockTime = (at: number): string => {
  const date = new Date(at)
  const two = (part: number) => String(part).padStart(2, "0")
  const day = [two(date.getHours()), two(date.getMinutes()), two(date.getSeconds())].join(":")
  return `${day}.${String(date.getMilliseconds()).padStart(3, "0")}`
}

export const eventLine = (event: ServerEvent, style: Style): string => {
  const server = "server" in event && event.server !== undefined ? `${style.bold(event.server)} ` : ""
  return `${style.dim(clockTime(event.at))} ${server}${oneLine(description(event))}`
}

const description = (event: ServerEvent): string => {
  switch (event.type) {
    case "StatusChanged": {
      const { to } = event
      const why = to.status === "failed" ? `: ${to.error}` : to.status === "connecting" ? ` (${to.phase})` : ""
      return `${event.from.status} → ${to.status}${why}`
    }
    case "CatalogChanged":
      return `${event.kind}: ${signed("+", event.added)}${signed("−", event.removed)}`.trimEnd()
    case "ResourceUpdated":
      return `resource ${event.uri} changed`
    case "ServerAdded":
      return "added"
    case "ServerRemoved":
      return "removed"
    case "Replacement":
      if (event.error !== undefined) return `new config fails: ${event.error}`
      return event.generation === undefined ? "replacement finished" : "replacing: the config changed"
    case "CallSettled":
      return `${event.tool} ended with ${event.outcome} after ${Math.round(event.ms)} ms`
    case "Diagnostic":
      return `${event.diagnostic.severity}: ${event.diagnostic.message}`
    case "ConfigApplied":
      return `config applied: ${planSummary(event.plan)}`
    case "ConfigRejected":
      return `config rejected, nothing changes: ${event.errors.map(({ message }) => message).join("; ")}`
    case "Auth":
      return event.what.replaceAll("_", " ")
    case "Skipped":
      return `events ${event.from} to ${event.to} were missed`
  }
}

const signed = (sign: string, names: ReadonlyArray<string>): string => {
  const shown = names.slice(0, 5).map((name) => `${sign}${name} `)
  return `${shown.join("")}${names.length > 5 ? `${sign}${names.length - 5} more ` : ""}`
}

const kinds = [
  ["start", "added"],
  ["stop", "removed"],
  ["restart", "restarted"],
  ["update", "updated"]
] as const

const planSummary = (plan: Plan): string => {
  const parts = kinds.flatMap(([key, word]) => (plan[key].length === 0 ? [] : [`${plan[key].join(", ")} ${word}`]))
  return parts.length === 0 ? "no changes" : parts.join("; ")
}

/** The changes of a reload. */
export const planLines = (plan: Plan, style: Style): ReadonlyArray<string> => {
  const changes = kinds.flatMap(([key, word]) => plan[key].map((name) => `${style.bold(name)} ${word}`))
  const tools = [...plan.tools.appear.map((name) => `+ ${name}`), ...plan.tools.vanish.map((name) => `− ${name}`)]
  const kept = plan.keep.length === 0 ? [] : [style.dim(`${plan.keep.length} unchanged`)]
  return [...(changes.length === 0 ? ["no changes"] : changes), ...tools, ...kept]
}

export const logLine = ({ at, source, text }: LogLine, style: Style): string =>
  `${style.dim(`${clockTime(at)}${source === "stderr" ? "" : ` ${source}`}`)} ${oneLine(text)}`
