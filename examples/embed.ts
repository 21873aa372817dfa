// Two MCP servers in an Effect program, kept alive as long as it runs: npm run example
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

  // a tool that is called while its server is away waits until it is back
  yield* Effect.fork(supervisor.restart("greet"))
  yield* supervisor.callTool("greet_greet", { name: "Bob" })

  // everything that happens is an event; the last 10,000 can be read again
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
