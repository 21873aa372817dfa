/**
 * Chooses the file of an imported server and writes it. An entry of a project's file stays in the project and untrusted:
 * only `trust` lets it run.
 */
import { dirname, join } from "node:path"
import * as Effect from "effect/Effect"
import { EditRefused, type InvalidConfig, ServerExists } from "../../domain/Errors.js"
import { variables } from "../../system/environment.js"
import { checkedEntry } from "../edit/checkedEntry.js"
import { asTarget, type Edited, type Target, targetFor, type Where, write } from "../edit/editConfig.js"
import * as LayerEntry from "../document/LayerEntry.js"
import * as ConfigFile from "../document/configFile.js"
import type { Surroundings } from "../ConfigHost.js"
import type { ImportedServer } from "./importFrom.js"
import * as ConfigLayer from "../layers/ConfigLayer.js"
import { load, type Snapshot } from "../layers/loadLayers.js"
import { candidates } from "../layers/locations.js"
import { isWithin } from "../layers/Workspace.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ImportOptions extends Where {
  /** Whether the user has seen the entry of a project's file and wants it in a file that needs no trust. Defaults to false. */
  readonly approved?: boolean | undefined
  /** Further files whose servers run without approval, such as those of a running supervisor. Defaults to none. */
  readonly trustedFiles?: ReadonlyArray<string> | undefined
}

/**
 * The file that an imported server is written to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Destination {
  readonly file: string
  /** Whether the server may run at once. Otherwise the file must be trusted first. */
  readonly trusted: boolean
}

interface ImportPlan extends Destination {
  readonly target: Target
  readonly entry: ImportedServer["entry"]
}

export const destination = (
  surroundings: Surroundings,
  server: ImportedServer,
  options: ImportOptions
): Effect.Effect<Destination, EditRefused> =>
  Effect.gen(function* () {
    const snapshot = yield* load(surroundings, {})
    const { file, trusted } = yield* planFor(surroundings, snapshot, server, options)
    return { file, trusted }
  })

export const addImported = (
  surroundings: Surroundings,
  server: ImportedServer,
  options: ImportOptions
): Effect.Effect<Edited & Destination, ServerExists | InvalidConfig | EditRefused> =>
  Effect.gen(function* () {
    const { name } = server
    const snapshot = yield* load(surroundings, {})
    if (snapshot.combined.servers.some((each) => each.name === name && LayerEntry.isDefinition(each.entry)))
      return yield* new ServerExists({ server: name })
    const { entry, target, trusted } = yield* planFor(surroundings, snapshot, server, options)
    const plain = yield* checkedEntry(name, entry)
    const edited = yield* write(surroundings, target, { _tag: "Add", name, entry: plain }, [], trusted)
    return { ...edited, trusted }
  })

const planFor = (
  surroundings: Surroundings,
  snapshot: Snapshot,
  server: ImportedServer,
  options: ImportOptions
): Effect.Effect<ImportPlan, EditRefused> => {
  const { approved = false, file, scope } = options
  const { entry, from, movedEntry, owner, project } = server
  const refuse = (file: string, reason: string) => Effect.fail(new EditRefused({ file, reason, issues: [] }))
  if (owner === "user" || project === undefined) {
    const target = targetFor(surroundings, snapshot, { file, scope: scope ?? "global" })
    return Effect.succeed({ target, file: target.file, trusted: true, entry })
  }
  if (file !== undefined || scope === "global") {
    const target = targetFor(surroundings, snapshot, options)
    if (!target.isProject) {
      // a server that the user added for one project is the user's own; one that came with the project is not
      return owner === "private" || approved
        ? Effect.succeed({ target, file: target.file, trusted: true, entry: movedEntry })
        : refuse(
            target.file,
            `"${server.name}" is from ${from.at(-1)}, a file of the project, and would run without trust`
          )
    }
  }
  const target = projectTarget(snapshot, project)
  if (owner === "private" && server.hasSecrets && scope !== "project") {
    const reason = `"${server.name}" holds values in plain text that would stand in a file of the project: use --scope global`
    return refuse(target.file, reason)
  }
  return Effect.as(staysUntrusted(surroundings, snapshot, target, project, options.trustedFiles ?? []), {
    target,
    file: target.file,
    trusted: false,
    entry
  })
}

/** The highest project file in a directory, or the file to create there. */
const projectTarget = ({ reads }: Snapshot, directory: string): Target => {
  const directories = [directory, join(directory, ".mcp-supervisor")]
  const found = reads.findLast(
    ({ layer }) => ConfigLayer.needsTrust(layer) && directories.includes(dirname(layer.name))
  )?.layer
  return asTarget(found ?? { kind: "project", name: join(directory, "mcp-supervisor.json") })
}

/** Fails if the file needs no approval: a link in a project may lead to a file whose servers run without it. */
const staysUntrusted = (
  surroundings: Surroundings,
  { reads }: Snapshot,
  { file }: Target,
  project: string,
  others: ReadonlyArray<string>
): Effect.Effect<void, EditRefused> =>
  Effect.gen(function* () {
    const refuse = (reason: string) => new EditRefused({ file, reason, issues: [] })
    const [real, directory] = yield* Effect.all([ConfigFile.realPath(file), ConfigFile.realPath(project)])
    if (!isWithin(directory, real)) return yield* refuse("it is a link to a file outside of the project")
    const trusted = [
      ...candidates(surroundings, []).map(({ path }) => path),
      ...reads.filter(({ layer }) => !ConfigLayer.needsTrust(layer)).map(({ layer }) => layer.name),
      ...others
    ]
    const paths = yield* Effect.forEach(trusted, ConfigFile.realPath, { concurrency: 8 })
    if (paths.includes(real))
      return yield* refuse(
        `it is also used as a file that needs no trust (--config, ${variables.config}): stop that, or add the server by hand`
      )
  })
