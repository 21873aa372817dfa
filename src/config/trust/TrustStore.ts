/**
 * Stores which entries of project files and which directories the user has approved (`trust.json` in the state directory).
 * An approval is a keyed hash (`trust.key`). It covers one entry of one real file and the directory that the entry runs in,
 * and any change ends it. A hash of each part shows later which parts changed. No text of an entry is stored, because it may
 * be a secret.
 */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Secrets from "../../domain/Secrets.js"
import { canonicalJson } from "../../system/canonicalJson.js"
import * as KeyFile from "../../system/files/keyFile.js"
import * as StateDirectory from "../../system/files/stateDirectory.js"
import { replace } from "../../system/files/wholeFile.js"
import { entryParts, type ApprovedPart, settingParts } from "./approvedParts.js"
import type { LayerContent } from "../document/LayerContent.js"
import type { Directories } from "./directories.js"
import * as ConfigFile from "../document/configFile.js"
import * as Tree from "../document/Tree.js"
import { withLock } from "../edit/configLock.js"
import { projectDirectoryOf } from "../layers/Workspace.js"

/** Approvals of version 1 did not cover the directory, and version 2 stored texts beside the hashes: both are invalid. */
const version = 3

const Approved = Schema.Struct({
  hash: Schema.String,
  /** A hash of each part of the entry, by its label. */
  parts: Schema.Record({ key: Schema.String, value: Schema.String })
})

const Approval = Schema.Struct({
  servers: Schema.Record({ key: Schema.String, value: Approved }),
  /** The settings of the file: everything except servers. */
  settings: Schema.optional(Approved)
})

const Contents = Schema.Struct({
  files: Schema.Record({ key: Schema.String, value: Approval }),
  /** Directories in which the user's own servers may run. */
  directories: Schema.Record({ key: Schema.String, value: Schema.String })
})

const Document = Schema.parseJson(Schema.extend(Schema.Struct({ version: Schema.Literal(version) }), Contents))

const Versioned = Schema.parseJson(Schema.Struct({ version: Schema.Number }))

type Approvals = typeof Contents.Type

const none: Approvals = { files: {}, directories: {} }

const maxBytes = 16 * 1024 * 1024

export const fileIn = (stateDir: string): string => join(stateDir, "trust.json")

const keyIn = (stateDir: string): string => join(stateDir, "trust.key")

/** The stored approvals. An approval holds until its entry changes. */
export interface Trust {
  /** @param directory the directory that the entry runs in, if it sets a `cwd`. */
  readonly server: (file: string, content: LayerContent, name: string, directory: string | undefined) => boolean
  readonly settings: (file: string, content: LayerContent) => boolean
  /** Whether the user's own servers may run in a directory, by its real path. */
  readonly directory: (path: string) => boolean
  /** The servers of a file that had an approval. */
  readonly names: (file: string) => ReadonlyArray<string>
  /** The parts of an entry, or of the settings of a file, at the last approval. */
  readonly before: (file: string, name: string | undefined) => Before | undefined
}

export interface Before {
  readonly labels: ReadonlySet<string>
  /** Whether a part is exactly the same as at the last approval. */
  readonly isSame: (part: ApprovedPart) => boolean
}

/** Reads the text of `trust.json`. */
export const text = (stateDir: string): Effect.Effect<ConfigFile.FileContent> =>
  ConfigFile.readStateText(fileIn(stateDir), maxBytes)

/** Reads the approvals of a text of `trust.json`. There are none without a key, or if the text is not valid. */
export const read = (stateDir: string, found: ConfigFile.FileContent): Effect.Effect<Trust> =>
  Effect.gen(function* () {
    yield* StateDirectory.check(stateDir)
    const key = yield* KeyFile.read(keyIn(stateDir))
    return trustOf(key, yield* Schema.decode(Document)(found._tag === "Found" ? found.text : ""))
  }).pipe(Effect.orElseSucceed(() => trustOf("", none)))

const trustOf = (key: string, { directories, files }: Approvals): Trust => {
  const server = (file: string, name: string) => own(own(files, file)?.servers ?? {}, name)
  return {
    server: (file, content, name, directory) => {
      const approved = server(file, name)
      return approved !== undefined && approved.hash === serverHash(key, file, content, name, directory)
    },
    settings: (file, content) =>
      content.settings.fields.size === 0 || own(files, file)?.settings?.hash === settingsHash(key, file, content),
    directory: (path) => own(directories, path) === directoryHash(key, path),
    names: (file) => Object.keys(own(files, file)?.servers ?? {}),
    before: (file, name) => {
      const approved = name === undefined ? own(files, file)?.settings : server(file, name)
      if (approved === undefined) return undefined
      return {
        labels: new Set(Object.keys(approved.parts)),
        isSame: (part) => own(approved.parts, part.label) === partHash(key, file, name, part)
      }
    }
  }
}

const own = <A>(record: Readonly<Record<string, A>>, key: string): A | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

const textOf = (path: string): Effect.Effect<string, "absent" | "unreadable"> =>
  Effect.flatMap(ConfigFile.readStateText(path, maxBytes), (found) =>
    found._tag === "Found" ? Effect.succeed(found.text) : Effect.fail(found._tag === "Absent" ? "absent" : "unreadable")
  )

const serverHash = (
  key: string,
  file: string,
  { servers }: LayerContent,
  name: string,
  directory = projectDirectoryOf(file)
): string => {
  const entry = servers.get(name)
  return hash(key, ["server", file, directory, name, entry === undefined ? null : Tree.toPlain(entry.tree)])
}

const directoryHash = (key: string, path: string): string => hash(key, ["directory", path])

