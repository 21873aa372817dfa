/**
 * Reviews, approves and revokes the entries of a project's files and the project's directory. What is approved is what was
 * shown, even if the files change in between.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { EditRefused } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import { entryParts, maxParts, type ApprovedPart, settingParts } from "./approvedParts.js"
import { type LayerContent, invalidName } from "../document/LayerContent.js"
import { directoriesOf } from "./directories.js"
import { declarations } from "../edit/editConfig.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import * as ConfigLayer from "../layers/ConfigLayer.js"
import { load, type ReadLayer } from "../layers/loadLayers.js"
import { candidates, projectDirectories } from "../layers/locations.js"
import * as TrustStore from "./TrustStore.js"

/**
 * One part of an entry: its command line, its URL, a variable, a key. Variables are not interpolated; literal secrets of
 * variables, headers and URLs are hidden.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReviewedPart {
  /** `command`, `cwd`, `url`, `env NAME`, `header NAME`, or the path of a key. */
  readonly label: string
  /** Absent for a removed part. The previous text is not stored: only whether it is the same is known. */
  readonly text?: string
  /** Absent for a part that is unchanged since its approval, and for all parts of an entry that was never approved. */
  readonly change?: "added" | "changed" | "removed"
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReviewedServer {
  readonly name: string
  /** The change since the last approval. */
  readonly change: "new" | "changed" | "unchanged"
  readonly parts: ReadonlyArray<ReviewedPart>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface ReviewedFile {
  readonly file: string
  /** The names of its servers. */
  readonly servers: ReadonlyArray<string>
  /** The content of each server's entry. */
  readonly entries: ReadonlyArray<ReviewedServer>
  /** Servers that were approved and are no longer declared. */
  readonly removed: ReadonlyArray<string>
  /** The settings of the file: `tools`, `agent`, `permission`, `mcp_timeout`. */
  readonly settings: ReadonlyArray<ReviewedPart>
}

/**
 * What an approval covers: entries of the project's files, and the directory that the user's own servers then run in.
 *
 * @since 0.1.0
 * @category models
 */
export interface Review {
  /**
   * The project's directory, and whether it was trusted before. Absent if one file was requested, and in the home directory,
   * which needs no approval.
   */
  readonly directory?: { readonly path: string; readonly isTrusted: boolean }
  readonly files: ReadonlyArray<ReviewedFile>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Reviewed {
  readonly review: Review
  /** Approves exactly what was reviewed. */
  readonly approve: Effect.Effect<void, EditRefused>
}

/** Reviews all files of the project, or one of them. */
export const review = (surroundings: Surroundings, file: string | undefined): Effect.Effect<Reviewed, EditRefused> =>
  Effect.gen(function* () {
    const { stateDir } = surroundings
    const { issuesByFile, reads, workspace } = yield* load(surroundings, {})
    const trust = yield* TrustStore.read(stateDir, yield* TrustStore.text(stateDir))
    const asked = reads.filter(
      ({ layer }) => ConfigLayer.needsTrust(layer) && (file === undefined || layer.name === file)
    )
    // an approval must cover the whole project, not only the files that can be read
    const unreadable = asked.find(({ content }) => Either.isLeft(content))?.layer.name
    if (unreadable !== undefined) {
      const issues = issuesByFile.get(unreadable) ?? []
      return yield* new EditRefused({ file: unreadable, reason: "it cannot be read", issues })
    }
    if (file !== undefined && asked.length === 0) {
      return yield* new EditRefused({ file, reason: "it is no project file of this directory", issues: [] })
    }
    const found = yield* grantsOf(asked, surroundings)
    for (const { content, name } of found) {
      const issues = nameIssues(content)
      if (issues.length > 0) {
        const reason = "it has server names with control or invisible characters"
        return yield* new EditRefused({ file: name, reason, issues })
      }
      const reason = tooLong(content)
      if (reason !== undefined) return yield* new EditRefused({ file: name, reason, issues: [] })
    }
    const isHome = workspace.directory === workspace.home
    const directory =
      file === undefined && !isHome ? { path: workspace.directory, isTrusted: workspace.isTrusted } : undefined
    const directories = directory === undefined ? [] : [directory.path]
    return {
      review: {
        ...(directory && { directory }),
        files: found.map((grant) => reviewedFile(grant, trust))
      },
      approve: approving(stateDir, found, directories)
    }
  })

const approving = (
  stateDir: string,
  grants: ReadonlyArray<TrustStore.Grant>,
  directories: ReadonlyArray<string>
): Effect.Effect<void, EditRefused> =>
  Effect.mapError(
    TrustStore.approve(stateDir, grants, directories),
    (reason) => new EditRefused({ file: TrustStore.fileIn(stateDir), reason, issues: [] })
  )

/** Reviews the entries that must be approved for one server to run. `undefined` if there are none. */
export const reviewServer = (surroundings: Surroundings, name: string): Effect.Effect<Reviewed | undefined> =>
  Effect.gen(function* () {
    const { stateDir } = surroundings
    const snapshot = yield* load(surroundings, {})
    const pending = new Set(
      declarations(snapshot, name).flatMap(({ content: { layer }, isTrusted }) =>
        ConfigLayer.needsTrust(layer) && !isTrusted(name) ? [layer.name] : []
      )
    )
    if (pending.size === 0) return undefined
    const asked = snapshot.reads.filter(({ layer }) => ConfigLayer.needsTrust(layer) && pending.has(layer.name))
    const found = yield* grantsOf(asked, surroundings, name)
    const trust = yield* TrustStore.read(stateDir, yield* TrustStore.text(stateDir))
    return {
      review: { files: found.map((grant) => reviewedFile(grant, trust)) },
      approve: approving(stateDir, found, [])
    }
  })

interface NamedGrant extends TrustStore.Grant {
  /** The path of the file before links are resolved. */
  readonly name: string
}

/** @param only restricts the grants to this server of each file. Defaults to the whole file. */
const grantsOf = (
  reads: ReadonlyArray<ReadLayer>,
  surroundings: Surroundings,
  only?: string
): Effect.Effect<ReadonlyArray<NamedGrant>> =>
  Effect.forEach(
    reads.flatMap((read) =>
      Array.from(Option.toArray(Either.getRight(read.content)), (content) => ({ ...read, content }))
    ),
    ({ content, layer, realPath }) => {
      const servers = only === undefined ? [...content.servers.keys()] : [only]
      return Effect.map(directoriesOf(content, servers, surroundings), (directories) => ({
        name: layer.name,
        file: realPath,
        content,
        directories,
        servers,
        settings: only === undefined
      }))
    }
  )

const nameIssues = ({ diagnostics }: LayerContent): ReadonlyArray<Issue> =>
  diagnostics
    .filter(({ code }) => code === invalidName)
    .map(({ column, file, line, message }) => ({
      path: [],
      expected: "names that can be read",
      found: message,
      ...(file !== undefined && { file }),
      ...(line !== undefined && { line }),
      ...(column !== undefined && { column })
    }))

/** Why the content cannot be reviewed: every part must be shown, and it has too many. */
const tooLong = (content: LayerContent): string | undefined => {
  const advice = `more than can be reviewed (at most ${maxParts} values): make it shorter`
  for (const [name, { tree }] of content.servers)
    if (entryParts(content.layer.name, tree).length > maxParts) return `"${name}" holds ${advice}`
  return settingParts(content).length > maxParts ? `what it says besides its servers is ${advice}` : undefined
}

const reviewedFile = (
  { content, directories, file, name, servers, settings }: NamedGrant,
  trust: TrustStore.Trust
): ReviewedFile => ({
  file: name,
  servers,
  entries: servers.map((server): ReviewedServer => {
    const before = trust.before(file, server)
    const directory = directories.get(server)?.real
    const isSame = trust.server(file, content, server, directory)
    return {
      name: server,
      change: isSame ? "unchanged" : before === undefined ? "new" : "changed",
      parts: reviewedParts(TrustStore.partsIn(file, content, server, directory), isSame ? undefined : before)
    }
  }),
  removed: settings ? trust.names(file).filter((server) => !content.servers.has(server)) : [],
  settings: settings
    ? reviewedParts(
        settingParts(content),
        trust.settings(file, content) ? undefined : (trust.before(file, undefined) ?? neverApproved)
      )
    : []
})

/** Compared with this, every part counts as added. */
const neverApproved: TrustStore.Before = { labels: new Set(), isSame: () => false }

const reviewedParts = (
  parts: ReadonlyArray<ApprovedPart>,
  before: TrustStore.Before | undefined
): ReadonlyArray<ReviewedPart> => {
  if (before === undefined) return parts.map(({ label, text }) => ({ label, text }))
  const labels = new Set(parts.map(({ label }) => label))
  return [
    ...parts.map((part): ReviewedPart => {
      const { label, text } = part
      if (!before.labels.has(label)) return { label, text, change: "added" }
      return before.isSame(part) ? { label, text } : { label, text, change: "changed" }
    }),
    ...Array.from(before.labels).flatMap(
      (label): ReadonlyArray<ReviewedPart> => (labels.has(label) ? [] : [{ label, change: "removed" }])
    )
  ]
}

/**
 * Revokes every approval of a project file; without a file, of all files of the project and of its directory. Returns the
 * real paths of what was approved.
 */
export const distrust = (
  surroundings: Surroundings,
  file: string | undefined
): Effect.Effect<ReadonlyArray<string>, EditRefused> =>
  Effect.gen(function* () {
    const directories = yield* projectDirectories(surroundings)
    const root = directories[0] ?? surroundings.cwd
    const files = candidates(surroundings, directories).filter(ConfigLayer.needsTrust)
    const paths = file === undefined ? [root, ...files.map(({ path }) => path)] : [file]
    const real = yield* Effect.forEach(paths, ConfigFile.realPath, { concurrency: 16 })
    return yield* Effect.mapError(
      TrustStore.revoke(surroundings.stateDir, real),
      (reason) => new EditRefused({ file: file ?? root, reason, issues: [] })
    )
  })
