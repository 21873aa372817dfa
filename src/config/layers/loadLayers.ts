/**
 * Reads all layers and combines them to one configuration.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { defined } from "../../domain/internal/defined.js"
import type { ConfigUpdate, Desired } from "../../domain/server/Desired.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import { InvalidConfig } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import * as Environment from "../../system/environment.js"
import { resolveFrom } from "./resolvePaths.js"
import { limitDiagnostics } from "../document/limitIssues.js"
import { combine, type Combined, type Judged, trusted } from "./combineLayers.js"
import * as LayerContent from "../document/LayerContent.js"
import { type Directories, directoriesOf } from "../trust/directories.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import { placeholdersOf } from "./interpolate.js"
import * as ConfigLayer from "./ConfigLayer.js"
import { type Candidate, candidates, projectDirectories } from "./locations.js"
import * as Organisation from "./Organisation.js"
import { isSwitchedOff, resolve } from "./resolveEntries.js"
import { withinLimits } from "./serverLimit.js"
import * as DocumentText from "../document/DocumentText.js"
import * as Tree from "../document/Tree.js"
import * as TrustStore from "../trust/TrustStore.js"
import { valuesOf } from "../document/values.js"
import * as Workspace from "./Workspace.js"

const maxBytes = 8 * 1024 * 1024

/** The total size of all project files: a directory may have several, and there may be any number of directories. */
const maxProjectBytes = maxBytes

const maxFileBytes = 1024 * 1024

/** The total size of all files that `{file:}` names. */
const maxFilesBytes = 16 * 1024 * 1024

/** What a program itself configures: the lowest layer. */
export type ProgramConfig = Pick<Desired, "servers" | "defaults" | "tools" | "agents">

/** One layer that was read. */
export interface ReadLayer {
  readonly layer: ConfigLayer.ConfigLayer
  /** The path under which its approvals are stored. */
  readonly realPath: string
  readonly content: Either.Either<LayerContent.LayerContent, ReadonlyArray<Issue>>
}

export interface Snapshot {
  /** Fails if the settings for all servers are invalid. */
  readonly desired: ConfigUpdate
  readonly diagnostics: ReadonlyArray<Diagnostic>
  readonly reads: ReadonlyArray<ReadLayer>
  readonly judged: ReadonlyArray<Judged>
  readonly combined: Combined
  readonly workspace: Workspace.Workspace
  /** The issues of invalid files, by name. */
  readonly issuesByFile: IssuesByFile
  /**
   * The text at each path whose change may change the configuration: of existing files, and of files that may be created. Equal
   * texts mean an equal configuration.
   */
  readonly texts: ReadonlyMap<string, string>
}

/** A snapshot in which the settings and the files of the user are valid. */
export interface ValidSnapshot extends Omit<Snapshot, "desired"> {
  readonly desired: Desired
}

export type IssuesByFile = ReadonlyMap<string, ReadonlyArray<Issue>>

/** The last valid content of shared files, by name. */
export type LastValid = ReadonlyMap<string, LayerContent.LayerContent>

export const load = (
  surroundings: Surroundings,
  program: ProgramConfig,
  /** Stands in for shared files that are invalid now. Defaults to nothing. */
  lastValid: LastValid = new Map()
): Effect.Effect<Snapshot> =>
  Effect.gen(function* () {
    const project = yield* projectDirectories(surroundings)
    const directory = yield* ConfigFile.realPath(project[0] ?? surroundings.cwd)
    const [files, organisation, trustText, home] = yield* Effect.all(
      [
        readCandidates(candidates(surroundings, project), directory),
        Organisation.known(surroundings),
        TrustStore.text(surroundings.stateDir),
        ConfigFile.realPath(surroundings.home)
      ],
      { concurrency: "unbounded" }
    )
    // the decision and the recorded text must be of the same reading of `trust.json`
    const trust = yield* TrustStore.read(surroundings.stateDir, trustText)
    const workspace = { directory, home, isTrusted: directory === home || trust.directory(directory) }
    const reads = inOrder([
      ...programLayer(program, surroundings),
      ...organisationLayer(surroundings, organisation.document),
      ...files.flatMap(({ read }) => Option.toArray(read)),
      ...inlineLayer(surroundings, Workspace.userDirectory(workspace))
    ])
    const known = yield* Effect.forEach(reads, (read) => {
      const content = Option.getOrElse(Either.getRight(read.content), () => lastValidOf(read, lastValid))
      if (content === undefined) return Effect.succeed([])
      // the directories of other servers do not matter: these are not approved anyway
      const names = ConfigLayer.needsTrust(read.layer) ? trust.names(read.realPath) : []
      return Effect.map(directoriesOf(content, names, surroundings), (directories) => [{ read, content, directories }])
    })
    const readable = known.flat()
    const judged = withinLimits(
      readable.map(({ content, directories, read }) => judge(read, content, directories, trust))
    )
    const combined = combine(judged)
    const contents = yield* readReferences(combined, surroundings)
    const resolved = resolve(
      combined,
      program.defaults ?? {},
      (layer) => valuesOf(layer, surroundings, contents, workspace),
      { ...surroundings, workingDirectory: (layer) => Workspace.workingDirectory(layer, workspace) }
    )
    const remarks = [...files.flatMap(({ remarks }) => remarks), ...organisation.remarks]
    const general = [...combined.diagnostics.filter(({ subject }) => subject === undefined), ...remarks]
    const desired = Either.map(resolved.desired, (servers) => ({ ...servers, diagnostics: limitDiagnostics(general) }))
    const diagnostics = limitDiagnostics([...resolved.diagnostics, ...remarks])
    const issuesByFile = new Map(
      reads.flatMap(({ content, layer }) => (Either.isLeft(content) ? [[layer.name, content.left] as const] : []))
    )
    const texts = new Map([
      ...files.map(({ fingerprint, path }) => [path, fingerprint] as const),
      ...Array.from(contents, ([path, found]) => [path, fingerprintOf(found)] as const),
      ...readable.flatMap(({ directories }) =>
        Array.from(directories.values(), ({ path, real }) => [path, `@${real}`] as const)
      ),
      [TrustStore.fileIn(surroundings.stateDir), fingerprintOf(trustText)],
      [Organisation.fileIn(surroundings.stateDir), fingerprintOfOrganisation(organisation)]
    ])
    return { desired, diagnostics, reads, judged, combined, workspace, issuesByFile, texts }
  })

