/**
 * Loads, explains, edits and watches the configuration of all layers: the files that users already have.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import type { ConfigUpdate, Desired } from "../domain/server/Desired.js"
import type { Diagnostic } from "../domain/Diagnostic.js"
import type { EditRefused, InvalidConfig, ServerExists, ServerNotFound } from "../domain/Errors.js"
import type { Plan } from "../domain/server/Plan.js"
import type * as ServerConfig from "../domain/server/ServerConfig.js"
import type { Client } from "./import/knownClients.js"
import * as EditConfig from "./edit/editConfig.js"
import * as Explain from "./explain/explain.js"
import * as ConfigWatch from "./watch/ConfigWatch.js"
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
  /** What the program itself configures: the lowest layer, without interpolation. Defaults to nothing. */
  readonly program?: LoadLayers.ProgramConfig | undefined
}

/**
 * The configuration that results from all layers.
 *
 * @since 0.1.0
 * @category models
 */
export interface Loaded {
  readonly desired: Desired
  /** The layers that were read, from the lowest to the highest. */
  readonly layers: ReadonlyArray<{
    readonly kind: LayerKind
    /** The file, the URL, or the variable. */
    readonly name: string
    /** Servers that it declares and that are not approved. */
    readonly untrusted: ReadonlyArray<string>
  }>
  /** Warnings for people, with their places. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
  /** Shared files (of the project or the organisation) that are invalid and were ignored. */
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
 * Reads all layers. A server whose entry is invalid is in `desired.unreadable`, one that is not approved is in
 * `desired.untrusted`; all others are in the result. Fails if a file of the user cannot be parsed.
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
    problems: found.issuesByFile.size === 0 ? [] : [LoadLayers.invalidConfig(found.issuesByFile)],
    workspace: {
      directory: found.workspace.directory,
      isTrusted: found.workspace.isTrusted,
      servers: LoadLayers.inUserDirectory(found),
      runsIn: Workspace.userDirectory(found.workspace)
    }
  }))

const snapshot = (options: Options): Effect.Effect<LoadLayers.ValidSnapshot, InvalidConfig> =>
  Effect.suspend(() => LoadLayers.load(surroundings(options), options.program ?? {})).pipe(
    Effect.flatMap((found) => Either.map(LoadLayers.requireValid(found), (desired) => ({ ...found, desired })))
  )

/**
 * Explains for each value of each server, and for each setting, which layer it comes from and where it is written there.
 * Variables are not interpolated. Secrets are hidden, also those of servers that are not approved.
 *
 * @since 0.1.0
 * @category loading
 */
export const explain = (options: Options = {}): Effect.Effect<Explain.Explanation, InvalidConfig> =>
  Effect.map(snapshot(options), Explain.explain)

/**
 * Fetches the organisation's document now and stores it for the next `load`, which never waits for it. Returns whether it
 * succeeded.
 *
 * @since 0.1.0
 * @category loading
 */
export const refreshOrganisation = (options: ConfigHost = {}): Effect.Effect<boolean> =>
  Effect.suspend(() => Organisation.refresh(surroundings(options)))

/**
 * Reads all layers like {@link load}, but first fetches an organisation's document that was never fetched, for at most two
 * seconds. For programs that read the files once and exit before a background fetch could finish.
 *
 * @since 0.1.0
 * @category loading
 */
export const loadOnce = (options: Options = {}): Effect.Effect<Loaded, InvalidConfig> =>
  Effect.gen(function* () {
    const problem = yield* Effect.suspend(() => Organisation.ensure(surroundings(options)))
    const loaded = yield* load(options)
    // `load` reports the problem already, unless it could not be stored
    if (problem === undefined || loaded.diagnostics.some(({ code }) => code === Organisation.unavailable)) return loaded
    const message = `the organisation's servers are missing: ${problem}`
    return {
      ...loaded,
      diagnostics: [...loaded.diagnostics, { severity: "warning", code: Organisation.unavailable, message }]
    }
  })

/**
 * Plans what a supervisor would do to reconcile with the current files.
 *
 * @since 0.1.0
 * @category loading
 */
export const plan = (
  supervisor: { readonly plan: (desired: Desired) => Effect.Effect<Plan, InvalidConfig> },
  options: Options = {}
): Effect.Effect<Plan, InvalidConfig> => Effect.flatMap(load(options), ({ desired }) => supervisor.plan(desired))

/**
 * Emits the current configuration, then the result of each change, for `reconcile`. If the files become invalid, that is the
 * error, and the previous configuration stays in effect.
 *
 * @since 0.1.0
 * @category watching
 */
