/**
 * A program that logs in and out and in again, meets everything that goes wrong, and shows all it can show of itself: on stdout
 * what it publishes and returns, on stderr what it logs. Arguments: the state directory, the server, a free port, and the
 * secret of a client.
 */
import { inspect } from "node:util"
import { Cause, Context, Effect, Exit, Layer, Logger, LogLevel, Option, Stream, Tracer } from "effect"
import * as McpAuth from "../../../src/auth/McpAuth.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"

const [, , stateDir = "", url = "", port = "", clientSecret = ""] = process.argv

const show = (what: string, value: unknown) =>
  Effect.sync(() => {
    const text = [inspect(value, { depth: 20 }), String(value), JSON.stringify(value) ?? ""].join("\n")
    process.stdout.write(`${what}: ${text}\n`)
  })

/** Everything that a trace would hold. */
const tracer = Tracer.make({
  span: (name, parent, context, links, startTime, kind) => {
    const attributes = new Map<string, unknown>()
    process.stdout.write(`span ${name}\n`)
    return {
      _tag: "Span",
      name,
      spanId: "span",
      traceId: "trace",
      parent,
      context,
      links,
      kind,
      sampled: true,
      attributes,
      status: { _tag: "Started", startTime },
      attribute: (key, value) => void process.stdout.write(`span ${name} ${key}=${String(value)}\n`),
      event: (event, _, attributes) =>
        void process.stdout.write(`span ${name} ${event} ${JSON.stringify(attributes)}\n`),
      addLinks: () => {},
      // what came of it is told of failures only
      end: (_, exit) =>
        void (Exit.isFailure(exit) && process.stdout.write(`span ${name} ${inspect(exit, { depth: 20 })}\n`))
    }
  },
  context: (run) => run()
})

const attempt = <A, E>(what: string, effect: Effect.Effect<A, E>) =>
  Effect.flatMap(Effect.sandbox(effect).pipe(Effect.either), (outcome) =>
    Effect.zipRight(show(what, outcome), outcome._tag === "Left" ? show(what, Cause.pretty(outcome.left)) : Effect.void)
  )

/** The person, who goes where he is told to, and tells everybody what he sees there. */
const openUrl = (url: string) =>
  Effect.flatMap(
    Effect.promise(() => fetch(url).then((answer) => answer.text())),
    (text) => show("a page", text)
  )

const program = Effect.gen(function* () {
  const oauth = { callbackPort: Number(port), clientId: "configured", clientSecret }
  const servers = { it: { url, oauth, restart: { base: 10, cap: 20 } } }
  const context = yield* Layer.build(McpSupervisor.layerNode({ stateDir, servers, openUrl }))
  const supervisor = Context.get(context, McpSupervisor.McpSupervisor)
  const auth = Context.get(context, McpAuth.McpAuth)
  const call = (tool: string) => supervisor.callTool(tool, {}, { waitForReady: "500 millis" })
  const control = (what: string) =>
    Effect.promise(() => fetch(new URL(`/control/${what}`, url)).then((it) => it.text()))
  yield* supervisor.awaitSettled()
  yield* attempt(
    "a login that the authorization server makes fun of",
    Effect.zipRight(control("echo"), auth.login("it"))
  )
  yield* control("well")
  yield* attempt("a login", auth.login("it"))
  yield* attempt("a call", call("it_echo"))
  yield* attempt("a call that is refused with our own words", call("it_admin"))
  yield* control("expire")
  yield* attempt("a call that needs a refresh", call("it_echo"))
  yield* Effect.zipRight(control("echo"), control("expire"))
  yield* attempt("a call while that is made fun of", call("it_echo"))
  yield* control("well")
  yield* attempt("connect", supervisor.connect("it"))
  yield* attempt("another login", auth.login("it"))
  yield* attempt("a login that is only begun", Effect.asVoid(auth.startLogin("it")))
  yield* attempt("a wrong answer", auth.finishLogin("it", "http://127.0.0.1/?code=x&state=y"))
  yield* attempt("status", auth.status("it"))
  yield* attempt("servers", supervisor.servers)
  yield* attempt("catalog", supervisor.catalog)
  yield* attempt("logs", Stream.runCollect(Stream.interruptAfter(supervisor.logs("it"), "200 millis")))
  yield* attempt("events", Stream.runCollect(Stream.interruptAfter(supervisor.eventsFrom(1), "200 millis")))
  yield* show("the supervisor", supervisor)
  yield* show("the logins", auth)
  yield* show("everything", Context.getOption(context, McpAuth.McpAuth).pipe(Option.isSome))
  yield* attempt("logout", auth.logout("it"))
  yield* attempt("status", auth.status("it"))
  yield* attempt("a login after it", auth.login("it"))
  yield* attempt("changes", Stream.runCollect(Stream.interruptAfter(supervisor.changes, "200 millis")))
  yield* attempt("catalog changes", Stream.runCollect(Stream.interruptAfter(supervisor.catalogChanges, "200 millis")))
  yield* attempt("a resource", Effect.timeout(supervisor.readResource("it", "it://nothing"), "1 second"))
  yield* attempt("a plan", supervisor.plan({ servers: { it: { ...servers.it, timeout: 1000 } } }))
  yield* attempt("all events", Stream.runCollect(Stream.interruptAfter(supervisor.eventsFrom(1), "200 millis")))
}).pipe(Effect.scoped, Effect.withTracer(tracer))

const logger = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.prettyLogger({ colors: false })))
await Effect.runPromise(
  program.pipe(Effect.provide(Layer.merge(logger, Logger.minimumLogLevel(LogLevel.All))), Effect.ignoreLogged)
)
process.stdout.write("done\n")
process.exit(0)