const partHash = (key: string, file: string, name: string | undefined, { label, value }: ApprovedPart): string =>
  hash(key, ["part", file, name ?? null, label, value])

const approved = (
  key: string,
  file: string,
  name: string | undefined,
  whole: string,
  parts: ReadonlyArray<ApprovedPart>
): typeof Approved.Type => ({
  hash: whole,
  parts: Object.fromEntries(parts.map((part) => [part.label, partHash(key, file, name, part)]))
})

const settingsHash = (key: string, file: string, { settings }: LayerContent): string =>
  hash(key, ["settings", file, inOrder(Tree.toPlain(settings))])

const hash = (key: string, value: unknown): string => KeyFile.hash(key, canonicalJson(value))

/** Keeps the order of keys, which matters for patterns. */
const inOrder = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inOrder)
  return Predicate.isRecord(value) && !Secrets.isText(value)
    ? ["object", ...Object.entries(value).map(([key, item]) => [key, inOrder(item)])]
    : value
}

/** What to approve: some servers of a file, or the whole file. */
export interface Grant {
  readonly file: string
  readonly content: LayerContent
  readonly directories: Directories
  readonly servers: ReadonlyArray<string>
  readonly settings: boolean
}

/** Adds approvals to the stored ones. Fails with the reason if they cannot be stored. */
export const approve = (
  stateDir: string,
  grants: ReadonlyArray<Grant>,
  /** Real paths of directories in which the user's own servers may run. Defaults to none. */
  directories: ReadonlyArray<string> = []
): Effect.Effect<void, string> =>
  change(stateDir, (key, all) => {
    const next = new Map(Object.entries(all.files))
    for (const { content, directories, file, servers, settings } of grants) {
      const before = next.get(file)
      next.set(file, {
        servers: Object.fromEntries([
          // a server that is no longer declared loses its approval
          ...Object.entries(before?.servers ?? {}).filter(([name]) => content.servers.has(name)),
          ...servers.map((name) => {
            const directory = directories.get(name)?.real
            const whole = serverHash(key, file, content, name, directory)
            return [name, approved(key, file, name, whole, partsIn(file, content, name, directory))] as const
          })
        ]),
        settings: settings
          ? approved(key, file, undefined, settingsHash(key, file, content), settingParts(content))
          : before?.settings
      })
    }
    const hashes = directories.map((path) => [path, directoryHash(key, path)] as const)
    return Effect.succeed({
      files: Object.fromEntries(next),
      directories: { ...all.directories, ...Object.fromEntries(hashes) }
    })
  })

export const partsIn = (
  file: string,
  { servers }: LayerContent,
  name: string,
  directory?: string
): ReadonlyArray<ApprovedPart> => {
  const entry = servers.get(name)
  return entry === undefined ? [] : entryParts(file, entry.tree, directory)
}

/**
 * Revokes all approvals of files and directories, by their real paths. Returns those that had one. Fails if none had one, or
 * if the approvals cannot be read or written.
 */
export const revoke = (
  stateDir: string,
  paths: ReadonlyArray<string>
): Effect.Effect<ReadonlyArray<string>, string> => {
  let revoked: ReadonlyArray<string> = []
  return change(stateDir, (_key, { directories, files }) => {
    const remaining = <A>(record: Readonly<Record<string, A>>) =>
      Object.fromEntries(Object.entries(record).filter(([path]) => !paths.includes(path)))
    revoked = paths.filter((path) => Object.hasOwn(files, path) || Object.hasOwn(directories, path))
    return revoked.length > 0
      ? Effect.succeed({ files: remaining(files), directories: remaining(directories) })
      : Effect.fail("nothing of it was approved")
  }).pipe(Effect.map(() => revoked))
}

const change = (
  stateDir: string,
  next: (key: string, approvals: Approvals) => Effect.Effect<Approvals, string>
): Effect.Effect<void, string> =>
  withLock(
    stateDir,
    "trust"
  )(
    Effect.gen(function* () {
      yield* Effect.mapError(StateDirectory.check(stateDir), ({ message }) => message)
      const key = yield* makeKey(stateDir)
      const before = yield* Effect.either(textOf(fileIn(stateDir)))
      const approvals = before._tag === "Right" ? yield* approvalsIn(before.right) : none
      if (before._tag === "Left" && before.left === "unreadable") return yield* Effect.fail("trust.json cannot be read")
      const text = yield* Effect.mapError(
        Schema.encode(Document)({ version, ...(yield* next(key, approvals)) }),
        () => "approvals could not be written down"
      )
      // a file that is too large cannot be read again: all approvals would be lost
      if (Buffer.byteLength(text) > maxBytes)
        return yield* Effect.fail("there are too many approvals: take some back with trust --revoke in other projects")
      yield* replace(fileIn(stateDir), text, { durable: true })
    })
  )

/** Rejects a file of a later version. An invalid file is replaced by an empty one. */
const approvalsIn = (text: string): Effect.Effect<Approvals, string> =>
  Schema.decode(Document)(text).pipe(
    Effect.map(({ directories, files }) => ({ directories, files })),
    Effect.orElse(() =>
      Effect.flatMap(
        Effect.orElseSucceed(Schema.decode(Versioned)(text), () => ({ version: 0 })),
        (found) =>
          found.version > version
            ? Effect.fail("trust.json was written by a newer version of this program")
            : Effect.succeed(none)
      )
    )
  )

const makeKey = (stateDir: string): Effect.Effect<string, string> =>
  Effect.mapError(KeyFile.readOrCreate(keyIn(stateDir)), (reason) =>
    reason === "Corrupt" ? "trust.key is not valid: remove it to start again" : `trust.key cannot be used (${reason})`
  )
