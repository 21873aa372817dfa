/** Throws what the SDK throws, and checks the typed error that it is converted to. */
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { type ErrorContext, connectionError } from "../../../src/connection/sdk/sdkClassify.js"
import * as Errors from "../../../src/domain/Errors.js"
import * as Failure from "../../../src/domain/server/Failure.js"
import * as Secrets from "../../../src/domain/Secrets.js"
import * as Peers from "./contractServers/peers.js"

export const secret = "hunter2-hunter2"

export const context: ErrorContext = {
  server: "it",
  scrub: Secrets.scrub(Secrets.make([secret])),
  scrubBeginning: Secrets.scrubBeginning(Secrets.make([secret])),
  login: true,
  phase: "handshake",
  timeout: 1234,
  command: "a-command"
}

export type Fields = Readonly<Record<string, unknown>>

export interface Row {
  readonly when: string
  readonly thrown: Effect.Effect<unknown, never, Scope.Scope>
  readonly is: Fields & { readonly _tag: Errors.ConnectionError["_tag"] }
  readonly kind: Failure.Kind
}

export const check = (error: Errors.ConnectionError, { is, kind }: Pick<Row, "is" | "kind">) => {
  for (const [name, value] of Object.entries(is)) {
    assert.deepStrictEqual(Reflect.get(error, name), value, `${name} of "${error.message}"`)
  }
  assert.strictEqual(Failure.fromError(error).kind, kind)
}

export const rows = (all: ReadonlyArray<Row>) => {
  for (const { is, kind, thrown, when } of all) {
    it.scopedLive(`${when}: ${is._tag}, ${kind}`, () =>
      Effect.map(thrown, (error) => check(connectionError(context, error), { is, kind }))
    )
  }
}

export const overHttp = (
  peer: Effect.Effect<string, never, Scope.Scope>,
  mode: Parameters<typeof Peers.connectThrows>[1] = "legacy"
) => Effect.flatMap(peer, (url) => Peers.connectThrows(Peers.overHttp(url), mode))

export const pin = { pin: "2026-07-28" } as const

/** A port of loopback without a listener. */
export const closedPort = Effect.scoped(Peers.peer(() => {}))

export const answer = (result: Fields) => () => ({ result })
export const refuse = (code: number, message: string, data?: unknown) => () => ({ error: { code, message, data } })
