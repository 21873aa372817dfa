/**
 * Finds the running supervisor and connects to it. Does not import the supervisor, which takes several times as long to load.
 */
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { defaultToStderr } from "../system/stderrLogger.js"
import { type ConfigHost, surroundings } from "../config/ConfigHost.js"
import * as LayerSources from "../config/layers/layerSources.js"
import * as ControlClient from "../control/ControlClient.js"
import * as ControlToken from "../control/ControlToken.js"
import type * as DaemonFile from "./DaemonFile.js"
import * as DaemonState from "./DaemonState.js"

/** What a running supervisor wrote about itself. */
export type Daemon = DaemonFile.DaemonFile

/**
 * The supervisor of a state directory as the caller sees it. `OtherFiles` runs, but serves other config files than the caller
 * would.
 *
 * @since 0.1.0
 * @category models
 */
export type Discovered =
  | DaemonState.DaemonState
  | { readonly _tag: "OtherFiles"; readonly daemon: DaemonFile.DaemonFile }

/**
 * Finds the supervisor that commands should use.
 *
 * @since 0.1.0
 * @category finding
 */
export const discover = (host: ConfigHost = {}): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    const resolvedHost = surroundings(host)
    const state = yield* DaemonState.find(resolvedHost.stateDir)
    if (state._tag !== "Running") return state
    const key = yield* Effect.orElseSucceed(tokenIn(resolvedHost.stateDir), () => Redacted.make(""))
    const ownSources = LayerSources.describe(resolvedHost, Redacted.value(key))
    return (yield* Effect.sync(() => LayerSources.same(ownSources, state.daemon.sources, resolvedHost)))
      ? state
      : { _tag: "OtherFiles", daemon: state.daemon }
  })

/**
 * Connects to a discovered supervisor, through its socket if it has one.
 *
 * @since 0.1.0
 * @category finding
 */
export const connect = (
  daemon: DaemonFile.DaemonFile,
  host: ConfigHost = {}
): Effect.Effect<ControlClient.ControlClient, ControlToken.TokenUnusable, Scope.Scope> =>
  Effect.flatMap(
    Effect.suspend(() => tokenIn(surroundings(host).stateDir)),
    // never by address if there is a socket: another process can listen at the address after the supervisor ended
    (token) => ControlClient.make({ socket: daemon.socket, address: daemon.address, token })
  )

const tokenIn = (stateDir: string) =>
  Effect.locallyWith(ControlToken.read(stateDir), FiberRef.currentLoggers, defaultToStderr)
