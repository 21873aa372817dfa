/**
 * Implements `Session` for a fake server.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Session from "../../connection/Session.js"
import type { Diagnostic } from "../../domain/Diagnostic.js"
import * as Errors from "../../domain/Errors.js"
import type * as Listing from "../../domain/catalog/Listing.js"
import * as Protocol from "../../domain/catalog/Protocol.js"
import { exchange } from "./fakeExchange.js"
import type { Fact } from "./journal.js"
import { background, change, type FakeLink, refusal, resolve } from "./link.js"
import type { Answers, Call, List, PromptInput, ResourceInput, ResourceTemplateInput, ToolInput } from "./model.js"
import { subscribe } from "./subscribe.js"

type ListName = Extract<Fact, { readonly type: "listed" }>["list"]

/** The result of the handshake, from the current description of the server. */
export const infoOf = (link: FakeLink): Session.Info => {
  const { config, server } = link.options
  const { completes, info, prompts, resources, resourceTemplates, tools } = link.settings
  const remote = config._tag === "Remote" && config.transport === "sse" ? "sse" : "streamable-http"
  return {
    transport: config._tag === "Local" ? "stdio" : remote,
    era: "legacy",
    protocolVersion: Protocol.legacyRevisions[0],
    serverInfo: { name: server, version: "1.0.0" },
    capabilities: {
      logging: {},
      ...(tools !== undefined && { tools: { listChanged: true } }),
      ...((resources ?? resourceTemplates) !== undefined && { resources: { subscribe: true, listChanged: true } }),
      ...(prompts !== undefined && { prompts: { listChanged: true } }),
      ...(completes !== undefined && { completions: {} })
    },
    ...info
  }
}

export const makeSession = (link: FakeLink): Session.Session => {
  const info = infoOf(link)
  const { config, server } = link.options

  const clocks = (options: Session.RequestOptions | undefined) => ({
    idle: Duration.toMillis(options?.idleTimeout ?? config.timeout.call),
    total: Duration.toMillis(options?.totalTimeout ?? config.timeout.total)
  })

  const list = <Input, Item>(
    name: ListName,
    capability: Protocol.ListKind,
    item: (input: Input) => Item
  ): Effect.Effect<Listing.Listing<Item>, Session.RequestError> =>
    Effect.suspend(() => {
      if (info.capabilities[capability] === undefined) return Effect.succeed(toListing([], item))
      const request = exchange<ReadonlyArray<Input> | Listing.Listing<Item>>(link, {
        method: `${name}/list`,
        name: "",
        args: {},
        idle: Number.POSITIVE_INFINITY,
        total: config.timeout.list,
        fact: { type: "listed", list: name },
        // The names of lists and of options are the same.
        answer: (call) => resolve((link.settings[name] as List<Input, Item> | undefined) ?? [], call)
      })
      return Effect.catchIf(
        Effect.map(request, (given) => toListing(given, item)),
        (error) => error._tag === "ProtocolError" && error.code === Protocol.errorCodes.MethodNotFound,
        () => Effect.succeed<Listing.Listing<Item>>({ items: [], diagnostics: [unknownList(name)] })
      )
    })

  const request = <A>(spec: {
    readonly method: string
    readonly name: string
    readonly args?: Readonly<Record<string, unknown>> | undefined
    readonly options?: Session.CallOptions | undefined
    readonly answer: (call: Call<A>) => Effect.Effect<A, Session.RequestError>
    readonly onStart?: (call: Call<A>) => void
    readonly onDone?: (call: Call<A>) => void
  }) => {
    const { options, ...rest } = spec
    return exchange<A>(link, {
      ...rest,
      ...clocks(options),
      args: spec.args ?? {},
      meta: options?.meta,
      onProgress: options?.onProgress
    })
  }

  /** The configured response for this name, or the default one for a listed or an unlisted name. */
  const respondTo = <A>(
    call: Call<A>,
    answers: Answers<A> | undefined,
    listed: boolean,
    usual: A,
    otherwise: Errors.ProtocolError
  ) => {
    if (typeof answers === "function") return resolve(answers, call)
    if (answers !== undefined && Object.hasOwn(answers, call.name)) return resolve(answers[call.name]!, call)
    return listed ? Effect.succeed(usual) : Effect.fail(otherwise)
  }

  const unknown = (what: string, name: string, code: number = Protocol.errorCodes.InvalidParams) =>
    refusal(link, code, `Unknown ${what}: ${name}`)

  return {
    info,
    listTools: list<ToolInput, Listing.ListedTool>("tools", "tools", toTool),
    listResources: list<ResourceInput, Listing.ListedResource>("resources", "resources", toResource),
    listResourceTemplates: list<ResourceTemplateInput, Listing.ListedResourceTemplate>(
      "resourceTemplates",
      "resources",
      toTemplate
    ),
    listPrompts: list<PromptInput, Listing.ListedPrompt>("prompts", "prompts", toPrompt),
    callTool: (name, args, options) =>
      request<Protocol.CallToolResult>({
        method: "tools/call",
        name,
        args,
        options,
        onStart: (call) => link.world.pendingCalls.add(call),
        onDone: (call) => link.world.pendingCalls.delete(call),
        answer: (call) =>
          respondTo(
            call,
            link.settings.calls,
            lists(link.settings.tools, "name", name),
            text(name),
            unknown("tool", name)
          )
      }),
    readResource: (uri, options) =>
      request<Protocol.ReadResourceResult>({
        method: "resources/read",
        name: uri,
        options,
        answer: (call) =>
          respondTo(
            call,
            link.settings.reads,
            lists(link.settings.resources, "uri", uri),
            { contents: [{ uri, text: uri }] },
            unknown("resource", uri, Protocol.errorCodes.ResourceNotFound)
          )
      }),
    getPrompt: (name, args, options) =>
      request<Protocol.GetPromptResult>({
        method: "prompts/get",
        name,
        args,
        options,
        answer: (call) =>
          respondTo(
            call,
            link.settings.gets,
            lists(link.settings.prompts, "name", name),
            { messages: [] },
            unknown("prompt", name)
          )
      }),
    complete: (asked, options) =>
      request<Protocol.CompleteResult>({
        method: "completion/complete",
        name: asked.ref.type === "ref/prompt" ? asked.ref.name : asked.ref.uri,
        args: asked,
        options,
        answer: (call) => {
          const { completes } = link.settings
          if (completes !== undefined) return resolve(completes, call)
          return Effect.fail(refusal(link, Protocol.errorCodes.MethodNotFound, "Method not found: completion/complete"))
        }
      }),
    setLogLevel: (level) =>
      request<void>({
        method: "logging/setLevel",
        name: level,
        answer: () =>
          Effect.sync(() => {
            link.logLevel = level
          })
      }),
    subscribeResource: (uri) => subscribe(link, uri, clocks(undefined)),
    probe: (timeout) => probe(link, server, Duration.toMillis(timeout)),
    notifications: link.notifications.stream,
    logs: link.logs.stream,
    push: Effect.sync(() => link.push),
    output: Effect.sync(() => {
      const { stderr = "", strayLines = 0 } = link.settings.output ?? {}
      return { stderr, strayLines }
    }),
    closed: Deferred.await(link.closed)
  }
}