export const watch = (options: Options = {}): Stream.Stream<ConfigUpdate, InvalidConfig> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const { applyNext, initial } = yield* watching(options, true)
      const updates = yield* Queue.unbounded<ConfigUpdate>()
      yield* Effect.forkScoped(Effect.forever(applyNext((update) => updates.offer(update))))
      return Stream.concat(Stream.make(Either.right(initial)), Stream.fromQueue(updates))
    })
  )

/**
 * Reads the files, and applies their changes until the scope is closed.
 *
 * @internal
 */
export const watching = (options: Options, watch: boolean) =>
  Effect.suspend(() => {
    const host = surroundings(options)
    const made = ConfigWatch.make({ surroundings: host, program: options.program ?? {}, watch })
    return Effect.map(made, (watch) => ({ ...watch, stateDir: host.stateDir }))
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
 * Writes a server into a config file and approves it. Comments, order, indentation and line ends of the file stay as they
 * are. The change is atomic.
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
 * The file that {@link add} would write a new server to. For a project's file, also the directory that its relative paths are
 * resolved against and the directory that its servers run in, both as real paths.
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
 * Removes a server from the highest file that declares it. `alsoIn` names the files that still declare it.
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
 * Enables a server in the highest file that declares it. A server that no file declares (of the organisation or the program)
 * is enabled in the user's file. An approved server of a project's file stays approved; otherwise use {@link reviewServer} first.
 *
 * @since 0.1.0
 * @category editing
 */
export const enable = (
  name: string,
  options: EditOptions = {}
): Effect.Effect<EditConfig.Edited, ServerNotFound | EditRefused> => turn(name, true, options)

/**
 * Disables a server in the highest file that declares it, or in the user's file if no file declares it.
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
 * The directory of the user's own servers without `cwd`: the project's directory if it is trusted, otherwise the user's home.
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
  /** Restricts the operation to this project file. Defaults to all files of the project, and its directory. */
  readonly file?: string | undefined
}

/**
 * Returns what {@link trust} would approve: every entry as it is written now, with its changes since the last approval.
 * `approve` approves exactly that, even if the files have changed since.
 *
 * @since 0.1.0
 * @category trust
 */
export const review = (options: TrustOptions = {}): Effect.Effect<Approval.Reviewed, EditRefused> =>
  Effect.suspend(() => Approval.review(surroundings(options), absoluteFile(options)))

/**
 * Returns what must be approved for one server to run: its entries in project files that are not approved yet. `undefined`
 * if there are none.
 *
 * @since 0.1.0
 * @category trust
 */
export const reviewServer = (name: string, options: EditOptions = {}): Effect.Effect<Approval.Reviewed | undefined> =>
  Effect.suspend(() => Approval.reviewServer(placeOf(options).where, name))

/**
 * Approves the current entries of the project's files, or of one file. The approval of a server holds until its entry or the
 * directory it runs in changes. Without a file, the project's directory is trusted too: then the user's own servers run there.
 *
 * @since 0.1.0
 * @category trust
 */
export const trust = (options: TrustOptions = {}): Effect.Effect<Approval.Review, EditRefused> =>
  Effect.flatMap(review(options), ({ approve, review }) => Effect.as(approve, review))

/**
 * Revokes every approval of a project's file; without a file, of all files of the project and of its directory. Returns the
 * real paths of the files and the directory that were approved.
 *
 * @since 0.1.0
 * @category trust
 */
export const distrust = (options: TrustOptions = {}): Effect.Effect<ReadonlyArray<string>, EditRefused> =>
  Effect.suspend(() => Approval.distrust(surroundings(options), absoluteFile(options)))

const absoluteFile = ({ file, ...host }: ConfigHost & { readonly file?: string | undefined }): string | undefined =>
  file === undefined ? undefined : surroundings({ ...host, files: [file] }).files[0]

/**
 * Finds the servers of another client and converts them to entries. Writes nothing: `addImported` does. The client's own files
 * are never changed; each of them is also a valid config file as it is.
 *
 * @since 0.1.0
 * @category importing
 */
export const importFrom = (client: Client, options: ConfigHost = {}): Effect.Effect<ImportFrom.Imported> =>
  Effect.suspend(() => ImportFrom.importFrom(client, surroundings(options)))

/**
 * The file that {@link addImported} would write a server to, and whether the server may run from there at once.
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
 * Writes a server of another client into a config file: a server of the user into the user's file, a server of a project's
 * file into the file of that project. The latter needs `trust` before it runs.
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
