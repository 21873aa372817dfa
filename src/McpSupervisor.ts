/**
 * The supervisor service, which keeps MCP servers running, and the layers that provide it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Browser from "./auth/Browser.js"
import * as CredentialStore from "./auth/CredentialStore.js"
import type { McpAuth } from "./auth/McpAuth.js"
import { defaultToStderr } from "./system/stderrLogger.js"
import * as Connector from "./connection/Connector.js"
import * as FileChildLedger from "./connection/process/FileChildLedger.js"
import * as ShellProcessGuard from "./connection/process/ShellProcessGuard.js"
import { InvalidConfig } from "./domain/Errors.js"
import { defaultStateDir } from "./system/files/defaultStateDir.js"
import { configuredSupervisor } from "./configuredSupervisor.js"
import { homeDirectory } from "./system/homeDirectory.js"
import * as FileCatalogStore from "./supervision/catalog/FileCatalogStore.js"
import type { McpSupervisor, Options } from "./supervision/model.js"
import { layer } from "./supervision/Supervisor.js"
import * as StateDirectory from "./system/files/stateDirectory.js"

export * from "./supervision/model.js"
export { layer } from "./supervision/Supervisor.js"

/**
 * Provides the supervisor for Node: real processes and sockets, and a state directory for data that is kept between runs. If
 * this process exits while the layer is open, the remaining server processes are killed. If this process is killed, a guard
 * process ends them (see the option `guard`); the next start ends what the guard could not.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNode = <R = never>(
  options: Options<R> = {}
): Layer.Layer<McpSupervisor | McpAuth, InvalidConfig, R> => {
  const stateLayers = Layer.unwrapEffect(
    Effect.map(safeStateDirOf(options), (stateDir) =>
      stateDir === undefined
        ? Layer.empty
        : Layer.mergeAll(
            FileChildLedger.layer(stateDir),
            FileCatalogStore.layer(stateDir),
            CredentialStore.layerFile(stateDir)
          )
    )
  )
  return layer(options).pipe(
    Layer.provide(Connector.layer({ clientInfo: options.clientInfo })),
    Layer.provide([stateLayers, Browser.layerNode, options.guard === false ? Layer.empty : ShellProcessGuard.layer]),
    Layer.locallyWith(FiberRef.currentLoggers, defaultToStderr)
  )
}

/** The state directory. Undefined for a user without a home directory: then nothing is kept between runs. */
const stateDirOf = ({ stateDir }: { readonly stateDir?: string | undefined }): Effect.Effect<string | undefined> =>
  stateDir !== undefined
    ? Effect.succeed(stateDir)
    : Effect.orElse(
        Effect.try(() => defaultStateDir(process.env, process.platform, homeDirectory)),
        () => Effect.as(Effect.logWarning("mcp.state.unavailable"), undefined)
      )

const safeStateDirOf = (options: {
  readonly stateDir?: string | undefined
}): Effect.Effect<string | undefined, InvalidConfig> =>
  Effect.tap(stateDirOf(options), (stateDir) =>
    stateDir === undefined
      ? Effect.void
      : Effect.mapError(
          StateDirectory.check(stateDir),
          ({ message, problem }) =>
            new InvalidConfig({
              issues: [
                {
                  path: ["stateDir"],
                  expected: "a directory that belongs to you and that no other user can write",
                  found: `one that ${problem}`,
                  hint: message
                }
              ]
            })
        )
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface ConfigOptions<R = never> extends Options<R> {
  /**
   * The directory where the search for project files starts, and in which servers of the program run that set no `cwd`.
   * Defaults to the working directory.
   */
  readonly cwd?: string | undefined
  /** Further config files. They are trusted, have priority over all others, and must exist. Defaults to none. */
  readonly files?: ReadonlyArray<string> | undefined
  /** Whether changes of the files are applied while the supervisor runs. Defaults to true. */
  readonly watch?: boolean | undefined
}

/**
 * Provides the supervisor for Node from [config files](../docs/configuration.md), and applies changes of the files. The options
 * themselves (`servers`, `defaults`, `tools`, `agents`) are the lowest layer. A file that becomes invalid changes nothing and
 * is reported as `ConfigRejected`; `restart` reads all files again first. Building the layer fails if a file is invalid, except
 * a project file: a broken project must not prevent the start.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <R = never>(
  options: ConfigOptions<R> = {}
): Layer.Layer<McpSupervisor | McpAuth, InvalidConfig, R> =>
  Layer.scopedContext(Effect.map(configuredSupervisor(options, layerNode), ({ context }) => context)).pipe(
    Layer.locallyWith(FiberRef.currentLoggers, defaultToStderr)
  )
