/**
 * Implements `SupervisorHandle` with a supervisor that runs as long as the command and starts only the servers it needs.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { McpAuth } from "../../auth/McpAuth.js"
import * as ConfigFiles from "../../config/ConfigFiles.js"
import type { InvalidConfig } from "../../domain/Errors.js"
import type * as ServerConfig from "../../domain/server/ServerConfig.js"
import { allowsLogin, decode } from "../../domain/server/ServerConfig.js"
import * as McpSupervisor from "../../McpSupervisor.js"
import { noteRunningServers } from "./shutdownNotice.js"
import * as FirstOutcomes from "./firstOutcomes.js"
import type { LoginResult, SupervisorHandle } from "./SupervisorHandle.js"
import { hostOf } from "./commandHost.js"
import { Screen } from "../terminal/Screen.js"
import { problemLines } from "../show/showConfig.js"
import type { Shared } from "../words/spec.js"

export interface Options {
  /** Which servers are started. The others are disabled. Defaults to all. */
  readonly only?: ((name: string) => boolean) | undefined
}

export const make = (
  shared: Shared,
  { only }: Options
): Effect.Effect<SupervisorHandle, InvalidConfig, Scope.Scope | Screen> =>
  Effect.gen(function* () {
    const host = hostOf(shared)
    const loaded = yield* ConfigFiles.loadOnce(host)
    const { desired } = loaded
    const { note, noteStyle } = yield* Screen
    for (const line of problemLines(loaded, noteStyle)) yield* note(line)
    const entries = Object.entries(desired.servers ?? {})
    const servers =
      only === undefined
        ? desired.servers
        : Object.fromEntries(entries.map(([name, entry]) => [name, only(name) ? entry : disable(entry)]))
    const options = { ...desired, servers, roots: [host.cwd], stateDir: host.stateDir }
    const context = yield* Layer.build(McpSupervisor.layerNode(options))
    const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
    const auth = Context.get(context, McpAuth)
    yield* noteRunningServers(supervisor.changes)

    const outcomes = FirstOutcomes.make(supervisor, note)
    const all = yield* Effect.cached(outcomes.all)
    const settled = (name?: string) => (name === undefined ? outcomes.tools : Effect.ignore(outcomes.one(name)))

    const remotes = entries.flatMap(([name, entry]) => (isLoginable(name, entry) ? [name] : []))

    const handle: SupervisorHandle = {
      kind: "standalone",
      cwd: host.cwd,
      servers: all,
      server: outcomes.one,
      changes: supervisor.changes,
      catalog: Effect.zipRight(all, supervisor.catalog),
      call: (tool, args, onProgress) =>
        Effect.zipRight(
          settled(tool.server),
          tool.server === undefined
            ? supervisor.callTool(tool.name, args, { onProgress })
            : supervisor.callServerTool(tool.server, tool.name, args, { onProgress })
        ),
      read: (server, uri) => Effect.zipRight(settled(server), supervisor.readResource(server, uri)),
      prompt: (server, name, args) => Effect.zipRight(settled(server), supervisor.getPrompt(server, name, args)),
      connect: supervisor.connect,
      restart: supervisor.restart,
      disconnect: supervisor.disconnect,
      reload: Effect.flatMap(ConfigFiles.load(host), (now) => supervisor.reconcile(now.desired)),
      logins: Effect.flatMap(all, (snapshots) => {
        const statuses = new Map(snapshots.map(({ name, status }) => [name, status]))
        return Effect.forEach(
          remotes.filter((server) => statuses.has(server)),
          (server) =>
            Effect.map(auth.status(server), (login): LoginResult => ({ server, login, status: statuses.get(server)! }))
        )
      }),
      startLogin: auth.startLogin,
      finishLogin: auth.finishLogin,
      logout: auth.logout,
      logs: (name, follow) => (follow ? supervisor.logs(name) : untilSettled(settled(name), supervisor.logs(name))),
      events: ({ follow, replay }) => {
        const events = replay ? supervisor.eventsFrom(1) : supervisor.events
        return follow ? events : untilSettled(all, events)
      }
    }
    return handle
  })

/** Ends the stream shortly after the servers have settled, when all stored values were read. */
const untilSettled = <A, E>(settled: Effect.Effect<unknown>, stream: Stream.Stream<A, E>): Stream.Stream<A, E> =>
  Stream.unwrap(Effect.as(settled, Stream.interruptAfter(stream, "50 millis")))

const disable = (entry: ServerConfig.Input): ServerConfig.Input => ({ ...entry, enabled: false })

const isLoginable = (name: string, entry: ServerConfig.Input): boolean =>
  Either.match(decode(name, entry), {
    onLeft: () => false,
    onRight: ({ config }) => Option.exists(config, (each) => each._tag === "Remote" && allowsLogin(each))
  })
