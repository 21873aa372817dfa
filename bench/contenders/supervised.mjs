// The contender with our supervisor as used on Node: tools by public name, with a state directory.
import { mkdtemp } from "node:fs/promises"
import { join } from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Scope from "effect/Scope"
import { callersOf } from "./callers.mjs"

/** `dist` is the URL of the build, `stateDir` the parent of each supervisor's state directory. */
export const make = async (dist, stateDir) => {
  const { layerNode, McpSupervisor } = await import(new URL("McpSupervisor.js", dist).href)
  const all = Effect.runSync(Scope.make())
  let count = 0

  /** A supervisor of these servers, after its layer is built. */
  const build = async (servers) => {
    const layer = layerNode({ servers, stateDir: await mkdtemp(join(stateDir, "supervisor-")) })
    const scope = await Effect.runPromise(Scope.fork(all, { _tag: "Sequential" }))
    const quiet = Layer.provide(layer, Logger.minimumLogLevel(LogLevel.None))
    const from = performance.now()
    const context = await Effect.runPromise(Layer.buildWithScope(quiet, scope))
    return {
      supervisor: Context.get(context, McpSupervisor),
      from,
      built: performance.now(),
      close: () => Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }

  /** The supervisor for all connections that are opened one by one. */
  let shared
  const one = async () => (await (shared ??= build({}))).supervisor

  return {
    /** Loads what the layer loads when it is built for the first time. */
    load: () => import(new URL("connection/sdk/sdkConnect.js", dist).href),

    open: async (target) => {
      const supervisor = await one()
      const name = `bench${(count += 1)}`
      await Effect.runPromise(supervisor.add(name, target))
      const { status } = await Effect.runPromise(supervisor.connect(name))
      if (status !== "connected") throw new Error(`${name} is ${status}`)
      const call = (args) => supervisor.callTool(`${name}_echo`, args)
      return {
        call: (args) => Effect.runPromise(call(args)),
        callers: callersOf(call),
        pid: async () => (await Effect.runPromise(supervisor.server(name))).pid,
        close: () => Effect.runPromise(supervisor.remove(name))
      }
    },

    start: async (targets) => {
      const { built, close, from, supervisor } = await build(targets)
      return {
        from,
        built,
        ready: async (servers) => {
          const snapshots = await Effect.runPromise(supervisor.awaitSettled({ servers }))
          const others = snapshots.filter(({ status }) => status.status !== "connected")
          if (others.length > 0) throw new Error(`not connected: ${JSON.stringify(others[0])}`)
        },
        list: () => Effect.runSync(supervisor.catalog).tools.length,
        close
      }
    },

    end: () => Effect.runPromise(Scope.close(all, Exit.void))
  }
}
