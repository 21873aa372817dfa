/**
 * Edits config files: chooses the file, serializes edits, and keeps a backup. An added server is approved; enabling or
 * disabling a server leaves its approval as it is.
 */
import { createHash } from "node:crypto"
import { basename, dirname, join } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { defined } from "../../domain/internal/defined.js"
import { EditRefused, type InvalidConfig, ServerExists, ServerNotFound } from "../../domain/Errors.js"
import { nearest } from "../../domain/internal/nearest.js"
import { replace } from "../../system/files/wholeFile.js"
import { type EntryChange, change } from "./changeText.js"
import { checkedEntry } from "./checkedEntry.js"
import * as LayerContent from "../document/LayerContent.js"
import { directoriesOf } from "../trust/directories.js"
import * as LayerEntry from "../document/LayerEntry.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import * as ConfigLayer from "../layers/ConfigLayer.js"
import { load, type Snapshot } from "../layers/loadLayers.js"
import { globalFiles } from "../layers/locations.js"
import { withLock } from "./configLock.js"
import * as DocumentText from "../document/DocumentText.js"
import * as TrustStore from "../trust/TrustStore.js"
import { isWithin, ofProject, projectDirectoryOf } from "../layers/Workspace.js"

const maxBytes = 8 * 1024 * 1024

/**
 * @since 0.1.0
 * @category models
 */
