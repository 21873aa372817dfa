/**
 * Implements tool calls, reads, prompts and completions. Finds the server, checks the arguments, and passes the request on to
 * `request`.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { RequestError } from "../../connection/Session.js"
import * as Catalog from "../../domain/catalog/Catalog.js"
import * as Errors from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import { nearest } from "../../domain/internal/nearest.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import * as ToolName from "../../domain/catalog/ToolName.js"
import * as ArgumentCheck from "./ArgumentCheck.js"
import { type SupervisorContext, monotonic } from "../SupervisorContext.js"
import type { Link } from "../actor/Link.js"
import type { CallOptions, Shape } from "../model.js"
import { type Ask, awaitLink, request } from "./request.js"
import type { ServerRegistry } from "../servers/ServerRegistry.js"
import { scrubName } from "../scrubName.js"
import type { ServerActor } from "../actor/ServerActor.js"
import { type Trace, traced } from "./trace.js"

export type Calls = Pick<Shape, "callTool" | "callServerTool" | "readResource" | "getPrompt" | "complete">

type Arguments = Readonly<Record<string, unknown>>

/** The target of a tool call. */
interface CallTarget {
  readonly server: string
  /** Absent if the server has not listed its tools yet. */
  readonly tool: Protocol.Tool | undefined
  readonly rawName: string
}

