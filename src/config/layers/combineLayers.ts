/**
 * Combines all layers, from the lowest to the highest. An untrusted entry never changes a trusted one.
 */
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { type LayerContent, remark } from "../document/LayerContent.js"
import * as LayerEntry from "../document/LayerEntry.js"
import { needsTrust } from "./ConfigLayer.js"
import { type LayeredEntry, separateProjects } from "./separateProjects.js"
import * as Tree from "../document/Tree.js"

/** The content of a layer, and which parts of it are approved. */
export interface Judged {
  readonly content: LayerContent
  readonly isTrusted: (server: string) => boolean
  readonly settingsTrusted: boolean
}

/** A layer that needs no approval. */
export const trusted = (content: LayerContent): Judged => ({ content, isTrusted: () => true, settingsTrusted: true })

export interface CombinedServer {
  readonly name: string
  readonly entry: LayerEntry.LayerEntry
  /** Whether the definition of the server is not approved. */
  readonly untrusted: boolean
}

export interface Combined {
  /** The servers in the order in which they first occur. */
  readonly servers: ReadonlyArray<CombinedServer>
  readonly settings: Tree.Branch | undefined
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

export const combine = (layers: ReadonlyArray<Judged>): Combined => {
  const diagnostics: Array<Diagnostic> = []
  const names = new Map<string, Array<LayeredEntry & { readonly isTrusted: boolean }>>()
  let settings: Tree.Tree | undefined
  for (const { content, isTrusted, settingsTrusted } of layers) {
    for (const each of content.diagnostics) diagnostics.push(each)
    for (const [name, entry] of content.servers) {
      const parts = names.get(name) ?? []
      names.set(name, parts)
      parts.push({ entry, layer: content.layer, isTrusted: !needsTrust(content.layer) || isTrusted(name) })
    }
    if (settingsTrusted) settings = Tree.merge(settings, content.settings)
    else {
      const message = `"${[...content.settings.fields.keys()].join('", "')}" of this project file are left out until it is trusted`
      diagnostics.push(remark(content.settings.origin, "untrusted_settings", message))
    }
  }
  const servers = Array.from(names).flatMap(([name, parts]): ReadonlyArray<CombinedServer> => {
    const kept = separateProjects(
      name,
      parts.filter(({ isTrusted }) => isTrusted)
    )
    for (const each of kept.diagnostics) diagnostics.push(each)
    const approved = reduce(kept.entries)
    const others = parts.filter(({ isTrusted }) => !isTrusted)
    if (others.length === 0) return approved === undefined ? [] : [{ name, entry: approved, untrusted: false }]
    if (approved !== undefined && LayerEntry.isDefinition(approved)) {
      for (const { entry } of others) {
        const message = `what this project file says of "${name}" is left out until it is trusted`
        diagnostics.push({ ...remark(entry.tree.origin, "untrusted_ignored", message), subject: name })
      }
      return [{ name, entry: approved, untrusted: false }]
    }
    const all = reduce(separateProjects(name, parts).entries)!
    return LayerEntry.isDefinition(all) ? [{ name, entry: all, untrusted: true }] : []
  })
  return { servers, settings: Tree.isBranch(settings) ? settings : undefined, diagnostics }
}

const reduce = ([first, ...rest]: ReadonlyArray<LayerEntry.LayerEntry>): LayerEntry.LayerEntry | undefined =>
  first === undefined ? undefined : rest.reduce(LayerEntry.merge, first)