export interface Where {
  /** Where a new server is written. Defaults to the project's file if there is one, otherwise the user's file. */
  readonly scope?: "project" | "global" | undefined
  /** The file to edit, relative to `cwd`. Defaults to the file of `scope`, or the highest file that declares the server. */
  readonly file?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Edited {
  readonly file: string
  /** Whether the content of the file changed. */
  readonly changed: boolean
  /** A backup of the previous content, in the state directory. Absent if there was no file. */
  readonly backup?: string | undefined
  /** Other layers that mention the server. */
  readonly alsoIn: ReadonlyArray<string>
}

type Add = Extract<EntryChange, { readonly _tag: "Add" }>

export const add = (
  surroundings: Surroundings,
  { entry, name }: Pick<Add, "entry" | "name">,
  options: Where
): Effect.Effect<Edited, ServerExists | InvalidConfig | EditRefused> =>
  Effect.gen(function* () {
    const plain = yield* checkedEntry(name, entry)
    const snapshot = yield* load(surroundings, {})
    const isDefined = snapshot.combined.servers.some(
      (server) => server.name === name && LayerEntry.isDefinition(server.entry)
    )
    if (isDefined) return yield* new ServerExists({ server: name })
    const target = yield* ownFile(snapshot, targetFor(surroundings, snapshot, options))
    return yield* write(surroundings, target, { _tag: "Add", name, entry: plain }, others(snapshot, name, target.file))
  })

export const remove = (
  surroundings: Surroundings,
  name: string,
  options: Where
): Effect.Effect<Edited, ServerNotFound | EditRefused> =>
  Effect.gen(function* () {
    const snapshot = yield* load(surroundings, {})
    const target = yield* declaring(surroundings, snapshot, name, options)
    if (target === undefined) {
      const isNamed = options.file !== undefined || options.scope !== undefined
      return yield* isNamed
        ? notIn(snapshot, name, targetFor(surroundings, snapshot, options).file)
        : cannotChange(snapshot, name)
    }
    return yield* write(surroundings, target, { _tag: "Remove", name }, others(snapshot, name, target.file))
  })

export const turn = (
  surroundings: Surroundings,
  name: string,
  enabled: boolean,
  options: Where
): Effect.Effect<Edited, ServerNotFound | EditRefused> =>
  Effect.gen(function* () {
    const snapshot = yield* load(surroundings, {})
    const declared = yield* declaring(surroundings, snapshot, name, options)
    const highest = declarations(snapshot, name).at(-1)?.content.layer.kind
    // no file that an edit can write overrides these layers
    if (highest === "inline" || highest === "managed") return yield* cannotChange(snapshot, name)
    const target = yield* ownFile(snapshot, declared ?? targetFor(surroundings, snapshot, options))
    return yield* write(surroundings, target, { _tag: "Switch", name, enabled }, others(snapshot, name, target.file))
  })

/** The file that `add` would write a new server to. For a project's file, also the directory that its servers run in. */
export const newServerTarget = (surroundings: Surroundings, options: Where) =>
  Effect.gen(function* () {
    const { file, isProject } = targetFor(surroundings, yield* load(surroundings, {}), options)
    if (!isProject) return { file }
    const realPath = yield* ConfigFile.realPath(file)
    return { file, project: { directory: dirname(realPath), runsIn: projectDirectoryOf(realPath) } }
  })

/** A file to edit. */
export interface Target {
  readonly file: string
  /** Whether its entries need approval. */
  readonly isProject: boolean
  /** The permissions of the file if it is created. */
  readonly mode: number
}

const editable: ReadonlyArray<ConfigLayer.LayerKind> = ["global", "environment", "project", "projectDirectory", "file"]

export const asTarget = ({ kind, name }: Pick<ConfigLayer.ConfigLayer, "kind" | "name">): Target => {
  const isProject = kind === "project" || kind === "projectDirectory"
  return { file: name, isProject, mode: isProject ? 0o644 : 0o600 }
}

/** The file for a server that no file declares yet. */
export const targetFor = (surroundings: Surroundings, { reads }: Snapshot, { file, scope }: Where): Target => {
  if (file !== undefined)
    return asTarget(reads.find(({ layer }) => layer.name === file)?.layer ?? { kind: "file", name: file })
  const present = (...kinds: ReadonlyArray<ConfigLayer.LayerKind>) =>
    reads.findLast(({ layer }) => kinds.includes(layer.kind))?.layer
  const project = present("project", "projectDirectory") ?? {
    kind: "project" as const,
    name: join(surroundings.cwd, "mcp-supervisor.json")
  }
  const isProject = scope === "project" || (scope === undefined && present("project", "projectDirectory") !== undefined)
  if (isProject) return asTarget(project)
  return asTarget(present("global") ?? { kind: "global", name: globalFiles(surroundings)[0]! })
}

/** Rejects a link that leads out of the project: such a file is neither read nor written. */
const ownFile = ({ workspace }: Snapshot, target: Target): Effect.Effect<Target, EditRefused> =>
  Effect.flatMap(ConfigFile.realPath(target.file), (file) =>
    !target.isProject || isWithin(workspace.directory, file)
      ? Effect.succeed(target)
      : new EditRefused({
          file: target.file,
          reason: `it is a link to ${file}, outside of the project: put a copy in its place`,
          issues: []
        })
  )

/** The layers that mention a server: those that are in effect, or, if there are none, those that are not approved. */
export const declarations = ({ judged }: Snapshot, name: string) => {
  const all = judged.filter(({ content }) => content.servers.has(name))
  const trusted = all.filter(({ content, isTrusted }) => !ConfigLayer.needsTrust(content.layer) || isTrusted(name))
  return trusted.some(({ content }) => LayerEntry.isDefinition(content.servers.get(name)!)) ? trusted : all
}

const others = (snapshot: Snapshot, name: string, file: string): ReadonlyArray<string> =>
  declarations(snapshot, name)
    .map(({ content }) => content.layer.name)
    .filter((other) => other !== file)

/** The highest file that mentions a server, or the requested file. `undefined` if no editable file mentions it. */
const declaring = (
  surroundings: Surroundings,
  snapshot: Snapshot,
  name: string,
  options: Where
): Effect.Effect<Target | undefined, ServerNotFound | EditRefused> => {
  const asked =
    options.file === undefined && options.scope === undefined
      ? undefined
      : targetFor(surroundings, snapshot, options).file
  const found = declarations(snapshot, name)
  if (found.length > 0) {
    // an explicit file is searched whether or not its entries are approved
    const all = asked === undefined ? found : snapshot.judged.filter(({ content }) => content.servers.has(name))
    const layer = all
      .map(({ content }) => content.layer)
      .findLast(({ kind, name }) => editable.includes(kind) && (asked === undefined || name === asked))
    // a project file that is also named with `--config` still counts as a project file
    return Effect.succeed(layer && asTarget(snapshot.reads.find((read) => read.layer.name === layer.name)!.layer))
  }
  // the server may be declared in a file that cannot be read
  const [broken] = snapshot.issuesByFile
  if (broken !== undefined) {
    const [file, issues] = broken
    return Effect.fail(new EditRefused({ file, reason: "it cannot be read: correct it first", issues }))
  }
  const known = snapshot.judged.flatMap(({ content }) => [...content.servers.keys()])
  return Effect.fail(new ServerNotFound({ server: name, ...defined({ nearest: nearest(name, known) }) }))
}

const cannotChange = (snapshot: Snapshot, name: string): EditRefused => {
  const layer = declarations(snapshot, name).at(-1)!.content.layer
  return new EditRefused({
    file: layer.name,
    reason: `"${name}" is set there, and that is not ours to change`,
    issues: []
  })
}

const notIn = (snapshot: Snapshot, name: string, file: string): EditRefused => {
  const places = declarations(snapshot, name).map(({ content }) => content.layer.name)
  return new EditRefused({ file, reason: `it has no server "${name}"; that is in ${places.join(", ")}`, issues: [] })
}

/** How many times an edit is retried if the file changes concurrently. */
const maxAttempts = 5

export const write = (
  surroundings: Surroundings,
  target: Target,
  wanted: EntryChange,
  alsoIn: ReadonlyArray<string>,
  /** Whether the change approves the entry that it writes into a project's file. Defaults to true. */
  approves = true
): Effect.Effect<Edited, EditRefused> =>
  Effect.gen(function* () {
    const { stateDir } = surroundings
    const file = yield* ConfigFile.realPath(target.file)
    const refuse = (reason: string) => new EditRefused({ file: target.file, reason, issues: [] })
    const readNow = Effect.flatMap(ConfigFile.readText(file, maxBytes), (found) =>
      found._tag === "Problem"
        ? Effect.fail(refuse(found.reason))
        : Effect.succeed(found._tag === "Found" ? found.text : undefined)
    )
    const attempt = Effect.gen(function* () {
      const before = yield* readNow
      const isUnapproved = approves && target.isProject && wanted._tag !== "Remove" && (yield* isPending(before))
      // switching the user's own server must not approve what the project changes about it
      if (isUnapproved && alsoIn.length > 0)
        return yield* refuse(`it says something about "${wanted.name}" that is not approved: trust it first`)
      const after = yield* Effect.mapError(
        change(target.file, before, wanted),
        ({ issues, reason }) => new EditRefused({ file: target.file, reason, issues })
      )
      const backup = before === undefined || after === before ? undefined : join(stateDir, "backups", backupName(file))
      if (backup !== undefined) yield* Effect.mapError(replace(backup, before!, { durable: true }), notKept)
      // an editor may have saved the file in the meantime
      if ((yield* readNow) !== before) return undefined
      if (after !== before) yield* Effect.mapError(ConfigFile.write(file, after, target.mode), notWritten)
      // enabling or disabling does not approve the rest of the entry
      if (approves && target.isProject && !isUnapproved)
        yield* Effect.mapError(approve(surroundings, target, file, after, wanted), notApproved)
      return { file: target.file, changed: after !== before, alsoIn, ...defined({ backup }) }
    })
    /** Whether the current entry of the server in the file is not approved. */
    const isPending = (before: string | undefined) =>
      Effect.gen(function* () {
        const { name } = wanted
        const found = yield* projectContent(surroundings, target, file, before ?? "", name)
        if (Option.isNone(found) || !found.value.content.servers.has(name)) return false
        const { content, directories } = found.value
        const trust = yield* TrustStore.read(stateDir, yield* TrustStore.text(stateDir))
        return !trust.server(file, content, name, directories.get(name)?.real)
      })
    const notKept = (code: string) => refuse(`what is in it could not be copied (${code})`)
    const notWritten = (code: string) => refuse(`it cannot be written (${code})`)
    const notApproved = (reason: string) =>
      refuse(`it was written, but what it says could not be approved of: ${reason}`)

    return yield* withLock(
      stateDir,
      `config-${backupName(file)}`
    )(
      Effect.gen(function* () {
        for (let attempts = 0; attempts < maxAttempts; attempts += 1) {
          const done = yield* Effect.either(attempt)
          if (Either.isLeft(done) || done.right !== undefined) return done
        }
        return Either.left(refuse("somebody else keeps changing it"))
      })
    ).pipe(Effect.mapError(refuse), Effect.flatMap(Either.map((done) => done!)))
  })

const backupName = (file: string): string =>
  `${createHash("sha256").update(file).digest("hex").slice(0, 12)}-${basename(file)}`

/** Parses a text as a project's file, and finds the directory that one of its servers runs in. */
const projectContent = (
  surroundings: Surroundings,
  { file }: Target,
  realPath: string,
  text: string,
  name: string
): Effect.Effect<Option.Option<Pick<TrustStore.Grant, "content" | "directories">>> =>
  Effect.suspend(() => {
    const layer = ofProject(ConfigLayer.ofFile("project", DocumentText.make(file, text)), realPath)
    const content = Option.getOrUndefined(Either.getRight(LayerContent.read(layer, layer.text!)))
    if (content === undefined) return Effect.succeedNone
    return Effect.map(directoriesOf(content, [name], surroundings), (directories) =>
      Option.some({ content, directories })
    )
  })

/** Approves the server as it was written, and nothing else in the file. */
const approve = (
  surroundings: Surroundings,
  target: Target,
  realPath: string,
  text: string,
  { _tag, name }: EntryChange
): Effect.Effect<void, string> =>
  Effect.flatMap(
    projectContent(surroundings, target, realPath, text, name),
    Option.match({
      onNone: () => Effect.fail("it cannot be read"),
      onSome: (found) => {
        const servers = _tag === "Remove" ? [] : [name]
        return TrustStore.approve(surroundings.stateDir, [{ ...found, file: realPath, servers, settings: false }])
      }
    })
  )
