/**
 * Configuration from files: what people already have, in layers, explained, edited without harm, and followed while it changes.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { Desired } from "../domain/server/Desired.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import type { EditRefused, InvalidConfig, ServerExists, ServerNotFound } from "../domain/Errors.js"
import type { Plan } from "../domain/server/Plan.js"
import type * as ServerConfig from "../domain/server/ServerConfig.js"
import type { Client } from "./import/knownClients.js"
import * as EditConfig from "./edit/editConfig.js"
import * as Explain from "./explain/explain.js"
import * as Follow from "./watch/follow.js"
import { type ConfigHost, surroundings } from "./ConfigHost.js"
import type { LayerKind } from "./layers/ConfigLayer.js"
import * as ImportFrom from "./import/importFrom.js"
import * as ImportInto from "./import/importInto.js"
import * as LoadLayers from "./layers/loadLayers.js"
import * as Organisation from "./layers/Organisation.js"
import * as Approval from "./trust/approval.js"
import * as Workspace from "./layers/Workspace.js"

export { type Client, knownClients } from "./import/knownClients.js"
export type { Edited } from "./edit/editConfig.js"
export type { ExplainedServer, ExplainedValue, Explanation } from "./explain/explain.js"
export type { ConfigHost } from "./ConfigHost.js"
export type { Imported, ImportedServer } from "./import/importFrom.js"
export type { Destination, ImportOptions } from "./import/importInto.js"
export type { LayerKind } from "./layers/ConfigLayer.js"
export type { Review, Reviewed, ReviewedFile, ReviewedPart, ReviewedServer } from "./trust/approval.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends ConfigHost {
  /** What the program itself asks for: the lowest layer, taken literally. Defaults to nothing. */
  readonly program?: LoadLayers.Program | undefined
}

/**
 * All layers as one configuration.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loaded {
  readonly desired: Desired
  /** What was read, from the lowest to the highest. */
  readonly layers: ReadonlyArray<{
    readonly kind: LayerKind
    /** The file, the address, or the variable. */
    readonly name: string
    /** Servers it declares that nobody has approved of. */
    readonly untrusted: ReadonlyArray<string>
  }>
  /** What a person should know, with the place. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Files of others (the project, the organisation) that are no use and were left out. */
  readonly problems: ReadonlyArray<InvalidConfig>
  readonly workspace: WorkspaceUse
}

/**
 * Where the user's own servers run.
 *
 * @since 0.1.0
 * @category models
 */
export interface WorkspaceUse {
  /** The project's directory: the root of the repository, or the working directory outside of one. */
  readonly directory: string
  readonly isTrusted: boolean
  /** The user's own local servers that are enabled and set no `cwd`. */
  readonly servers: ReadonlyArray<string>
  /** Where they run: the project's directory if it is trusted, otherwise the user's home. */
  readonly runsIn: string
}

/**
 * Reads all layers. A server whose entry is wrong is in `desired.unreadable`, one that nobody has approved of in
 * `desired.untrusted`; the others are there. Fails if a file of the user's own cannot be read as a document.
 *
 * @since 0.1.0
 * @category loading
 */
export const load = (options: Options = {}): Effect.Effect<Loaded, InvalidConfig> =>
  Effect.map(snapshot(options), (found) => ({
    desired: found.desired,
    layers: found.judged.map(({ content, isTrusted }) => ({
      kind: content.layer.kind,
      name: content.layer.name,
      untrusted: [...content.servers.keys()].filter((name) => !isTrusted(name))
    })),
    diagnostics: found.diagnostics,
    problems: found.broken.size === 0 ? [] : [LoadLayers.rejection(found.broken.values())],
    workspace: {
      directory: found.workspace.directory,
      isTrusted: found.workspace.isTrusted,
      servers: LoadLayers.inUserDirectory(found),
      runsIn: Workspace.userDirectory(found.workspace)
    }
  }))

const snapshot = (options: Options): Effect.Effect<LoadLayers.Snapshot, InvalidConfig> =>
  Effect.suspend(() => LoadLayers.load(surroundings(options), options.program ?? {})).pipe(
    Effect.flatMap((found) => {
      const fatal = Array.from(found.broken).filter(([name]) => !LoadLayers.isForeign(found, name))
      if (fatal.length > 0) return Effect.fail(LoadLayers.rejection(fatal.map(([, issues]) => issues)))
      return found.desired.rejected === undefined ? Effect.succeed(found) : Effect.fail(found.desired.rejected)
    })
  )

/**
 * For each value of each server, and for what applies to all, which layer it comes from and where it stands there. Variables
 * are not put in, secrets are hidden, also those of servers that nobody has approved of.
 *
 * @since 0.1.0
 * @category loading
 */