export const make = (
  context: SupervisorContext,
  registry: ServerRegistry,
  actorOf: (name: string) => Effect.Effect<ServerActor | undefined>,
  isClosed: () => boolean
): Calls => {
  const now = () => monotonic(context.clock)

  /** The timeouts of a call, from its options and the server's current config. */
  const limits = (actor: ServerActor, options: CallOptions | undefined, started = now()) => {
    const timeout = actor.definition().config?.timeout
    const millis = (input: Duration.DurationInput | undefined, otherwise: number) =>
      input === undefined ? otherwise : Duration.toMillis(input)
    return {
      started,
      idle: millis(options?.idleTimeout, timeout?.call ?? 0),
      total: millis(options?.totalTimeout, timeout?.total ?? 0),
      waitForReady: millis(options?.waitForReady, defaultWait)
    }
  }

  const find = (name: string): Effect.Effect<ServerActor, Errors.ServerNotFound | Errors.SupervisorClosed> => {
    const actor = registry.get(name)
    if (actor !== undefined) return Effect.succeed(actor)
    return Effect.flatMap(actorOf(name), (actor) =>
      actor !== undefined
        ? Effect.succeed(actor)
        : Effect.fail(isClosed() ? new Errors.SupervisorClosed() : registry.notFound(name))
    )
  }

  // --- tools --------------------------------------------------------------------------------------------------------

  const toolNotFound = (tool: string, agent: string | undefined, actor?: ServerActor) => {
    const { revision, tools } = registry.catalog.forAgent(agent)
    const names =
      actor === undefined
        ? tools.map(({ name }) => name)
        : tools.filter(({ server }) => server === actor.name).map(({ rawName }) => rawName)
    return new Errors.ToolNotFound({ tool, server: actor?.name, revision, nearest: nearest(tool, names) })
  }

  const invalid = (actor: ServerActor, tool: Protocol.Tool, args: Arguments): Errors.InvalidArguments | undefined => {
    const check = ArgumentCheck.forSchema(tool.inputSchema)
    if (check._tag === "Unusable") {
      actor.diagnose({
        severity: "warning",
        code: "schema_not_checked",
        message: `arguments of ${tool.rawName} are sent unchecked, its input schema cannot be used: ${check.reason}`,
        subject: tool.rawName
      })
      return undefined
    }
    const issues = check.issuesOf(args)
    if (!isNonEmpty(issues)) return undefined
    return new Errors.InvalidArguments({ server: actor.name, subject: tool.rawName, issues })
  }

  const invoke = (
    trace: Trace,
    actor: ServerActor,
    { rawName, tool: known }: CallTarget,
    args: Arguments,
    options: CallOptions | undefined,
    started: number
  ): Effect.Effect<Protocol.CallToolResult, Errors.CallError> =>
    Effect.suspend(() => {
      trace.attribute("mcp.server", actor.name)
      const clocks = limits(actor, options, started)
      let tool = known
      const early = known === undefined ? undefined : invalid(actor, known, args)
      /** Checks again before sending: the server may list other tools after a reconnect. */
      const refusal = () => {
        const current = Catalog.find(registry.catalog.forAgent(options?.agent), actor.name, rawName)
        if (current === undefined) return toolNotFound(rawName, options?.agent, actor)
        if (current === tool) return undefined
        tool = current
        return invalid(actor, current, args)
      }
      const ask: Ask<Protocol.CallToolResult, Errors.CallError> = {
        started: clocks.started,
        total: clocks.total,
        waitForReady: clocks.waitForReady,
        refusal,
        isSafe: () => options?.replay !== "never" && Protocol.isSafeToRepeat(tool?.annotations),
        isRepeatable: options?.replay !== "never",
        send: (link, remaining) =>
          Effect.suspend(() => {
            trace.attribute("mcp.attempt", link.generation)
            return link.session.callTool(rawName, args, {
              idleTimeout: clocks.idle,
              totalTimeout: remaining,
              onProgress: options?.onProgress,
              meta: trace.meta()
            })
          })
      }
      return Effect.onExit(early === undefined ? request(context, actor, ask) : Effect.fail(early), (exit) =>
        Effect.sync(() => {
          const outcome = outcomeOf(exit)
          const ms = Math.round(now() - clocks.started)
          actor.metrics.settled(outcome, ms)
          const tool = scrubName(actor.definition().config, rawName)
          context.events.publish({ type: "CallSettled", server: actor.name, tool, outcome, ms })
        })
      )
    })

  /**
   * Returns server and tool of a public name. If a server has never listed its tools, the tool is derived from the
   * name.
   */
  const resolve = (name: string, agent: string | undefined): Option.Option<CallTarget> => {
    const tool = Option.orElse(Catalog.get(registry.catalog.forAgent(agent), name), () =>
      Catalog.get(registry.catalog.lastKnown(agent), name)
    )
    if (Option.isSome(tool)) {
      const { rawName, server } = tool.value
      return Option.some({ server, tool: tool.value, rawName })
    }
    const server = ToolName.beginnings(name).find(
      (server) => isUntold(server) && registry.toolName({ server, tool: name.slice(server.length + 1) }) === name
    )
    return server === undefined
      ? Option.none()
      : Option.some({ server, tool: undefined, rawName: name.slice(server.length + 1) })
  }

  /** Whether the server exists and has never listed its tools. */
  const isUntold = (server: string) =>
    registry.inactive(server) !== undefined || (registry.get(server) !== undefined && !hasTold(registry.get(server)!))

  const hasTold = (actor: ServerActor) => actor.known() !== undefined

  /** Waits for the servers that may have the tool: a public name with a hash does not contain the tool's name. */
  const ask = (name: string, options: CallOptions | undefined, started: number): Effect.Effect<void> =>
    Effect.forEach(
      Array.from(registry.actors()).filter((actor) => !hasTold(actor) && ToolName.mayBelongTo(name, actor.name)),
      (actor) => Effect.ignore(awaitLink(context, actor, 0, limits(actor, options, started))),
      { concurrency: "unbounded", discard: true }
    )

  // --- the rest -----------------------------------------------------------------------------------------------------

  const read = <A>(
    server: string,
    refusal: () => Errors.InvalidArguments | undefined,
    send: (
      link: Link,
      clocks: { readonly idleTimeout: number; readonly totalTimeout: number }
    ) => Effect.Effect<A, RequestError>
  ): Effect.Effect<A, Errors.ReadError> =>
    Effect.flatMap(find(server), (actor) => {
      const clocks = limits(actor, undefined)
      return request<A, Errors.ReadError>(context, actor, {
        ...clocks,
        refusal,
        isSafe: () => true,
        isRepeatable: true,
        send: (link, totalTimeout) => send(link, { idleTimeout: clocks.idle, totalTimeout })
      })
    })

  return {
    callTool: (name, args = {}, options) =>
      traced("McpSupervisor.callTool", { "mcp.tool": name }, (trace) => {
        const started = now()
        const search = () => resolve(name, options?.agent)
        const call = (found: CallTarget) =>
          Effect.flatMap(find(found.server), (actor) => invoke(trace, actor, found, args, options, started))
        const notFound = () => (isClosed() ? new Errors.SupervisorClosed() : toolNotFound(name, options?.agent))
        return Option.match(search(), {
          onSome: call,
          onNone: () =>
            Effect.flatMap(ask(name, options, started), () =>
              Option.match(search(), { onSome: call, onNone: () => Effect.fail(notFound()) })
            )
        })
      }),

    callServerTool: (server, tool, args = {}, options) =>
      traced("McpSupervisor.callServerTool", { "mcp.server": server, "mcp.tool": tool }, (trace) =>
        Effect.flatMap(find(server), (actor) => {
          const known = Catalog.find(registry.catalog.forAgent(options?.agent), server, tool)
          const hasListed = actor.source() !== undefined
          if (known === undefined && hasListed) return Effect.fail(toolNotFound(tool, options?.agent, actor))
          return invoke(trace, actor, { server, tool: known, rawName: tool }, args, options, now())
        })
      ),

    readResource: (server, uri) =>
      traced("McpSupervisor.readResource", { "mcp.server": server }, () =>
        read(server, anyway, (link, clocks) => link.session.readResource(uri, clocks))
      ),

    getPrompt: (server, name, args = {}) =>
      traced("McpSupervisor.getPrompt", { "mcp.server": server }, () => {
        /** Checks the arguments with the current listing, and again once the server has listed its prompts. */
        const refusal = () => {
          const { prompts } = registry.catalog.current.get()
          const prompt = prompts.find((prompt) => prompt.server === server && prompt.name === name)
          const issues = (prompt?.arguments ?? [])
            .filter((argument) => argument.required === true && !Object.hasOwn(args, argument.name))
            .map((argument): Issue => ({ path: [argument.name], expected: "a string", found: "nothing" }))
          return isNonEmpty(issues) ? new Errors.InvalidArguments({ server, subject: name, issues }) : undefined
        }
        const early = refusal()
        if (early !== undefined) return Effect.fail(early)
        return read(server, refusal, (link, clocks) => link.session.getPrompt(name, args, clocks))
      }),

    complete: (server, asked) =>
      traced("McpSupervisor.complete", { "mcp.server": server }, () =>
        read(server, anyway, (link, clocks) => link.session.complete(asked, clocks))
      )
  }
}

/** Milliseconds. */
const defaultWait = 10_000

/** For requests without a check. */
const anyway = () => undefined

const isNonEmpty = <A>(values: ReadonlyArray<A>): values is readonly [A, ...Array<A>] => values.length > 0

const outcomeOf = (exit: Exit.Exit<Protocol.CallToolResult, Errors.CallError>): string =>
  Exit.match(exit, {
    onSuccess: ({ isError }) => (isError === true ? "error" : "ok"),
    onFailure: (cause) =>
      Option.match(Cause.failureOption(cause), {
        onNone: () => (Cause.isInterruptedOnly(cause) ? "interrupted" : "fault"),
        onSome: ({ _tag }) => _tag
      })
  })
