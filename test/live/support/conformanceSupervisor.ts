/**
 * The client the conformance suite starts, as a supervisor: `conformanceSupervisor.ts <url>`. It lets the server be connected,
 * logs in when that is asked for, lists everything, uses everything it listed, and leaves.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Context, Effect, Layer, Logger, Option, Predicate, Schema } from "effect"
import * as McpAuth from "../../../src/auth/McpAuth.js"
import type * as Errors from "../../../src/domain/Errors.js"
import type * as Protocol from "../../../src/domain/catalog/Protocol.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"
import { argumentsFor } from "./conformanceArguments.js"

const Given = Schema.parseJson(
  Schema.Struct({
    client_id: Schema.optional(Schema.String),
    client_secret: Schema.optional(Schema.String),
    private_key_pem: Schema.optional(Schema.String),
    signing_algorithm: Schema.optional(Schema.String),
    toolCalls: Schema.optional(
      Schema.Array(
        Schema.Struct({ name: Schema.String, arguments: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
      )
    )
  })
)

/** What a scenario gives, as a person would write it into the config. */
const given = Option.getOrElse(
  Option.flatMap(Option.fromNullable(process.env.MCP_CONFORMANCE_CONTEXT), Schema.decodeUnknownOption(Given)),
  (): typeof Given.Type => ({})
)

const isMachine = (process.env.MCP_CONFORMANCE_SCENARIO ?? "").includes("client-credentials")

const defined = <A extends object>(keys: A) =>
  Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined))

/** None of those that the system gives away: it may do so again between the look and the use. */
const freePort = Effect.retry(
  Effect.async<number, Error>((resume) => {
    const port = 20_000 + Math.floor(Math.random() * 10_000)
    const server = createServer()
    server.once("error", (error) => resume(Effect.fail(error)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
  }),
  { times: 20 }
)

const oauthFor = (callbackPort: number) => ({
  callbackPort,
  clientMetadataUrl: "https://conformance-test.local/client-metadata.json",
  ...defined({
    clientId: given.client_id,
    clientSecret: given.client_secret,
    privateKeyPem: given.private_key_pem,
    alg: given.signing_algorithm,
    grant: isMachine ? "client_credentials" : undefined
  })
})

/** The person: follows where the page leads. */
const openUrl = (url: string) => Effect.promise(() => fetch(url).then((answer) => answer.text()))

interface Services {
  readonly supervisor: McpSupervisor.Shape
  readonly auth: McpAuth.AuthShape
}

/** Does something, and logs in as often as that can help. */
const withLogin = <A>(
  { auth }: Services,
  run: Effect.Effect<A, Errors.CallError>
): Effect.Effect<A, { message: string }> =>
  Effect.catchAll(run, (error) => {
    const wantsLogin =
      (error._tag === "AuthRequired" && error.login) ||
      (error._tag === "ServerUnavailable" && error.status.status === "needs_auth")
    return wantsLogin
      ? Effect.zipRight(auth.login("it"), withLogin({ auth } as Services, run))
      : Effect.fail<{ message: string }>(error)
  })

/** Not everything a scenario offers has to work. */
const tolerant = <A>(what: string, effect: Effect.Effect<A, { readonly message: string }>) =>
  Effect.catchAll(effect, ({ message }) => Effect.sync(() => process.stderr.write(`${what}: ${message}\n`)))

const toolCalls = (tools: ReadonlyArray<Protocol.Tool>) =>
  given.toolCalls ??
  tools.map(({ inputSchema, rawName }) => {
    const args = argumentsFor(inputSchema)
    // a tool that asks for a schema wants one as we got it
    return {
      name: rawName,
      arguments: Predicate.isRecord(args.schema) ? { ...args, schema: tools[0]?.inputSchema } : args
    }
  })

const useEverything = (services: Services) =>
  Effect.gen(function* () {
    const { supervisor } = services
    const { prompts, resources, tools } = yield* supervisor.catalog
    for (const { name, arguments: args } of toolCalls(tools)) {
      yield* tolerant(name, withLogin(services, supervisor.callServerTool("it", name, args)))
    }
    for (const { uri } of resources) yield* tolerant(uri, withLogin(services, supervisor.readResource("it", uri)))
    for (const prompt of prompts) {
      const args = Object.fromEntries(prompt.arguments.map(({ name }) => [name, "text"]))
      yield* tolerant(prompt.name, withLogin(services, supervisor.getPrompt("it", prompt.name, args)))
    }
  })

const stateDir = mkdtempSync(join(tmpdir(), "conformance-state-"))

const program = Effect.gen(function* () {
  const context = yield* Layer.build(
    McpSupervisor.layerNode({
      stateDir,
      servers: { it: { url: process.argv.at(-1) ?? "", oauth: oauthFor(yield* freePort) } },
      roots: ["/tmp"],
      onElicit: () => Effect.succeed({ action: "accept", content: {} }),
      onSample: () =>
        Effect.succeed({
          role: "assistant",
          model: "none",
          stopReason: "endTurn",
          content: { type: "text", text: "an answer" }
        }),
      openUrl
    })
  )
  const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
  const auth = Context.get(context, McpAuth.McpAuth)
  const [first] = yield* supervisor.awaitSettled()
  let status = first?.status
  // a server may change its mind about who has to be asked
  for (let logins = 0; status?.status === "needs_auth" && logins < 3; logins += 1) status = yield* auth.login("it")
  if (status?.status !== "connected") return yield* Effect.dieMessage(JSON.stringify(status))
  yield* useEverything({ supervisor, auth })
}).pipe(Effect.scoped, Effect.provide(Logger.remove(Logger.defaultLogger)))

const outcome = await Effect.runPromise(Effect.either(program))
rmSync(stateDir, { recursive: true, force: true })
if (outcome._tag === "Left") throw outcome.left
