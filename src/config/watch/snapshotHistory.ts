/**
 * Decides, without effects, which updates follow from a new reading of the config files.
 */
import { isDeepStrictEqual } from "node:util"
import * as Either from "effect/Either"
import type { ConfigUpdate } from "../../domain/server/Desired.js"
import {
  invalidConfig,
  type IssuesByFile,
  issuesOf,
  type LastValid,
  rememberValid,
  requireValid,
  type Snapshot
} from "../layers/loadLayers.js"

/** What is known from earlier readings. */
export interface SnapshotHistory {
  /** The text at each watched path in the last reading. */
  readonly texts: Snapshot["texts"]
  /** Issues of shared files that were reported already. */
  readonly reported: IssuesByFile
  /** The last valid content of shared files, which stands in for an invalid one. */
  readonly lastValid: LastValid
}

export const start = (first: Snapshot): SnapshotHistory => ({
  texts: first.texts,
  reported: issuesOf(first, "shared"),
  lastValid: rememberValid(new Map(), first)
})

/** Makes `advance` report all issues of shared files again. */
export const forgetReported = (history: SnapshotHistory): SnapshotHistory => ({ ...history, reported: new Map() })

/**
 * Returns the updates that a reading causes, in order. An invalid file of the user rejects the whole reading. An invalid shared
 * file is reported once, and its last valid content stays in use.
 */
export const advance = (
  history: SnapshotHistory,
  snapshot: Snapshot
): { readonly history: SnapshotHistory; readonly updates: ReadonlyArray<ConfigUpdate> } => {
  const { texts } = snapshot
  const lastValid = rememberValid(history.lastValid, snapshot)
  const update = requireValid(snapshot)
  if (issuesOf(snapshot, "own").size > 0) return { history: { ...history, texts, lastValid }, updates: [update] }
  const shared = issuesOf(snapshot, "shared")
  const reports = unreported(history.reported, shared)
  const isOnlyReport = reports.length > 0 && isEqual(omit(history.texts, shared), omit(texts, shared))
  return { history: { texts, lastValid, reported: shared }, updates: isOnlyReport ? reports : [...reports, update] }
}

const unreported = (reported: IssuesByFile, current: IssuesByFile): ReadonlyArray<ConfigUpdate> => {
  const added = Array.from(current).filter(([file, issues]) => !isDeepStrictEqual(reported.get(file), issues))
  return added.length === 0 ? [] : [Either.left(invalidConfig(new Map(added)))]
}

/** Whether all files have the same text as in the last reading. */
export const isUnchanged = ({ texts }: SnapshotHistory, snapshot: Snapshot): boolean => isEqual(texts, snapshot.texts)

/** Whether a file that had text is now missing or empty. */
export const lostText = ({ texts }: SnapshotHistory, snapshot: Snapshot): boolean =>
  Array.from(texts).some(([path, text]) => !isBlank(text) && isBlank(snapshot.texts.get(path) ?? text))

type Texts = Snapshot["texts"]

const isEqual = (before: Texts, after: Texts): boolean =>
  before.size === after.size && Array.from(before).every(([path, text]) => after.get(path) === text)

/** The reader marks the text of an existing file with a leading `=`. */
const isBlank = (text: string): boolean => text.replace(/^=/, "").trim() === ""

const omit = (texts: Texts, files: ReadonlyMap<string, unknown>): Texts =>
  new Map(Array.from(texts).filter(([path]) => !files.has(path)))
