// Runs two MCP servers in an Effect program: npm run example
import { Console, Effect, Stream } from "effect"
import { Content, McpSupervisor, ServerEvent } from "mcp-supervisor"

const supervised = McpSupervisor.layerNode({
  servers: {
    greet: { command: "node", args: ["examples/servers/greet.mjs"] },
    todo: { command: "node", args: ["examples/servers/todo.mjs"] }
  }
})

const program = Effect.gen(function* () {
  const supervisor = yield* McpSupervisor.McpSupervisor

  yield* supervisor.awaitSettled({ timeout: "10 seconds" })
  const { tools } = yield* supervisor.catalog
  yield* Console.log(tools.map(({ name }) => name).join(", "))

  const result = yield* supervisor.callTool("greet_greet", { name: "Ada" })
  yield* Console.log(Content.formatContent(result.content))

  // a call to a server that restarts waits until it is connected
  yield* Effect.fork(supervisor.restart("greet"))
  yield* supervisor.callTool("greet_greet", { name: "Bob" })

  // the supervisor keeps the last 10,000 events
  yield* supervisor.eventsFrom(1).pipe(
    Stream.filter(ServerEvent.is("StatusChanged")),
    Stream.filter(({ server }) => server === "greet"),
    Stream.map(({ to }) => to.status),
    Stream.changes,
    Stream.take(4),
    Stream.runForEach((status) => Console.log(`greet is ${status}`))
  )
})

await Effect.runPromise(Effect.provide(program, supervised))