export const explain = (options: Options = {}): Effect.Effect<Explain.Explanation, InvalidConfig> =>
  Effect.map(snapshot(options), Explain.explain)

/**
 * Asks for the organisation's document now, and keeps it for the next `load`, which never waits for it. Whether there is one.
 *
 * @since 0.1.0
 * @category loading
 */
export const refreshOrganisation = (options: ConfigHost = {}): Effect.Effect<boolean> =>
  Effect.suspend(() => Organisation.refresh(surroundings(options)))

/**
 * The same as {@link load}, but where the organisation's document was never fetched, it is asked for first, for two seconds at
 * most. For a program that reads the files once and is gone before they could be followed.
 *
 * @since 0.1.0
 * @category loading
 */
export const loadOnce = (options: Options = {}): Effect.Effect<Loaded, InvalidConfig> =>
  Effect.gen(function* () {
    const problem = yield* Effect.suspend(() => Organisation.ensure(surroundings(options)))
    const loaded = yield* load(options)
    // it is told already, unless it could not be kept
    if (problem === undefined || loaded.diagnostics.some(({ code }) => code === Organisation.unavailable)) return loaded
    const message = `the organisation's servers are missing: ${problem}`
    return {
      ...loaded,
      diagnostics: [...loaded.diagnostics, { severity: "warning", code: Organisation.unavailable, message }]
    }
  })

/**
 * What a supervisor would do if it were given what the files say now.
 *
 * @since 0.1.0
 * @category loading
 */
export const plan = (
  supervisor: { readonly plan: (desired: Desired) => Effect.Effect<Plan, InvalidConfig> },
  options: Options = {}
): Effect.Effect<Plan, InvalidConfig> => Effect.flatMap(load(options), ({ desired }) => supervisor.plan(desired))

/**
 * What the files say now, then each change, for `reconcile`. Where they come to be no use, `rejected` says why, and what was
 * before goes on.
 *
 * @since 0.1.0
 * @category watching
 */
export const watch = (options: Options = {}): Stream.Stream<Desired, InvalidConfig> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const { first, next } = yield* following(options, true)
      const changes = yield* Queue.unbounded<Desired>()
      const offer = (desired: Desired) => Effect.asVoid(changes.offer(desired))
      yield* Effect.forkScoped(Effect.forever(next(offer)))
      return Stream.concat(Stream.make(first.desired), Stream.fromQueue(changes))
    })
  )

/**
 * The same in two parts: what the files say now, and what they will say.
 *
 * @internal
 */
export const following = (options: Options, watch: boolean) =>
  Effect.suspend(() => {
    const around = surroundings(options)
    return Effect.map(Follow.follow({ surroundings: around, program: options.program ?? {}, watch }), (following) => ({
      ...following,
      stateDir: around.stateDir
    }))
  })

/**
 * @since 0.1.0
 * @category models
 */
export interface EditOptions extends ConfigHost, EditConfig.Where {}

const placeOf = ({ file, scope, ...host }: EditOptions) => {
  const where = surroundings({ ...host, files: [...(host.files ?? []), ...(file === undefined ? [] : [file])] })
  return { where, target: { scope, file: file === undefined ? undefined : where.files.at(-1) } }
}

/**
 * Writes a server into a config file, and approves of it. Comments, order, indentation and line ends of the file stay as they
 * are; the change is made as a whole or not at all.
 *
 * @since 0.1.0
 * @category editing
 */
export const add = (
  name: string,
  entry: ServerConfig.Input,
  options: EditOptions = {}
): Effect.Effect<EditConfig.Edited, ServerExists | InvalidConfig | EditRefused> =>
  Effect.suspend(() => {
    const { target, where } = placeOf(options)
    return EditConfig.add(where, { name, entry }, target)
  })

/**
 * The file that {@link add} would write a new server to. If it is a project's, also the directory that its relative paths are
 * seen from and the one that its servers run in, both as real paths.
 *
 * @since 0.1.0
 * @category editing
 */
export const newServerFile = (
  options: EditOptions = {}
): Effect.Effect<{
  readonly file: string
  readonly project?: { readonly directory: string; readonly runsIn: string }
}> =>
  Effect.suspend(() => {
    const { target, where } = placeOf(options)
    return EditConfig.newServerTarget(where, target)
  })

/**
 * Takes a server out of the highest file that has it. `alsoIn` names those that still do.
 *
 * @since 0.1.0
 * @category editing
 */
export const remove = (
  name: string,
  options: EditOptions = {}
): Effect.Effect<EditConfig.Edited, ServerNotFound | EditRefused> =>
  Effect.suspend(() => {
    const { target, where } = placeOf(options)
    return EditConfig.remove(where, name, target)
  })

/**
 * Switches a server on in the highest file that has it. One that comes from elsewhere (the organisation, the program) is
 * switched in the user's file. A server of a project's file stays approved if it was; otherwise {@link reviewServer} first.
 *
 * @since 0.1.0
 * @category editing
 */
