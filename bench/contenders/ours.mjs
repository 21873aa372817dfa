// The contender with our sessions alone, one for each connection.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { callersOf } from "./callers.mjs"

/** `dist` is the URL of the build. */
export const make = async (dist) => {
  const { Connector, layer } = await import(new URL("connection/Connector.js", dist).href)
  const { decode } = await import(new URL("domain/server/ServerConfig.js", dist).href)
  const all = Effect.runSync(Scope.make())
  const connector = Context.get(await Effect.runPromise(Layer.buildWithScope(layer(), all)), Connector)

  const open = (target) =>
    Effect.gen(function* () {
      const { config } = yield* decode("bench", target)
      const scope = yield* Scope.fork(all, { _tag: "Sequential" })
      const session = yield* Scope.extend(connector.connect({ server: "bench", config: yield* config }), scope)
      return { session, scope }
    })

  return {
    load: async () => {},

    open: async (target) => {
      const { scope, session } = await Effect.runPromise(open(target))
      const call = (args) => session.callTool("echo", args)
      return {
        call: (args) => Effect.runPromise(call(args)),
        callers: callersOf(call),
        close: () => Effect.runPromise(Scope.close(scope, Exit.void))
      }
    },

    end: () => Effect.runPromise(Scope.close(all, Exit.void))
  }
}
