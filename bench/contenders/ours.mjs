// Our sessions, used as an Effect program uses them: everything in one effect, one fiber per caller.
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Context from "effect/Context"
import * as Scope from "effect/Scope"

/** `dist` is where the build is. */
export const make = async (dist) => {
  const { Connector, layer } = await import(new URL("connection/Connector.js", dist).href)
  const { decode } = await import(new URL("domain/ServerConfig.js", dist).href)
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
    open: async (target) => {
      const { scope, session } = await Effect.runPromise(open(target))

      const caller = (until, args, told) =>
        Effect.gen(function* () {
          for (let now = performance.now(); now < until; ) {
            const { content } = yield* session.callTool("echo", args)
            const then = now
            now = performance.now()
            told(now - then, content)
          }
        })

      return {
        callers: (count, until, args, told) =>
          Effect.runPromise(
            Effect.forEach(Array.from({ length: count }), () => caller(until, args, told), {
              concurrency: count,
              discard: true
            })
          ),
        close: () => Effect.runPromise(Scope.close(scope, Exit.void))
      }
    },
    end: () => Effect.runPromise(Scope.close(all, Exit.void))
  }
}
