/**
 * The service that keeps MCP servers alive, and the layers that provide it.
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
import { defaultStateDir } from "./domain/internal/stateDir.js"
import { configuredSupervisor } from "./configuredSupervisor.js"
import { homeDirectory } from "./system/homeDirectory.js"
import * as FileCatalogStore from "./supervision/catalog/FileCatalogStore.js"
import type { McpSupervisor, Options } from "./supervision/model.js"
import { layer } from "./supervision/Supervisor.js"
import * as StateDirectory from "./system/stateDirectory.js"

export * from "./supervision/model.js"
export { layer } from "./supervision/Supervisor.js"

/**
 * Everything for Node: real processes and sockets, and a directory for what is kept between two runs. While it is there, the
 * exit of our own process kills what is left of the servers. If our process is killed, a guard process ends them (see the option
 * `guard`); what the guard could not end, the next start does.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNode = <R = never>(
  options: Options<R> = {}
): Layer.Layer<McpSupervisor | McpAuth, InvalidConfig, R> => {
  const kept = Layer.unwrapEffect(
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
    Layer.provide([kept, Browser.layerNode, options.guard === false ? Layer.empty : ShellProcessGuard.layer]),
    Layer.locallyWith(FiberRef.currentLoggers, defaultToStderr)
  )
}

/** None, for a user without a home: then nothing is kept. */
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
  /** Where projects are looked for, and where servers of the program run that set no `cwd`. Defaults to the working directory. */
  readonly cwd?: string | undefined
  /** Further config files, trusted, above all others. Each has to be there. Defaults to none. */
  readonly files?: ReadonlyArray<string> | undefined
  /** Whether changes of the files are followed. Defaults to true. */
  readonly watch?: boolean | undefined
}

/**
 * Everything for Node, from [config files](../docs/configuration.md), followed while they change. What the options themselves
 * say (`servers`, `defaults`, `tools`, `agents`) is the lowest layer. A file that comes to be no use leaves what runs as it is
 * and is reported as `ConfigRejected`; `restart` reads all files again first. Fails if a file is no use from the start, unless
 * it came with a project: nobody has to be able to start there.
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