export const enable = (
  name: string,
  options: EditOptions = {}
): Effect.Effect<EditConfig.Edited, ServerNotFound | EditRefused> => turn(name, true, options)

/**
 * Switches a server off, likewise.
 *
 * @since 0.1.0
 * @category editing
 */
export const disable = (
  name: string,
  options: EditOptions = {}
): Effect.Effect<EditConfig.Edited, ServerNotFound | EditRefused> => turn(name, false, options)

const turn = (name: string, enabled: boolean, options: EditOptions) =>
  Effect.suspend(() => {
    const { target, where } = placeOf(options)
    return EditConfig.turn(where, name, enabled, target)
  })

/**
 * Where the user's own servers run that set no `cwd`: the project's directory if it is trusted, otherwise the user's home.
 *
 * @since 0.1.0
 * @category trust
 */
export const userDirectory = (options: ConfigHost = {}): Effect.Effect<string> =>
  Effect.map(
    Effect.suspend(() => LoadLayers.load(surroundings(options), {})),
    ({ workspace }) => Workspace.userDirectory(workspace)
  )

/**
 * @since 0.1.0
 * @category trust
 */
export interface TrustOptions extends ConfigHost {
  /** Only this project file. Defaults to all files of the project, and its directory. */
  readonly file?: string | undefined
}

/**
 * What {@link trust} would approve: every entry as it is written now, with what changed since the last approval. `approve`
 * approves exactly that, also if the files have changed since.
 *
 * @since 0.1.0
 * @category trust
 */
export const review = (options: TrustOptions = {}): Effect.Effect<Approval.Reviewed, EditRefused> =>
  Effect.suspend(() => Approval.review(surroundings(options), absoluteFile(options)))

/**
 * What would have to be approved for one server to run: its entries in project files that are not approved yet. Nothing where
 * there are none.
 *
 * @since 0.1.0
 * @category trust
 */
export const reviewServer = (name: string, options: EditOptions = {}): Effect.Effect<Approval.Reviewed | undefined> =>
  Effect.suspend(() => Approval.reviewServer(placeOf(options).where, name))

/**
 * Approves what the project's files say now, or what one of them says. It holds for each server until its entry or the
 * directory it runs in changes. Without a file, it also trusts the project's directory: the user's own servers run there then.
 *
 * @since 0.1.0
 * @category trust
 */
export const trust = (options: TrustOptions = {}): Effect.Effect<Approval.Review, EditRefused> =>
  Effect.flatMap(review(options), ({ approve, review }) => Effect.as(approve, review))

/**
 * Takes back every approval of a project's file; without one, of all files of the project and of its directory. Gives the real
 * paths of the files and the directory that were approved.
 *
 * @since 0.1.0
 * @category trust
 */
export const distrust = (options: TrustOptions = {}): Effect.Effect<ReadonlyArray<string>, EditRefused> =>
  Effect.suspend(() => Approval.distrust(surroundings(options), absoluteFile(options)))

const absoluteFile = ({ file, ...host }: ConfigHost & { readonly file?: string | undefined }): string | undefined =>
  file === undefined ? undefined : surroundings({ ...host, files: [file] }).files[0]

/**
 * Finds the servers of another client and turns them into entries of ours. Writes nothing: `addImported` does. The client's own
 * files are never touched; each also works as it is as a config file.
 *
 * @since 0.1.0
 * @category importing
 */
export const importFrom = (client: Client, options: ConfigHost = {}): Effect.Effect<ImportFrom.Imported> =>
  Effect.suspend(() => ImportFrom.importFrom(client, surroundings(options)))

/**
 * The file that {@link addImported} would write a server to, and whether it may run there at once.
 *
 * @since 0.1.0
 * @category importing
 */
export const destination = (
  server: ImportFrom.ImportedServer,
  options: ConfigHost & ImportInto.ImportOptions = {}
): Effect.Effect<ImportInto.Destination, EditRefused> =>
  Effect.suspend(() => {
    const { target, where } = placeOf(options)
    return ImportInto.destination(where, server, { ...options, ...target })
  })

/**
 * Writes a server of another client into a config file: what is the user's into the user's file, what a project's file declares
 * into the file of that project. The latter needs `trust` before it runs.
 *
 * @since 0.1.0
 * @category importing
 */
export const addImported = (
  server: ImportFrom.ImportedServer,
  options: ConfigHost & ImportInto.ImportOptions = {}
): Effect.Effect<EditConfig.Edited & ImportInto.Destination, ServerExists | InvalidConfig | EditRefused> =>
  Effect.suspend(() => {
    const { target, where } = placeOf(options)
    return ImportInto.addImported(where, server, { ...options, ...target })
  })
