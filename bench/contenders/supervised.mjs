// Our supervisor, used as an Effect program uses it: tools by their public names.
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Scope from "effect/Scope"

/** `dist` is where the build is. */
export const make = async (dist) => {
  const { layer, McpSupervisor } = await import(new URL("supervision/Supervisor.js", dist).href).then(async (module) => ({
    ...module,
    ...(await import(new URL("supervision/model.js", dist).href))
  }))
  const connector = await import(new URL("connection/Connector.js", dist).href)
  const all = Effect.runSync(Scope.make())
  const supervised = layer().pipe(
    Layer.provide(connector.layer()),
    Layer.provide(Logger.minimumLogLevel(LogLevel.None))
  )
  const supervisor = Context.get(await Effect.runPromise(Layer.buildWithScope(supervised, all)), McpSupervisor)
  let count = 0

  return {
    open: async (target) => {
      const name = `bench${(count += 1)}`
      await Effect.runPromise(Effect.zipRight(supervisor.add(name, target), supervisor.connect(name)))

      const caller = (until, args, told) =>
        Effect.gen(function* () {
          for (let now = performance.now(); now < until; ) {
            const { content } = yield* supervisor.callTool(`${name}_echo`, args)
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
        close: () => Effect.runPromise(supervisor.remove(name))
      }
    },
    end: () => Effect.runPromise(Scope.close(all, Exit.void))
  }
}
