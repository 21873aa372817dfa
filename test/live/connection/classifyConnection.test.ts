/** Checks the errors that the SDK throws and their conversion: a new version of the SDK with other errors fails here. */
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { connectionError } from "../../../src/connection/sdk/sdkClassify.js"
import * as Errors from "../../../src/domain/Errors.js"
import * as Failure from "../../../src/domain/server/Failure.js"
import * as Peers from "../support/contractServers/peers.js"
import {
  secret,
  context,
  type Row,
  rows,
  overHttp,
  pin,
  closedPort,
  answer,
  refuse
} from "../support/classification.js"

describe("a status", () => {
  const statuses: ReadonlyArray<readonly [number, Failure.Kind]> = [
    [400, "permanent"],
    [403, "permanent"],
    [404, "permanent"],
    [405, "permanent"],
    [406, "permanent"],
    [408, "transient"],
    [415, "permanent"],
    [425, "transient"],
    [429, "transient"],
    [500, "transient"],
    [502, "transient"],
    [503, "transient"],
    [504, "transient"]
  ]
  rows(
    statuses.flatMap(([status, kind]) => {
      const peer = Peers.answering(status, {}, "not today")
      const is = { _tag: "HttpFailed", status } as const
      return [
        ...(["legacy", "auto"] as const).map((mode) => ({
          when: `${status} over HTTP (${mode})`,
          thrown: overHttp(peer, mode),
          is: { ...is, detail: "not today" },
          kind
        })),
        {
          when: `${status} over SSE`,
          thrown: Effect.flatMap(peer, (url) => Peers.connectThrows(Peers.overSse(url))),
          is,
          kind
        }
      ]
    })
  )

  const login = { is: { _tag: "AuthRequired", login: true }, kind: "auth" } as const
  const denied = Peers.answering(403, { "www-authenticate": 'Bearer error="insufficient_scope", scope="write"' })
  const moved = Peers.answering(307, { location: "http://127.0.0.1:9/elsewhere" })
  rows([
    ...(["legacy", "auto", pin] as const).map((mode) => ({
      when: `401 over HTTP (${JSON.stringify(mode)})`,
      thrown: overHttp(Peers.answering(401), mode),
      ...login
    })),
    {
      when: "401 over SSE",
      thrown: Effect.flatMap(Peers.answering(401), (url) => Peers.connectThrows(Peers.overSse(url))),
      ...login
    },
    ...(["legacy", "auto"] as const).flatMap(
      (mode): ReadonlyArray<Row> => [
        {
          when: `403 that asks for a scope (${mode})`,
          thrown: overHttp(denied, mode),
          is: { _tag: "AuthRequired", scope: "write" },
          kind: "auth"
        },
        {
          when: `a redirect elsewhere (${mode})`,
          thrown: overHttp(moved, mode),
          is: { _tag: "HttpFailed", status: 307 },
          kind: "permanent"
        },
        {
          when: `a page instead of an answer (${mode})`,
          thrown: overHttp(Peers.answering(200, { "content-type": "text/html" }, "<h1>Welcome</h1>"), mode),
          is: { _tag: "IncompatibleServer" },
          kind: "permanent"
        }
      ]
    ),
    {
      when: "a page instead of a stream over SSE",
      thrown: Effect.flatMap(Peers.answering(200, { "content-type": "text/html" }, "<h1>Welcome</h1>"), (url) =>
        Peers.connectThrows(Peers.overSse(url))
      ),
      is: { _tag: "IncompatibleServer" },
      kind: "permanent"
    }
  ])

  it.scopedLive("a redirect names its target, if it is known", () =>
    Effect.map(overHttp(moved), (thrown) => assert.notInclude(connectionError(context, thrown).message, "undefined"))
  )
})

const certificate = Peers.selfSigned()

describe("the network", () => {
  const reset = Peers.peer(({ socket }) => socket.destroy())
  rows(
    (["legacy", "auto", pin] as const).flatMap((mode): ReadonlyArray<Row> => {
      const how = JSON.stringify(mode)
      return [
        {
          when: `nobody listens (${how})`,
          thrown: overHttp(closedPort, mode),
          is: { _tag: "NetworkFailed", code: "ECONNREFUSED", permanent: false },
          kind: "transient"
        },
        {
          when: `the peer hangs up (${how})`,
          thrown: overHttp(reset, mode),
          is: { _tag: "NetworkFailed", permanent: false },
          kind: "transient"
        },
        {
          when: `the name is not known (${how})`,
          thrown: overHttp(Effect.succeed("http://nobody.invalid/mcp"), mode),
          is: { _tag: "NetworkFailed", permanent: false },
          kind: "transient"
        },
        {
          when: `the port is not allowed (${how})`,
          thrown: overHttp(Effect.succeed("http://127.0.0.1:1/mcp"), mode),
          is: { _tag: "NetworkFailed", permanent: true },
          kind: "permanent"
        },
        ...(certificate === undefined
          ? []
          : [
              {
                when: `nobody trusts the certificate (${how})`,
                thrown: overHttp(Peers.tlsPeer(certificate), mode),
                is: { _tag: "NetworkFailed", code: "DEPTH_ZERO_SELF_SIGNED_CERT", permanent: true } as const,
                kind: "permanent" as const
              }
            ])
      ]
    })
  )

  it.scopedLive("without a listener over SSE: transient", () =>
    Effect.gen(function* () {
      const url = yield* closedPort
      const error = connectionError(context, yield* Peers.connectThrows(Peers.overSse(url)))
      assert.strictEqual(error._tag, "NetworkFailed", error.message)
      assert.strictEqual(Failure.fromError(error).kind, "transient")
    })
  )
})

