/**
 * How many servers of one file are used. A file may name any number; each that is used costs memory and time.
 */
import type { Diagnostic } from "../domain/Diagnostic.js"
import { type Judged } from "./combine.js"
import { type Content, remark } from "./Content.js"
import type * as Entry from "./Entry.js"
import { needsTrust } from "./Layer.js"
import * as Tree from "./Tree.js"

/** Unless `maxServers` says otherwise. */
export const defaultMaxServers = 1000

/** Of the servers of one file that are not approved, so many are shown. No key raises it: the file is somebody else's. */
const maxUnapproved = 200

/**
 * The same layers with as many servers of each as are used, in the order of the file, and a diagnostic where there are more.
 * Servers that are not approved never take the place of one that is.
 */
export const withinLimits = (layers: ReadonlyArray<Judged>): ReadonlyArray<Judged> => {
  const max = maxServersOf(layers)
  return layers.map((judged) => (judged.content.layer.kind === "program" ? judged : limited(judged, max)))
}

/** A setting like all others: the highest layer that may say so decides for all files. */
const maxServersOf = (layers: ReadonlyArray<Judged>): number => {
  const said = layers.flatMap(({ content, settingsTrusted }) => {
    const tree = content.settings.fields.get("maxServers")
    return settingsTrusted && tree !== undefined ? [Tree.toPlain(tree)] : []
  })
  const last = said.at(-1)
  return typeof last === "number" ? last : defaultMaxServers
}

const limited = (judged: Judged, max: number): Judged => {
  const { content, isTrusted } = judged
  const total = content.servers.size + content.unread
  const isApproved = (name: string) => !needsTrust(content.layer) || isTrusted(name)
  if (total <= Math.min(max, maxUnapproved)) return judged
  const servers = new Map<string, Entry.Entry>()
  let approved = 0
  let unapproved = 0
  for (const [name, entry] of content.servers) {
    const isUsed = isApproved(name) ? ++approved <= max : ++unapproved <= Math.min(max, maxUnapproved)
    if (isUsed) servers.set(name, entry)
  }
  if (servers.size === total) return judged
  const diagnostics = [...content.diagnostics, tooMany(content, { total, used: servers.size, max, unapproved })]
  return { ...judged, content: { ...content, servers, diagnostics } }
}

const tooMany = (
  { settings }: Content,
  found: { readonly total: number; readonly used: number; readonly max: number; readonly unapproved: number }
): Diagnostic => {
  const { max, total, unapproved, used } = found
  const isUntrusted = unapproved > Math.min(max, maxUnapproved)
  const rule = isUntrusted
    ? `at most ${Math.min(max, maxUnapproved)} that are not trusted are shown ("maxServers" allows ${max} that are)`
    : `"maxServers" allows ${max}`
  const message = `${total - used} of the ${total} servers in this file are left out: ${rule}`
  return remark(settings.origin, "too_many_servers", message)
}
