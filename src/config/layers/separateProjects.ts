/**
 * Decides by key what merged entries of one name take from each other. An approval is for one entry in one directory, so entries of
 * project files in different directories stay apart, and a server that a project's file defines gets nothing of the user's own
 * entry.
 */
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { remark } from "../document/LayerContent.js"
import { identityKeys, ownKeys } from "../document/keyFacts.js"
import { definingKeys, type LayerEntry } from "../document/LayerEntry.js"
import { type ConfigLayer, needsTrust } from "./ConfigLayer.js"
import * as Tree from "../document/Tree.js"

/** The entry of one layer. */
export interface LayeredEntry {
  readonly layer: ConfigLayer
  readonly entry: LayerEntry
}

export interface Separated {
  /** The entries, without the keys that must not be merged. */
  readonly entries: ReadonlyArray<LayerEntry>
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/** @param parts from the lowest layer to the highest. */
export const separateProjects = (name: string, parts: ReadonlyArray<LayeredEntry>): Separated => {
  const entries = parts.map(({ entry }) => entry)
  const owner = ownerOf(parts)
  if (owner === undefined) return { entries, diagnostics: [] }
  const isOfOwner = ({ layer }: LayeredEntry) => needsTrust(layer) && layer.runsIn === owner.layer.runsIn
  const set = new Set(parts.filter(isOfOwner).flatMap(({ entry }) => [...fieldsOf(entry).keys()]))
  const withheld = withheldFrom(set)
  const diagnostics: Array<Diagnostic> = []
  const stripped = parts.map((part, index): LayerEntry => {
    const isProject = needsTrust(part.layer)
    if (isProject ? isOfOwner(part) : index > parts.indexOf(owner)) return part.entry
    const lost = Array.from(fieldsOf(part.entry)).filter(([key]) => (isProject ? identityKeys : withheld).has(key))
    // a key that the owner replaces anyway is not reported
    const told = lost.filter(([key, value]) => !replaced.has(key) && (Tree.isBranch(value) || !set.has(key)))
    if (told.length > 0) {
      const keys = told.map(([key]) => `"${key}"`).join(", ")
      const { code, message } = isProject ? otherDirectory(name, keys, owner) : ownValues(name, keys, set, owner)
      // without a subject, so that it is reported beside the servers
      diagnostics.push(remark(part.entry.tree.origin, code, message))
    }
    return without(part.entry, new Set(lost.map(([key]) => key)))
  })
  return { entries: stripped, diagnostics }
}

const replaced: ReadonlySet<string> = new Set(["type", "command", "args", "url"])

/** The highest project entry that defines the server, or at least its inputs. */
const ownerOf = (parts: ReadonlyArray<LayeredEntry>): LayeredEntry | undefined => {
  const project = parts.filter(({ layer }) => needsTrust(layer))
  const has = (keys: Iterable<string>) => (part: LayeredEntry) =>
    Array.from(keys).some((key) => fieldsOf(part.entry).has(key))
  return project.findLast(has(definingKeys)) ?? project.findLast(has(identityKeys))
}

/** The keys whose values a command receives. */
const inputsOfCommand = [...ownKeys.local.filter((key) => key !== "command" && key !== "cwd"), "secrets"]

/** The keys of the user's own entry that are withheld from a project's entry with the keys in `set`. */
const withheldFrom = (set: ReadonlySet<string>): ReadonlySet<string> => {
  if (set.has("command") || set.has("url")) return identityKeys
  const keys = set.has("args") ? inputsOfCommand : []
  return new Set(set.has("oauth") ? [...keys, "oauth"] : keys)
}

const otherDirectory = (name: string, keys: string, owner: LayeredEntry) => ({
  code: "other_directory",
  message: `${keys} of "${name}" are left out: ${owner.layer.name} declares it, for another directory; set them there`
})

const ownValues = (name: string, keys: string, set: ReadonlySet<string>, owner: LayeredEntry) => {
  const what = ["url", "command", "args", "oauth"].find((key) => set.has(key))
  const message = `${keys} of your "${name}" are not used: ${owner.layer.name} sets its "${what}", and would receive them; to allow that, set them in a --config file`
  return { code: "own_values_withheld", message }
}

const none: ReadonlyMap<string, Tree.Tree> = new Map()

const fieldsOf = ({ tree }: LayerEntry): ReadonlyMap<string, Tree.Tree> => (Tree.isBranch(tree) ? tree.fields : none)

const without = (entry: LayerEntry, keys: ReadonlySet<string>): LayerEntry => {
  const { tree } = entry
  if (!Tree.isBranch(tree) || keys.size === 0) return entry
  return { ...entry, tree: { ...tree, fields: new Map(Array.from(tree.fields).filter(([key]) => !keys.has(key))) } }
}
