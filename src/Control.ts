/**
 * A running supervisor from outside: finding it, asking it, and being it.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { Host } from "./config/ConfigFiles.js"
import { surroundings } from "./config/Host.js"
import * as Sources from "./config/sources.js"
import * as ControlClient from "./control/ControlClient.js"
import * as ControlToken from "./control/ControlToken.js"
import * as DaemonFile from "./control/DaemonFile.js"

export * as ControlApi from "./control/ControlApi.js"
export * as ControlClient from "./control/ControlClient.js"
export * as ControlError from "./control/ControlError.js"
export * as ControlToken from "./control/ControlToken.js"
export * as DaemonFile from "./control/DaemonFile.js"

/**
 * Who supervises in a state directory, as seen from somebody with a configuration of his own. `OtherFiles` is a supervisor that
 * serves other config files than he would.
 *
 * @since 0.1.0
 * @category models
 */
export type Located = DaemonFile.Found | { readonly _tag: "OtherFiles"; readonly daemon: DaemonFile.DaemonFile }

/**
 * Looks for the supervisor that commands should talk to.
 *
 * @since 0.1.0
 * @category finding
 */
export const locate = (host: Host = {}): Effect.Effect<Located> =>
  Effect.gen(function* () {
    const where = surroundings(host)
    const found = yield* DaemonFile.find(where.stateDir)
    if (found._tag !== "Running") return found
    const key = yield* Effect.orElseSucceed(ControlToken.read(where.stateDir), () => Redacted.make(""))
    const ours = Sources.describe(where, Redacted.value(key))
    return (yield* Sources.same(ours, found.daemon.sources, where))
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
  host: Host = {}
): Effect.Effect<ControlClient.ControlClient, ControlToken.TokenUnusable, Scope.Scope> =>
  Effect.flatMap(
    Effect.suspend(() => ControlToken.read(surroundings(host).stateDir)),
    (token) => ControlClient.make({ socket: daemon.socket, address: daemon.address, token })
  )
