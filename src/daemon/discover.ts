/**
 * Finding the running supervisor and asking it, and nothing of being one: that takes several times as long to load.
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
import * as DaemonFile from "./DaemonFile.js"

/** What is known of a supervisor that runs. */
export type Daemon = DaemonFile.DaemonFile

/**
 * Who supervises in a state directory, as seen from somebody with a configuration of his own. `OtherFiles` is a supervisor that
 * serves other config files than he would.
 *
 * @since 0.1.0
 * @category models
 */
export type Discovered = DaemonFile.Found | { readonly _tag: "OtherFiles"; readonly daemon: DaemonFile.DaemonFile }

/**
 * Looks for the supervisor that commands should talk to.
 *
 * @since 0.1.0
 * @category finding
 */
export const discover = (host: ConfigHost = {}): Effect.Effect<Discovered> =>
  Effect.gen(function* () {
    const where = surroundings(host)
    const found = yield* DaemonFile.find(where.stateDir)
    if (found._tag !== "Running") return found
    const key = yield* Effect.orElseSucceed(tokenIn(where.stateDir), () => Redacted.make(""))
    const ours = LayerSources.describe(where, Redacted.value(key))
    return (yield* Effect.sync(() => LayerSources.same(ours, found.daemon.sources, where)))
      ? found
      : { _tag: "OtherFiles", daemon: found.daemon }
  })

/**
 * A client of a supervisor that was found, by its socket where it has one.
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
    // never by its address where it has a socket: others can listen there once it does not
    (token) => ControlClient.make({ socket: daemon.socket, address: daemon.address, token })
  )

const tokenIn = (stateDir: string) =>
  Effect.locallyWith(ControlToken.read(stateDir), FiberRef.currentLoggers, defaultToStderr)
