import { Effect } from "effect"
import { Content, McpSupervisor } from "mcp-supervisor"

const servers = { greet: { command: "node", args: ["examples/servers/greet.mjs"] } } // any number, local or remote

const program = Effect.gen(function* () {
  const supervisor = yield* McpSupervisor.McpSupervisor
  yield* supervisor.awaitSettled()
  const { content } = yield* supervisor.callTool("greet_greet", { name: "Ada" }) // restarts are handled for you
  console.log(Content.formatContent(content)) // Hello, Ada!
})

await Effect.runPromise(Effect.provide(program, McpSupervisor.layerNode({ servers })))