const probe = (link: FakeLink, server: string, after: number): Effect.Effect<void, Errors.ConnectionError> =>
  Effect.gen(function* () {
    const answered = yield* Deferred.make<void, Errors.ConnectionError>()
    const ended = (reason: Errors.ConnectionError) => Deferred.unsafeDone(answered, Effect.fail(reason))
    yield* change(link, (write) => {
      if (link.stage === "open") {
        link.onEnd.add(ended)
        write({ type: "probed" })
      } else ended(link.reason ?? new Errors.ConnectionClosed({ server }))
    })
    const asked = Effect.suspend(() => link.settings.probe ?? Effect.void)
    const fiber = yield* background(link, Effect.intoDeferred(asked, answered))
    return yield* Deferred.await(answered).pipe(
      Effect.timeoutFail({ duration: after, onTimeout: () => new Errors.HealthCheckFailed({ server, after }) }),
      Effect.ensuring(
        Effect.zipRight(
          Effect.sync(() => link.onEnd.delete(ended)),
          Fiber.interruptFork(fiber)
        )
      )
    )
  })

/** Whether a constant list has this entry. False for a computed list. */
const lists = <Input, Item>(list: List<Input, Item> | undefined, key: "name" | "uri", value: string): boolean => {
  if (list === undefined || typeof list === "function" || Effect.isEffect(list)) return false
  const items: ReadonlyArray<unknown> = "items" in list ? list.items : list
  return items.some((item) => item === value || (item as Readonly<Record<string, unknown>>)[key] === value)
}

const toListing = <Input, Item>(
  given: ReadonlyArray<Input> | Listing.Listing<Item>,
  item: (input: Input) => Item
): Listing.Listing<Item> => ("items" in given ? given : { items: given.map(item), diagnostics: [] })

/** The diagnostic of a list that the server does not know, as a real session has it. */
const unknownList = (name: ListName): Diagnostic => ({
  severity: "warning",
  code: "list_not_there",
  message: `it does not know ${name === "resourceTemplates" ? "resources/templates" : name}/list`
})

const toTool = (input: ToolInput): Listing.ListedTool =>
  typeof input === "string"
    ? { name: input, inputSchema: { type: "object" } }
    : { ...input, inputSchema: input.inputSchema ?? { type: "object" } }

const toResource = (input: ResourceInput): Listing.ListedResource =>
  typeof input === "string" ? { uri: input, name: input } : { ...input, name: input.name ?? input.uri }

const toTemplate = (input: ResourceTemplateInput): Listing.ListedResourceTemplate =>
  typeof input === "string" ? { uriTemplate: input, name: input } : { ...input, name: input.name ?? input.uriTemplate }

const toPrompt = (input: PromptInput): Listing.ListedPrompt =>
  typeof input === "string" ? { name: input, arguments: [] } : { ...input, arguments: input.arguments ?? [] }

/** A result with one text. */
export const text = (text: string): Protocol.CallToolResult => ({ content: [{ type: "text", text }] })
