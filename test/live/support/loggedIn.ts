/** Supervisors with logins, on random ports. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import * as McpAuth from "../../../src/auth/McpAuth.js"
import type { Credential } from "../../../src/auth/tokens/Credential.js"
import type { InvalidConfig } from "../../../src/domain/Errors.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"
import { freePort, temporaryDirectory } from "./supervised.js"

export interface Both {
  readonly supervisor: McpSupervisor.Shape
  readonly auth: McpAuth.AuthShape
  readonly stateDir: string
}

/** A supervisor with everything for Node and a state directory of its own, where none is given. */
export const superviseBoth = (
  options: McpSupervisor.Options = {},
  logger: Layer.Layer<never> = Logger.remove(Logger.defaultLogger)
): Effect.Effect<Both, InvalidConfig, Scope.Scope> =>
  Effect.gen(function* () {
    const stateDir = options.stateDir ?? (yield* temporaryDirectory)
    const context = yield* Layer.build(McpSupervisor.layerNode({ ...options, stateDir })).pipe(Effect.provide(logger))
    return {
      supervisor: Context.get(context, McpSupervisor.McpSupervisor),
      auth: Context.get(context, McpAuth.McpAuth),
      stateDir
    }
  })

/** An entry for a server with a login, whose people come back to a port that is free. */
export const entryFor = (url: string, oauth: Record<string, unknown> = {}) =>
  Effect.map(freePort, (callbackPort) => ({
    url,
    oauth: { callbackPort, ...oauth },
    restart: { base: 20, cap: 50 }
  }))

/** What is kept, as it stands in the file. */
export const kept = (stateDir: string): ReadonlyArray<Credential> => JSON.parse(fileIn(stateDir)).logins

export const fileIn = (stateDir: string): string => readFileSync(join(stateDir, "mcp-auth.json"), "utf8")
