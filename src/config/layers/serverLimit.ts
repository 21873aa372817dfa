/**
 * Limits the number of servers per file, and of servers in project files that are not approved. Each server that is used
 * costs memory and time.
 */
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { type Judged } from "./combineLayers.js"
import { type LayerContent, remark } from "../document/LayerContent.js"
import type * as LayerEntry from "../document/LayerEntry.js"
import { needsTrust } from "./ConfigLayer.js"
import * as Tree from "../document/Tree.js"

/** The number of servers per file if `maxServers` is not set. */
export const defaultMaxServers = 1000

/**
 * The number of servers without approval that are shown, of all project files together: a project can have a file in each of
 * its directories. No setting raises it, because the files come with the project.
 */
const maxUnapproved = 200

/**
 * Drops the servers of each layer beyond the limits, in the order of the file, with a diagnostic for each such file. A server
 * that is not approved never displaces one that is.
 */
export const withinLimits = (layers: ReadonlyArray<Judged>): ReadonlyArray<Judged> => {
  const max = maxServersOf(layers)
  let room = Math.min(max, maxUnapproved)
  return layers.map((judged) => {
    if (judged.content.layer.kind === "program") return judged
    const { left, limited } = limitedTo(judged, max, room)
    room = left
    return limited
  })
}

/** The value of `maxServers`: the highest layer whose settings are trusted decides for all files. */
const maxServersOf = (layers: ReadonlyArray<Judged>): number => {
  const values = layers.flatMap(({ content, settingsTrusted }) => {
    const tree = content.settings.fields.get("maxServers")
    return settingsTrusted && tree !== undefined ? [Tree.toPlain(tree)] : []
  })
  const last = values.at(-1)
  return typeof last === "number" ? last : defaultMaxServers
}

/** @param room the number of further servers without approval; `left` is the rest of it. */
const limitedTo = (judged: Judged, max: number, room: number): { readonly limited: Judged; readonly left: number } => {
  const { content, isTrusted } = judged
  const isApproved = (name: string) => !needsTrust(content.layer) || isTrusted(name)
  const servers = new Map<string, LayerEntry.LayerEntry>()
  let approved = 0
  let pending = 0
  for (const [name, entry] of content.servers) {
    const isUsed = isApproved(name) ? ++approved <= max : ++pending <= room
    if (isUsed) servers.set(name, entry)
  }
  const left = Math.max(0, room - pending)
  const total = content.servers.size + content.unread
  if (servers.size === total) return { limited: judged, left }
  const found = { total, used: servers.size, max, isPending: pending > room }
  const diagnostics = [...content.diagnostics, tooMany(content, found)]
  return { limited: { ...judged, content: { ...content, servers, diagnostics } }, left }
}

const tooMany = (
  { settings }: LayerContent,
  found: { readonly total: number; readonly used: number; readonly max: number; readonly isPending: boolean }
): Diagnostic => {
  const { isPending, max, total, used } = found
  const rule = isPending
    ? `at most ${Math.min(max, maxUnapproved)} that are not trusted are shown, of all project files together ("maxServers" allows ${max} in each file that is)`
    : `"maxServers" allows ${max}`
  const message = `${total - used} of the ${total} servers in this file are left out: ${rule}`
  return remark(settings.origin, "too_many_servers", message)
}
