/**
 * The client the conformance suite starts: `conformanceClient.ts <url>`. It does not know which scenario it is in: it
 * connects, lists everything, uses everything it listed, and leaves. What is right and what is wrong, the suite says.
 */
import { Effect, Either, Option, Predicate, Schema, Stream } from "effect"
import * as Connector from "../../../src/connection/Connector.js"
import type { Session } from "../../../src/connection/Session.js"
import type * as Listing from "../../../src/domain/catalog/Listing.js"
import * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { argumentsFor } from "./conformanceArguments.js"

const handlers: Connector.Handlers = {
  roots: Stream.concat(Stream.make([{ uri: "file:///tmp", name: "tmp" }]), Stream.never),
  elicit: () => Effect.succeed({ action: "accept", content: {} }),
  sample: () =>
    Effect.succeed({
      role: "assistant",
      model: "none",
      stopReason: "endTurn",
      content: { type: "text", text: "an answer" }
    })
}

interface ToolCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** The calls that a scenario asks for. */
const Context = Schema.parseJson(
  Schema.Struct({
    toolCalls: Schema.optional(
      Schema.Array(
        Schema.Struct({ name: Schema.String, arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
      )
    )
  })
)

const toolCallsFor = (tools: ReadonlyArray<Listing.ListedTool>): ReadonlyArray<ToolCall> => {
  const wanted = Option.flatMap(
    Option.fromNullable(process.env.MCP_CONFORMANCE_CONTEXT),
    Schema.decodeUnknownOption(Context)
  ).pipe(Option.flatMapNullable(({ toolCalls }) => toolCalls))
  return Option.getOrElse(wanted, () =>
    tools.map(({ inputSchema, name }) => {
      const args = argumentsFor(inputSchema)
      // a tool that asks for a schema wants one as we got it
      return { name, arguments: Predicate.isRecord(args.schema) ? { ...args, schema: tools[0]?.inputSchema } : args }
    })
  )
}

/** Not everything a scenario offers has to work. */
const tolerant = <A, E extends { readonly message: string }>(what: string, effect: Effect.Effect<A, E>) =>
  Effect.catchAll(effect, (error) => Effect.logWarning(`${what}: ${error.message}`))

const useEverything = (session: Session) =>
  Effect.gen(function* () {
    const tools = yield* session.listTools
    const resources = yield* session.listResources
    yield* session.listResourceTemplates
    const prompts = yield* session.listPrompts
    for (const call of toolCallsFor(tools.items)) {
      yield* tolerant(call.name, session.callTool(call.name, call.arguments))
    }
    for (const { uri } of resources.items) yield* tolerant(uri, session.readResource(uri))
    for (const prompt of prompts.items) {
      const args = Object.fromEntries(prompt.arguments.map(({ name }) => [name, "text"]))
      yield* tolerant(prompt.name, session.getPrompt(prompt.name, args))
    }
  })

const program = Effect.gen(function* () {
  const { config } = yield* ServerConfig.decode("conformance", { url: process.argv.at(-1) })
  const connector = yield* Connector.Connector
  const session = yield* connector.connect({ server: "conformance", config: yield* config, handlers })
  yield* useEverything(session)
}).pipe(Effect.scoped, Effect.provide(Connector.layer()))

const outcome = await Effect.runPromise(Effect.either(program))
if (Either.isLeft(outcome)) throw outcome.left