const fingerprintOfOrganisation = ({ document, remarks }: Organisation.Known): string =>
  [Option.getOrElse(document, () => ""), ...remarks.map(({ message }) => message)].join("\n").trim()

/** A text that differs whenever the result of reading a file differs. */
const fingerprintOf = (found: ConfigFile.FileContent): string =>
  found._tag === "Found" ? `=${found.text}` : found._tag === "Problem" ? `!${found.reason}` : ""

/** The result of reading one file that may hold configuration. */
interface ReadCandidate {
  readonly path: string
  /** See {@link fingerprintOf}. */
  readonly fingerprint: string
  readonly read: Option.Option<ReadLayer>
  readonly remarks: ReadonlyArray<Diagnostic>
}

const readCandidates = (
  files: ReadonlyArray<Candidate>,
  project: string
): Effect.Effect<ReadonlyArray<ReadCandidate>> =>
  Effect.gen(function* () {
    const paths = files.filter(ConfigLayer.needsTrust).map(({ path }) => path)
    const limits = { each: maxBytes, total: maxProjectBytes, of: "all project files" }
    const ofProject = yield* ConfigFile.readAll(paths, limits)
    const look = (file: Candidate) => {
      const found = ConfigLayer.needsTrust(file) ? ofProject.get(file.path) : undefined
      const text = found === undefined ? ConfigFile.readText(file.path, maxBytes) : Effect.succeed(found)
      return Effect.flatMap(text, readCandidate(project, file))
    }
    return yield* Effect.forEach(files, look, { concurrency: 16 })
  })

const readCandidate =
  (project: string, { kind, path, required }: Candidate) =>
  (found: ConfigFile.FileContent): Effect.Effect<ReadCandidate> =>
    Effect.gen(function* () {
      const nothing = { path, read: Option.none<ReadLayer>(), remarks: [] }
      if (found._tag === "Absent" && !required) return { ...nothing, fingerprint: "" }
      const named = ConfigLayer.ofFile(kind, DocumentText.make(path, found._tag === "Found" ? found.text : ""))
      const text = named.text!
      const isProject = ConfigLayer.needsTrust(named)
      const realPath = isProject ? yield* ConfigFile.realPath(path) : path
      // an approval of the file elsewhere would count here as well
      if (isProject && !Workspace.isWithin(project, realPath))
        return { ...nothing, fingerprint: `>${realPath}`, remarks: [linkOutside(path, realPath)] }
      const layer = isProject
        ? Workspace.ofProject(named, realPath)
        : { ...named, runsIn: kind === "file" ? named.directory : undefined }
      const content =
        found._tag === "Found"
          ? LayerContent.read(layer, text)
          : Either.left([unreadable(path, found._tag === "Problem" ? found.reason : "no file of that name")])
      return {
        ...nothing,
        fingerprint: fingerprintOf(found),
        read: Option.some<ReadLayer>({ layer, realPath, content })
      }
    })

const linkOutside = (file: string, realPath: string): Diagnostic => ({
  severity: "warning",
  code: "link_outside",
  message: `this project file is left out: it is a link to ${realPath}, outside of the project; put a copy in its place, or name the file with --config`,
  file
})

/** The last valid content under this name, unless the name now leads to another directory. */
const lastValidOf = ({ layer }: ReadLayer, lastValid: LastValid): LayerContent.LayerContent | undefined => {
  const content = lastValid.get(layer.name)
  return content?.layer.directory === layer.directory && content.layer.runsIn === layer.runsIn ? content : undefined
}

const unreadable = (file: string, found: string): Issue => ({ path: [], expected: "a config file", found, file })

