/**
 * Finding the running supervisor and asking it, and nothing of being one: that takes several times as long to load.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { surroundings } from "../config/Host.js"
import * as Sources from "../config/sources.js"
import * as ControlClient from "../control/ControlClient.js"
import * as ControlToken from "../control/ControlToken.js"
import * as DaemonFile from "../control/DaemonFile.js"
import type { hostOf } from "./host.js"

type Host = ReturnType<typeof hostOf>

export type Daemon = DaemonFile.DaemonFile

/** As `Control.locate`. */
export const locate = (host: Host) =>
  Effect.gen(function* () {
    const found = yield* DaemonFile.find(host.stateDir)
    if (found._tag !== "Running") return found
    const where = surroundings(host)
    const key = yield* Effect.orElseSucceed(ControlToken.read(host.stateDir), () => Redacted.make(""))
    const ours = Sources.describe(where, Redacted.value(key))
    const isSame = yield* Sources.same(ours, found.daemon.sources, where)
    return isSame ? found : ({ _tag: "OtherFiles", daemon: found.daemon } as const)
  })

/** As `Control.connect`. */
export const connect = ({ address, socket }: Daemon, { stateDir }: Host) =>
  Effect.flatMap(ControlToken.read(stateDir), (token) => ControlClient.make({ socket, address, token }))
