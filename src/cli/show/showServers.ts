/**
 * Renders servers and their statuses for people.
 */
import { withoutName } from "../../domain/internal/withoutName.js"
import type { ServerSnapshot } from "../../domain/server/ServerSnapshot.js"
import { isUsable, type ServerStatus } from "../../domain/server/ServerStatus.js"
import type { Style } from "../terminal/style.js"
import { type Cell, oneLine, table, wrap } from "../terminal/table.js"

/** `3 s`, `4 min`, `2 h`, `5 d`. */
export const duration = (ms: number): string => {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`
}

/** Converts snapshots to the body of `GET /mcp`. */
export const statusesOf = (snapshots: ReadonlyArray<ServerSnapshot>): Readonly<Record<string, ServerStatus>> =>
  Object.fromEntries(snapshots.map(({ name, status }) => [name, status]))

const signs: Readonly<Record<ServerStatus["status"], readonly [string, keyof Style]>> = {
  connected: ["●", "good"],
  idle: ["○", "good"],
  connecting: ["◌", "busy"],
  disabled: ["-", "dim"],
  failed: ["✗", "bad"],
  needs_auth: ["!", "busy"],
  needs_client_registration: ["!", "busy"]
}

const statusCell = ({ status }: ServerStatus, style: Style): Cell => {
  const [sign, colour] = signs[status]
  return { text: `${sign} ${status.replaceAll("_", " ")}`, paint: style[colour] }
}

/** Describes the current status of a server in one line. */
export const detail = (snapshot: ServerSnapshot, now: number): string => {
  const { status } = snapshot
  switch (status.status) {
    case "connected": {
      const restarts = snapshot.restarts === 0 ? [] : [`restarted ${snapshot.restarts}×`]
      const pid = snapshot.pid === undefined ? [] : [`pid ${snapshot.pid}`]
      const problem =
        snapshot.replacement?.error === undefined ? [] : [`new config fails: ${snapshot.replacement.error}`]
      return [`for ${duration(now - status.since)}`, ...pid, ...restarts, ...problem].join(", ")
    }
    case "connecting":
      return `${status.phase}${status.attempt > 1 ? `, attempt ${status.attempt}` : ""}`
    case "idle":
      return "starts on the first call"
    case "disabled":
      return status.hint ?? `by ${status.by}`
    case "failed":
      return `${withoutName(snapshot.name, status.error)}${retryOf(status, now)}`
    case "needs_auth":
      return status.hint
    case "needs_client_registration":
      return status.hint
  }
}

const retryOf = (
  { gaveUp, retryAt }: { readonly gaveUp?: string | undefined; readonly retryAt?: number | undefined },
  now: number
) => {
  const again = retryAt === undefined ? "" : `; retry in ${duration(retryAt - now)}`
  return gaveUp === undefined ? again : `; gave up: ${gaveUp}${again}`
}

const columns = [
  { title: "SERVER", flexible: true },
  { title: "STATUS" },
  { title: "TOOLS" },
  { title: "RESOURCES" },
  { title: "PROMPTS" },
  { title: "DETAIL", flexible: true }
]

export const serverTable = (
  snapshots: ReadonlyArray<ServerSnapshot>,
  options: { readonly style: Style; readonly width: number | undefined; readonly now: number }
): ReadonlyArray<string> => {
  const { now, style, width } = options
  const count = (each: number): Cell => (each === 0 ? { text: "-", paint: style.dim } : { text: String(each) })
  return table(
    columns,
    snapshots.map((snapshot) => [
      { text: snapshot.name, paint: style.bold },
      statusCell(snapshot.status, style),
      count(snapshot.tools),
      count(snapshot.resources),
      count(snapshot.prompts),
      { text: detail(snapshot, now), paint: isUsable(snapshot.status) ? style.dim : undefined }
    ]),
    { width, head: style.dim }
  )
}

/** Renders all properties of one server. */
export const serverCard = (
  snapshot: ServerSnapshot,
  options: { readonly style: Style; readonly width: number | undefined; readonly now: number }
): ReadonlyArray<string> => {
  const { now, style, width } = options
  const { status } = snapshot
  const { text, paint } = statusCell(status, style)
  const facts: ReadonlyArray<readonly [string, string | number | undefined]> = [
    ["detail", detail(snapshot, now)],
    ["transport", snapshot.transport],
    ["protocol", snapshot.protocolVersion],
    ["server", snapshot.serverInfo && `${snapshot.serverInfo.name} ${snapshot.serverInfo.version}`],
    ["pid", snapshot.pid],
    ["origin", snapshot.origin],
    ["offers", `${snapshot.tools} tools, ${snapshot.resources} resources, ${snapshot.prompts} prompts`],
    ["restarts", snapshot.restarts === 0 ? undefined : snapshot.restarts],
    ["failures", status.status === "failed" ? status.failures : undefined],
    ["stderr", status.status === "failed" ? status.stderr : undefined],
    ["instructions", snapshot.instructions],
    ...snapshot.diagnostics.map(({ message, severity }) => [severity, message] as const)
  ]
  const label = 14
  const room = Math.max((width ?? 120) - label, 24)
  return [
    `${style.bold(snapshot.name)} ${paint!(text)}`,
    ...facts.flatMap(([name, value]) =>
      value === undefined || value === ""
        ? []
        : wrap(String(value).trimEnd(), room).map(
            (line, index) => `${style.dim((index === 0 ? name : "").padEnd(label))}${line}`
          )
    )
  ]
}

/** Renders a server as one line, for output that is not redrawn. */
export const statusLine = (snapshot: ServerSnapshot, now: number): string =>
  oneLine(`${snapshot.name}: ${snapshot.status.status.replaceAll("_", " ")} (${detail(snapshot, now)})`)