describe("a process", () => {
  const { execPath } = process
  const thisFile = fileURLToPath(import.meta.url)
  const spawning = (command: string, ...args: ReadonlyArray<string>) =>
    Peers.connectThrows(Peers.overStdio(command, args))
  rows([
    {
      when: "its command is missing",
      thrown: spawning("/no/such/command"),
      is: { _tag: "SpawnFailed", reason: "not_found", command: "a-command" },
      kind: "permanent"
    },
    {
      when: "its command may not be executed",
      thrown: spawning(thisFile),
      is: { _tag: "SpawnFailed", reason: "not_permitted" },
      kind: "permanent"
    },
    {
      when: "its arguments are too long",
      thrown: spawning(execPath, "-e", "0", "x".repeat(4_000_000)),
      is: { _tag: "SpawnFailed", reason: "bad_arguments" },
      kind: "permanent"
    },
    ...(["legacy", "auto"] as const).map(
      (mode): Row => ({
        when: `it ends instead of answering (${mode})`,
        thrown: Peers.connectThrows(Peers.overStdio(execPath, ["-e", "0"]), mode),
        is: { _tag: "ConnectionClosed" },
        kind: "transient"
      })
    )
  ])

  it.scopedLive("contains the reason for its end if it is known", () =>
    Effect.gen(function* () {
      const closed = new Errors.ProcessExited({ server: "it", exitCode: 3 })
      for (const mode of ["legacy", "auto", pin] as const) {
        const thrown = yield* Peers.connectThrows(Peers.overStdio(execPath, ["-e", "0"]), mode)
        assert.strictEqual(connectionError({ ...context, closed }, thrown), closed, JSON.stringify(mode))
      }
    })
  )
})

describe("a handshake", () => {
  const unsupported = refuse(-32_022, "Unsupported protocol version", { supported: ["2026-07-28"], requested: "x" })
  const greeted = (initialize: () => Peers.Answer, mode?: Parameters<typeof overHttp>[1]) =>
    overHttp(Peers.rpc({ initialize }), mode)
  rows([
    {
      when: "it names a revision that we do not know",
      thrown: greeted(answer({ ...Peers.greeting.result, protocolVersion: "2099-01-01" })),
      is: { _tag: "IncompatibleServer", detail: "it speaks 2099-01-01" },
      kind: "permanent"
    },
    {
      when: "the server speaks newer revisions only",
      thrown: greeted(unsupported),
      is: { _tag: "IncompatibleServer", detail: "it speaks 2026-07-28" },
      kind: "permanent"
    },
    {
      when: "the server does not say properly what it speaks",
      thrown: greeted(refuse(-32_022, "Unsupported protocol version", { supported: "all of them" })),
      is: { _tag: "HandshakeRefused", code: -32_022 },
      kind: "transient"
    },
    {
      when: "the server does not speak the revision that is wanted",
      thrown: overHttp(Peers.rpc({}), pin),
      is: { _tag: "IncompatibleServer" },
      kind: "permanent"
    },
    {
      when: "it is refused",
      thrown: greeted(refuse(-32_000, `${secret} is wrong`)),
      is: { _tag: "HandshakeRefused", code: -32_000 },
      kind: "transient"
    },
    {
      when: "it is malformed",
      thrown: greeted(answer({ hello: "there" })),
      is: { _tag: "IncompatibleServer", detail: "its greeting is malformed" },
      kind: "permanent"
    },
    ...(["legacy", "auto", pin] as const).map(
      (mode): Row => ({
        when: `nobody answers it (${JSON.stringify(mode)})`,
        thrown: Effect.flatMap(Peers.rpc({ initialize: () => undefined, "server/discover": () => undefined }), (url) =>
          Peers.connectThrows(Peers.overHttp(url), mode, { timeout: 100 })
        ),
        is: { _tag: "ConnectTimeout", phase: "handshake", after: 1234 },
        kind: "transient"
      })
    )
  ])
})
