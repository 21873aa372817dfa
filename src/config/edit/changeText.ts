/**
 * Applies a change to the text of a config file, and verifies that nothing else changed.
 */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import type { Issue } from "../../domain/Issue.js"
import { serverMapKeys } from "../../domain/server/serverMapKeys.js"
import { definingKeys } from "../document/LayerEntry.js"
import { editJson } from "./editJson.js"
import { editToml } from "./editToml.js"
import type { ConfigLayer } from "../layers/ConfigLayer.js"
import { parse } from "../document/parseDocument.js"
import * as DocumentText from "../document/DocumentText.js"
import { toPlain } from "../document/Tree.js"

export type EntryChange =
  | { readonly _tag: "Add"; readonly name: string; readonly entry: Readonly<Record<string, unknown>> }
  | { readonly _tag: "Remove"; readonly name: string }
  /** For a server that the file does not declare, adds an entry that only enables or disables it. */
  | { readonly _tag: "Switch"; readonly name: string; readonly enabled: boolean }

/** The path of an object of servers in a document. */
export type MapPath = readonly [string, ...Array<string>]

export interface ChangeRefused {
  readonly reason: string
  readonly issues: ReadonlyArray<Issue>
}

/** The paths that can hold servers. VS Code's settings hold them one level deeper. */
const mapPaths: ReadonlyArray<MapPath> = [["mcp", "servers"], ...serverMapKeys.map((key): MapPath => [key])]

/** Returns the changed text. Without a text, returns that of a new file. A byte order mark is kept. */
export const change = (
  name: string,
  raw: string | undefined,
  wanted: EntryChange
): Either.Either<string, ChangeRefused> =>
  Either.gen(function* () {
    const text = DocumentText.make(name, raw ?? "")
    const mark = (raw ?? "").slice(0, (raw ?? "").length - text.text.length)
    const before = yield* read(text, "it cannot be read: correct it first")
    if (!Predicate.isRecord(before)) return yield* refuse("it is no object")
    const maps = mapsIn(before)
    if (maps === undefined) return yield* refuse("its servers are not an object by name")
    const holding = maps.filter(
      (path) => Predicate.isRecord(at(before, path)) && Object.hasOwn(at(before, path) as object, wanted.name)
    )
    if (wanted._tag === "Add" && holding.length > 0) return yield* refuse(`it has a server "${wanted.name}" already`)
    if (wanted._tag === "Remove" && holding.length === 0) return yield* refuse(`it has no server "${wanted.name}"`)
    const target: MapPath = maps[0] ?? ["mcp"]
    const edit = text.format === "toml" ? editToml : editJson
    const edited = edit(raw === undefined ? undefined : text.text, wanted, holding, target)
    if (edited === undefined) return yield* refuse(cannot)
    const after = yield* read({ ...text, text: edited }, cannot)
    const model = structuredClone(before)
    apply(model, wanted, holding, target)
    if (!isDeepStrictEqual(withoutEmpty(after, maps), withoutEmpty(model, maps))) return yield* refuse(cannot)
    return mark + edited
  })

const cannot = "the way it is written cannot be changed without changing more: do it by hand"

const refuse = (reason: string): Either.Either<never, ChangeRefused> => Either.left({ reason, issues: [] })

/** A layer for parsing only. */
const nowhere: ConfigLayer = { kind: "file", name: "", directory: "" }

const read = (text: DocumentText.DocumentText, reason: string): Either.Either<unknown, ChangeRefused> =>
  Either.mapBoth(parse(text, nowhere), {
    onLeft: (issues) => ({ reason, issues }),
    // a round trip through JSON removes what a parser adds to its objects
    onRight: ({ tree }) => plain(toPlain(tree))
  })

const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, item) => (typeof item === "bigint" ? String(item) : item)) ?? "null")

const at = (document: unknown, path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((value, key) => (Predicate.isRecord(value) ? value[key] : undefined), document)

/** The objects of servers in a document. `undefined` if one of these keys holds something else. */
const mapsIn = (document: Record<string, unknown>): ReadonlyArray<MapPath> | undefined => {
  const nested = at(document, ["mcp", "servers"])
  const isNested = Predicate.isRecord(nested) && Object.values(nested).every(Predicate.isRecord) && !isServer(nested)
  const present = mapPaths
    .filter((path) => (path.length === 2 ? isNested : !(isNested && path[0] === "mcp")))
    .filter((path) => at(document, path) !== undefined)
  return present.every((path) => Predicate.isRecord(at(document, path))) ? present : undefined
}

/** Whether it is one server of the name "servers". */
const isServer = (value: Record<string, unknown>): boolean => definingKeys.some((key) => Object.hasOwn(value, key))

const apply = (
  document: Record<string, unknown>,
  wanted: EntryChange,
  holding: ReadonlyArray<MapPath>,
  target: MapPath
): void => {
  const map = (path: MapPath): Record<string, unknown> => {
    let value = document
    for (const key of path) value = (value[key] ??= {}) as Record<string, unknown>
    return value
  }
  switch (wanted._tag) {
    case "Add":
      return void (map(target)[wanted.name] = plain(wanted.entry))
    case "Remove":
      return holding.forEach((path) => delete map(path)[wanted.name])
    case "Switch": {
      const [held] = holding
      const entry = map(held ?? target)
      entry[wanted.name] = switched(entry[wanted.name], wanted.enabled)
    }
  }
}

/** The entry with `enabled` or `disabled` set, whichever of the keys it has already. */
const switched = (entry: unknown, enabled: boolean): unknown => {
  if (!Predicate.isRecord(entry)) return { enabled }
  return "disabled" in entry && !("enabled" in entry) ? { ...entry, disabled: !enabled } : { ...entry, enabled }
}

/** Removes empty objects of servers, which mean the same as absent ones. */
const withoutEmpty = (document: unknown, maps: ReadonlyArray<MapPath>): unknown => {
  const copy = structuredClone(document) as Record<string, unknown>
  for (const [key] of [...maps, ["mcp"] as MapPath]) {
    if (Predicate.isRecord(copy[key]) && Object.keys(copy[key]).length === 0) delete copy[key]
  }
  return copy
}
