/** Runs supervisors with real processes and sockets, and waits for their statuses and events. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it } from "@effect/vitest"
import { Chunk, Context, Effect, Layer, Logger, Option, type Scope, Stream } from "effect"
import type { InvalidConfig } from "../../../src/domain/Errors.js"
import type { EventOf, ServerEvent } from "../../../src/domain/server/ServerEvent.js"
import type { ServerSnapshot } from "../../../src/domain/server/ServerSnapshot.js"
import type { ServerStatus, StatusOf } from "../../../src/domain/server/ServerStatus.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"
import { ScriptedServer } from "../../../src/testing/Testing.js"
import type { Answer, Received } from "./rawHttp.js"
import * as Raw from "./rawHttp.js"
import { faulty } from "./session.js"

export type Supervisor = McpSupervisor.Shape

/** A directory that is removed after the test. */
export const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "supervised-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

/** A supervisor that lives as long as the scope. By default it has its own state directory. */
export const supervise = (options: McpSupervisor.Options = {}): Effect.Effect<Supervisor, InvalidConfig, Scope.Scope> =>
  Effect.gen(function* () {
    const stateDir = options.stateDir ?? (yield* temporaryDirectory)
    const context = yield* Layer.build(McpSupervisor.layerNode({ ...options, stateDir })).pipe(
      Effect.provide(Logger.remove(Logger.defaultLogger))
    )
    return Context.get(context, McpSupervisor.McpSupervisor)
  })

/** A supervisor whose servers are all settled. */
export const superviseSettled = (
  servers: NonNullable<McpSupervisor.Options["servers"]>,
  options: Omit<McpSupervisor.Options, "servers"> = {}
) => Effect.tap(supervise({ ...options, servers }), (supervisor) => supervisor.awaitSettled())

/** A test in real time, with its own scope. */
export const live = (name: string, test: Effect.Effect<unknown, unknown, Scope.Scope>, timeout = 300_000) =>
  it.live(name, () => Effect.scoped(test), timeout)

// --- servers --------------------------------------------------------------------------------------------------------

/** A process with this behaviour in its arguments, which also identify it on its command line. */
export const faultyServer = (...args: ReadonlyArray<string>) => ({ command: process.execPath, args: [faulty, ...args] })

/**
 * A whole server in a few lines of `sh`, which starts quickly, also many at once. The argument is the delay of the handshake in
 * seconds.
 */
export const shellServer = (seconds = 0) => ({
  command: "sh",
  args: [
    "-c",
    `while read -r line; do
      id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
      case $line in
        *'"initialize"'*)
          sleep ${seconds}
          result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
        *'"tools/list"'*) result='{"tools":[{"name":"it","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*) result='{"content":[]}' ;;
        *) continue ;;
      esac
      printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$result"
    done`
  ]
})

/** A process of `sh` that runs the first script the first time in that directory, and later the other one. */
export const firstThen = (
  directory: string,
  first: ScriptedServer.StdioScript,
  later: ScriptedServer.StdioScript = { tools: ["echo"] }
) => {
  const { args, command } = ScriptedServer.stdio(first)
  const other = ScriptedServer.stdio(later).args.at(-1)!
  const program = `if mkdir "$0" 2>/dev/null; then last="$5"; else last="$6"; fi; exec "$1" "$2" "$3" "$4" "$last"`
  return { command: "sh", args: ["-c", program, join(directory, "was-here"), command, ...args, other] }
}

/** An HTTP server on a port of loopback, which can be reused after the scope has closed; 0 is a free one. */
export const serveAt = (
  port: number,
  answer: Answer
): Effect.Effect<
  { readonly url: string; readonly port: number; readonly received: Array<Received> },
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const received: Array<Received> = []
    const server = createServer((request, response) => {
      const chunks: Array<Buffer> = []
      request.on("data", (chunk: Buffer) => void chunks.push(chunk))
      request.on("end", () => {
        const body = Buffer.concat(chunks).toString("utf8")
        const { headers, method = "", url = "" } = request
        const each: Received = { method, url, headers, message: body === "" ? {} : JSON.parse(body) }
        received.push(each)
        answer(each, response, request)
      })
    })
    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => void server.listen(port, "127.0.0.1", () => resume(Effect.void))),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address() as AddressInfo
    return { url: `http://127.0.0.1:${address.port}/mcp`, port: address.port, received }
  })

