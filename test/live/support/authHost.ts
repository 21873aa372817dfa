/**
 * A program with a supervisor of one server. Arguments: the state directory and the server's address. It says its status each
 * time that changes; at each SIGUSR2 it makes ten calls at once, and says what came of them.
 */
import { Context, Effect, Layer, Logger, Stream } from "effect"
import * as McpSupervisor from "../../../src/McpSupervisor.js"

const [, , stateDir = "", url = ""] = process.argv

const say = (what: unknown) => Effect.sync(() => void process.stdout.write(`${JSON.stringify(what)}\n`))

const program = Effect.gen(function* () {
  const servers = { it: { url, oauth: { callbackPort: 1 } } }
  const context = yield* Layer.build(McpSupervisor.layerNode({ stateDir, servers }))
  const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
  const call = Effect.match(supervisor.callTool("it_echo"), { onSuccess: () => "ok", onFailure: ({ _tag }) => _tag })
  const calls = Effect.flatMap(
    Effect.all(
      Array.from({ length: 10 }, () => call),
      { concurrency: 10 }
    ),
    say
  )
  yield* Effect.forkScoped(
    Stream.runForEach(
      Stream.async<void>((emit) => void process.on("SIGUSR2", () => void emit.single(undefined))),
      () => calls
    )
  )
  yield* supervisor.changes.pipe(
    Stream.map(([it]) => it?.status.status),
    Stream.changes,
    Stream.runForEach(say)
  )
}).pipe(Effect.scoped)

await Effect.runPromise(Effect.provide(program, Logger.remove(Logger.defaultLogger)))