const programLayer = (program: ProgramConfig, { cwd }: Surroundings): ReadonlyArray<ReadLayer> => {
  const { agents: agent, servers: mcp, tools } = program
  const document = defined({ mcp, tools, agent })
  if (Object.keys(document).length === 0) return []
  const layer: ConfigLayer.ConfigLayer = { kind: "program", name: "the program", directory: cwd, runsIn: cwd }
  return [{ layer, realPath: "", content: LayerContent.ofTree(layer, Tree.fromPlain(document, layer)) }]
}

const organisationLayer = (surroundings: Surroundings, kept: Option.Option<string>): ReadonlyArray<ReadLayer> =>
  Option.match(Option.all([Organisation.addressOf(surroundings), kept]), {
    onNone: () => [],
    onSome: ([url, document]) => [{ ...Organisation.layerOf(surroundings, url, document), realPath: "" }]
  })

/** @param directory that relative paths are resolved against, as the layer has no file: where its servers run. */
const inlineLayer = ({ env }: Surroundings, directory: string): ReadonlyArray<ReadLayer> => {
  const name = Environment.variables.configContent
  const given = Environment.read(env, "configContent") ?? ""
  if (given.trim() === "") return []
  const text = DocumentText.make(name, given)
  const layer: ConfigLayer.ConfigLayer = { kind: "inline", name, directory, text }
  return [{ layer, realPath: "", content: LayerContent.read(layer, text) }]
}

const order: ReadonlyArray<ConfigLayer.LayerKind> = [
  "program",
  "organisation",
  "global",
  "environment",
  "project",
  "projectDirectory",
  "file",
  "inline",
  "managed"
]

/** Sorts by kind of layer. Layers of one kind keep their order. */
const inOrder = (reads: ReadonlyArray<ReadLayer>): ReadonlyArray<ReadLayer> =>
  order.flatMap((kind) => reads.filter(({ layer }) => layer.kind === kind))

const judge = (
  { layer, realPath }: ReadLayer,
  content: LayerContent.LayerContent,
  directories: Directories,
  trust: TrustStore.Trust
): Judged =>
  ConfigLayer.needsTrust(layer)
    ? {
        content,
        isTrusted: (name) => trust.server(realPath, content, name, directories.get(name)?.real),
        settingsTrusted: trust.settings(realPath, content)
      }
    : trusted(content)

/** Reads the files that `{file:}` names, for servers that may start. */
const readReferences = (
  { servers, settings }: Combined,
  surroundings: Surroundings
): Effect.Effect<ReadonlyMap<string, ConfigFile.FileContent>> => {
  const trees = [
    ...servers.filter(({ untrusted }) => !untrusted).map(({ entry }) => entry.tree),
    ...(settings ? [settings] : [])
  ]
  const paths = new Set<string>()
  for (const tree of trees) {
    Tree.forEachText(tree, (text, { origin: { layer } }) => {
      if (layer.kind === "program" || !text.includes("{file:")) return
      for (const placeholder of placeholdersOf(text)) {
        if (placeholder._tag === "File") paths.add(resolveFrom(layer.directory, placeholder.path, surroundings))
      }
    })
  }
  return ConfigFile.readAll([...paths], { each: maxFileBytes, total: maxFilesBytes, of: "all files" })
}

/** Local servers of the user's layers that are enabled and set no `cwd`. */
export const inUserDirectory = ({ combined }: Pick<Snapshot, "combined">): ReadonlyArray<string> =>
  combined.servers.flatMap(({ entry: { tree }, name, untrusted }) => {
    const command = Tree.isBranch(tree) && !tree.fields.has("cwd") ? tree.fields.get("command") : undefined
    return untrusted || isSwitchedOff(tree) || command === undefined || command.origin.layer.runsIn !== undefined
      ? []
      : [name]
  })

/** One error for all invalid files. */
export const invalidConfig = (issuesByFile: IssuesByFile): InvalidConfig =>
  new InvalidConfig({ issues: Array.from(issuesByFile.values()).flat() })

/**
 * The issues of invalid files: of the user's own ones, or of shared ones. A shared file that is invalid must not prevent a start,
 * unless it is also named explicitly.
 */
export const issuesOf = ({ issuesByFile, reads }: Snapshot, owner: "own" | "shared"): IssuesByFile => {
  const own = new Set(reads.flatMap(({ layer }) => (ConfigLayer.isShared(layer) ? [] : [layer.name])))
  return new Map(Array.from(issuesByFile).filter(([file]) => own.has(file) === (owner === "own")))
}

/** The desired servers, or the error of the user's own files or settings. Invalid shared files are ignored. */
export const requireValid = (snapshot: Snapshot): ConfigUpdate => {
  const own = issuesOf(snapshot, "own")
  return own.size > 0 ? Either.left(invalidConfig(own)) : snapshot.desired
}

/** Adds the valid shared files of a reading to those of earlier readings. */
export const rememberValid = (before: LastValid, { reads }: Snapshot): LastValid =>
  new Map(
    reads.flatMap(({ content, layer }) => {
      const valid = Option.getOrElse(Either.getRight(content), () => before.get(layer.name))
      return ConfigLayer.isShared(layer) && valid !== undefined ? [[layer.name, valid] as const] : []
    })
  )