/** A port without a listener. */
export const freePort: Effect.Effect<number> = Effect.scoped(
  Effect.map(
    serveAt(0, () => {}),
    ({ port }) => port
  )
)

/** {@link Raw.legacy} with these tools. */
export const withTools = (tools: ReadonlyArray<string | object>, own: Parameters<typeof Raw.legacy>[0] = () => false) =>
  Raw.legacy((received, response, request) => {
    if (own(received, response, request)) return true
    if (received.message.method !== "tools/list") return false
    const listed = tools.map((tool) =>
      typeof tool === "string" ? { name: tool, inputSchema: { type: "object" } } : tool
    )
    Raw.json(response, Raw.result(received, { tools: listed }))
    return true
  })

/** The number of requests by method. */
export const countOf = (received: ReadonlyArray<Received>, method: string): number =>
  received.filter(({ message }) => message.method === method).length

// --- what it says ---------------------------------------------------------------------------------------------------

/** The first snapshot of a server that matches, current or later. */
export const awaitSnapshot = (
  supervisor: Supervisor,
  server: string,
  matches: (snapshot: ServerSnapshot) => boolean
): Effect.Effect<ServerSnapshot> =>
  supervisor.changes.pipe(
    Stream.filterMap((snapshots) =>
      Option.filter(Option.fromNullable(snapshots.find(({ name }) => name === server)), matches)
    ),
    Stream.runHead,
    Effect.flatMap(Option.match({ onNone: () => Effect.dieMessage("it ended"), onSome: Effect.succeed })),
    Effect.timeoutFailCause({
      duration: "50 seconds",
      onTimeout: () => new Error(`${server} never came to it`) as never
    }),
    Effect.orDie
  )

/** Waits for a status of that name. */
export const awaitStatus = <Name extends ServerStatus["status"]>(
  supervisor: Supervisor,
  server: string,
  name: Name,
  matches: (status: StatusOf<Name>) => boolean = () => true
): Effect.Effect<StatusOf<Name>> =>
  Effect.map(
    awaitSnapshot(supervisor, server, ({ status }) => status.status === name && matches(status as StatusOf<Name>)),
    ({ status }) => status as StatusOf<Name>
  )

/** The pid of a connected server. */
export const pidOf = (supervisor: Supervisor, server: string): Effect.Effect<number> =>
  Effect.map(
    awaitSnapshot(supervisor, server, ({ pid }) => pid !== undefined),
    ({ pid }) => pid!
  )

/** The events from the beginning up to the first one that matches. */
export const eventsUntil = (
  supervisor: Supervisor,
  isLast: (event: ServerEvent) => boolean
): Effect.Effect<ReadonlyArray<ServerEvent>> =>
  supervisor.eventsFrom(1).pipe(Stream.takeUntil(isLast), Stream.runCollect, Effect.map(Chunk.toReadonlyArray))

/** The status changes of a server from the beginning up to the first one that matches. */
export const changesUntil = (
  supervisor: Supervisor,
  server: string,
  isLast: (to: ServerStatus) => boolean
): Effect.Effect<ReadonlyArray<EventOf<"StatusChanged">>> => {
  const isChange = (event: ServerEvent): event is EventOf<"StatusChanged"> =>
    event.type === "StatusChanged" && event.server === server
  return Effect.map(
    eventsUntil(supervisor, (event) => isChange(event) && isLast(event.to)),
    (events) => events.filter(isChange)
  )
}

/** The names of the statuses, without consecutive duplicates. */
export const namesOf = (changes: ReadonlyArray<EventOf<"StatusChanged">>): ReadonlyArray<string> =>
  changes.map(({ to }) => to.status).filter((name, index, names) => name !== names[index - 1])

/** The stderr lines of a server up to the first one that matches. */
export const linesUntil = (supervisor: Supervisor, server: string, isLast: (line: string) => boolean) =>
  supervisor.logs(server).pipe(
    Stream.map(({ text }) => text),
    Stream.takeUntil(isLast),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray)
  )
