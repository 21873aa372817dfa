// One server as a scoped value: whatever happens inside the scope, nothing of the server is left after it.
import { Effect, Either, Option } from "effect"
import { Connector, Content, ServerConfig } from "mcp-supervisor"

const entry = { command: "node", args: ["examples/servers/greet.mjs"] }
const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("greet", entry)).config)

const program = Effect.gen(function* () {
  const connector = yield* Connector.Connector
  const session = yield* connector.connect({ server: "greet", config })
  const { era, protocolVersion, serverInfo } = session.info
  console.log(`${serverInfo.name} speaks ${protocolVersion}, the ${era} era`)

  const { items } = yield* session.listTools
  console.log(items.map(({ description, name }) => `${name}: ${description}`))

  const result = yield* session.callTool("greet", { name: "Ada" }, { idleTimeout: "5 seconds" })
  console.log(Content.formatContent(result.content))

  // a server that dies during a call: the caller gets an error at once, with the reason
  process.kill(session.info.pid, "SIGSTOP")
  const lost = yield* Effect.fork(Effect.flip(session.callTool("greet", { name: "Bob" })))
  yield* Effect.yieldNow()
  process.kill(session.info.pid, "SIGKILL")
  const { _tag, cause } = yield* lost
  console.log(_tag, cause._tag, cause.signal)
})

await Effect.runPromise(program.pipe(Effect.scoped, Effect.provide(Connector.layer())))
