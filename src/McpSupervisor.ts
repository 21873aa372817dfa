/**
 * The service that keeps MCP servers alive, and the layers that provide it.
 *
 * @since 0.1.0
 */
import { homedir } from "node:os"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as HashSet from "effect/HashSet"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Browser from "./auth/Browser.js"
import * as CredentialStore from "./auth/CredentialStore.js"
import type { McpAuth } from "./auth/McpAuth.js"
import * as Connector from "./connection/Connector.js"
import * as FileChildLedger from "./connection/FileChildLedger.js"
import type { InvalidConfig } from "./domain/Errors.js"
import * as FileCatalogStore from "./supervision/FileCatalogStore.js"
import type { McpSupervisor, Options } from "./supervision/model.js"
import { defaultStateDir } from "./supervision/stateDir.js"
import { layer } from "./supervision/Supervisor.js"

export * from "./supervision/model.js"
export { layer } from "./supervision/Supervisor.js"

/**
 * Everything for Node: real processes and sockets, and a directory for what is kept between two runs. While it is there, the
 * exit of our own process kills what is left of the servers; if we are killed ourselves, the next start does.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNode = <R = never>(
  options: Options<R> = {}
): Layer.Layer<McpSupervisor | McpAuth, InvalidConfig, R> => {
  const kept = Layer.unwrapEffect(
    Effect.map(stateDirOf(options), (stateDir) =>
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
    Layer.provide([kept, Browser.layerNode]),
    Layer.locallyWith(FiberRef.currentLoggers, awayFromStdout)
  )
}

/** None, for a user without a home: then nothing is kept. */
const stateDirOf = ({ stateDir }: { readonly stateDir?: string | undefined }): Effect.Effect<string | undefined> =>
  stateDir !== undefined
    ? Effect.succeed(stateDir)
    : Effect.orElse(
        Effect.try(() => defaultStateDir(process.env, process.platform, homedir)),
        () => Effect.as(Effect.logWarning("mcp.state.unavailable"), undefined)
      )

/** What a program prints is its own business: where nobody chose how to log, our log goes to stderr. */
const awayFromStdout = (loggers: HashSet.HashSet<Logger.Logger<unknown, unknown>>) =>
  HashSet.has(loggers, Logger.defaultLogger)
    ? HashSet.add(HashSet.remove(loggers, Logger.defaultLogger), stderrLogger)
    : loggers

const stderrLogger = Logger.withConsoleError(Logger.logfmtLogger)
