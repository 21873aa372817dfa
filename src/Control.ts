/**
 * Finds a running supervisor, sends requests to it, and runs one with a control API.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { McpAuth } from "./auth/McpAuth.js"
import { defaultToStderr } from "./system/stderrLogger.js"
import * as ConfigFiles from "./config/ConfigFiles.js"
import { surroundings } from "./config/ConfigHost.js"
import * as LayerSources from "./config/layers/layerSources.js"
import { ConfigAccess, type Service as ConfigService } from "./control/server/ConfigAccess.js"
import * as ControlServer from "./control/ControlServer.js"
import * as ControlToken from "./control/ControlToken.js"
import * as Daemon from "./daemon/Daemon.js"
import * as DaemonFile from "./daemon/DaemonFile.js"
import * as SocketPath from "./daemon/socketPath.js"
import type { InvalidConfig } from "./domain/Errors.js"
import { configuredSupervisor } from "./configuredSupervisor.js"
import { type ConfigOptions, layerNode, type McpSupervisor } from "./McpSupervisor.js"

export * as ConfigAccess from "./control/server/ConfigAccess.js"
export * as ControlApi from "./control/ControlApi.js"
export * as ControlClient from "./control/ControlClient.js"
export * as ControlError from "./control/ControlError.js"
export * as ControlServer from "./control/ControlServer.js"
export * as ControlToken from "./control/ControlToken.js"
export * as Daemon from "./daemon/Daemon.js"
export * as DaemonFile from "./daemon/DaemonFile.js"
export * as DaemonState from "./daemon/DaemonState.js"
export { connect, discover, type Discovered } from "./daemon/discover.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface ServeOptions<R = never>
  extends ConfigOptions<R>,
    Pick<
      ControlServer.Options,
      "host" | "port" | "allowedHosts" | "allowedOrigins" | "maxBody" | "heartbeat" | "mounts"
    > {
  /**
   * An additional token chosen by the user, beside the one in the state directory. Required to listen beyond loopback. Defaults
   * to none.
   */
  readonly token?: Redacted.Redacted<string> | undefined
}

/**
 * All errors with which a supervisor can fail to start serving.
 *
 * @since 0.1.0
 * @category errors
 */
export type ServeError =
  | InvalidConfig
  | Daemon.AlreadyRunning
  | Daemon.StateDirUnusable
  | ControlServer.UnsafeBind
  | ControlServer.WeakToken
  | ControlServer.ListenFailed
  | ControlToken.TokenUnusable

/**
 * Runs the only supervisor of a state directory, from config files, with its control API and `daemon.json`. The layer is built
 * when the control API accepts requests; servers connect in the background. Closing the layer removes everything in reverse
 * order.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options: ServeOptions<R> = {}
): Layer.Layer<McpSupervisor | McpAuth | ControlServer.ControlServer, ServeError, R> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const { allowedHosts, allowedOrigins, heartbeat, host, maxBody, mounts, port, token: ownToken, ...rest } = options
      const { agents, cwd, defaults, files, servers, tools } = rest
      const where = surroundings({ cwd, files, stateDir: rest.stateDir })
      const { stateDir } = where

      yield* ControlServer.checkBind({ host, ownToken })
      yield* Daemon.hold(stateDir)
      const token = yield* ControlToken.make(stateDir)
      yield* Daemon.tryPort(host ?? ControlServer.defaultHost, port ?? ControlServer.defaultPort)
      const socket = yield* SocketPath.prepare(stateDir)
      // runs after the control API and the supervisor have closed: the file exists as long as one of them runs
      yield* Effect.addFinalizer(() => DaemonFile.remove(stateDir, process.pid))

      const { context, reload } = yield* configuredSupervisor({ ...rest, stateDir }, layerNode)
      const program = { agents, defaults, servers, tools }
      const access = configAccess(reload, { cwd, files, stateDir, program })
      const control = yield* Layer.build(
        ControlServer.layer({
          allowedHosts,
          allowedOrigins,
          heartbeat,
          host,
          maxBody,
          mounts,
          port,
          socket,
          token,
          ownToken
        })
      ).pipe(Effect.provide(Context.add(context, ConfigAccess, access)))

      const sources = LayerSources.describe(where, Redacted.value(token))
      const { address } = Context.get(control, ControlServer.ControlServer)
      const config = yield* Effect.sync(() => LayerSources.present(sources, where))
      // runs before the listener closes: afterwards another process can listen on the same address, and clients that find the
      // file would send it the token
      yield* Effect.addFinalizer(() => DaemonFile.end(stateDir, process.pid))
      yield* Daemon.announce(stateDir, { address, socket, config, sources })
      return Context.merge(context, control)
    })
  ).pipe(Layer.locallyWith(FiberRef.currentLoggers, defaultToStderr))

const configAccess = (reload: ConfigService["reload"], { program, ...host }: ConfigFiles.Options): ConfigService => ({
  reload,
  explain: ConfigFiles.explain({ ...host, program }),
  trust: (file) => ConfigFiles.trust({ ...host, file }),
  add: (name, entry) => Effect.asVoid(ConfigFiles.add(name, entry, host)),
  directory: ConfigFiles.userDirectory(host)
})
