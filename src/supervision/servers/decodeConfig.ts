/**
 * Decodes a config to the definitions of its servers and the settings for all of them.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Diagnostic } from "../../domain/Diagnostic.js"
import { InvalidConfig } from "../../domain/Errors.js"
import { describeType, type Issue } from "../../domain/Issue.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import type * as ToolName from "../../domain/catalog/ToolName.js"
import type { Definition } from "./Definition.js"
import type { ConfigUpdate, Desired } from "../model.js"

/** A config that is valid as a whole. Single servers may be invalid: their definitions contain the reason. */
export interface DecodedConfig {
  /** In the order of the config. */
  readonly definitions: ReadonlyMap<string, Definition>
  /** Defaults for servers that are added at run time. */
  readonly defaults: ServerConfig.Defaults
  readonly tools: ToolName.Globs
  readonly agents: ReadonlyMap<string, ToolName.Globs>
  /** Diagnostics that concern no single entry. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/**
 * Decodes a config or an update of it. Fails only for errors that concern all servers; a server with an invalid entry becomes a
 * failed one. Decodes one entry per step, so that other fibers can run in between. Programs can pass anything, so the types of
 * all values are checked here, and nowhere else.
 */
export const decode = Effect.fnUntraced(function* (
  update: Desired | ConfigUpdate
): Effect.fn.Return<DecodedConfig, InvalidConfig> {
  const given = Either.isEither(update) ? yield* update : update
  const desired: Desired = Object.fromEntries(yield* invalid(entriesOf(given, [])))
  const { defaults, warnings } = yield* decodeDefaults(desired.defaults)
  const tools = yield* invalid(globsOf(desired.tools, ["tools"]))
  const agents = yield* invalid(agentsOf(desired.agents))
  const servers = yield* invalid(entriesOf(desired.servers, ["servers"]))
  const untrusted = yield* invalid(namesOf(desired.untrusted, ["untrusted"]))
  const unreadable = new Map(yield* invalid(entriesOf(desired.unreadable, ["unreadable"])))
  const diagnostics = Array.isArray(desired.diagnostics) ? desired.diagnostics.filter(Schema.is(Diagnostic)) : []
  const definitions = new Map<string, Definition>()
  yield* Effect.forEach(
    servers.filter(([name]) => !unreadable.has(name)),
    ([name, input]) =>
      Effect.sync(() => {
        const definition = configuredServer(name, input, defaults, !untrusted.has(name))
        if (definition !== undefined) definitions.set(name, definition)
      }),
    { discard: true }
  )
  for (const [name, error] of unreadable) definitions.set(name, invalidServer(name, reasonOf(name, error)))
  return { definitions, defaults, tools, agents, diagnostics: [...warnings, ...diagnostics] }
})

/** Decodes one server that is added at run time. An invalid entry is an error for the caller. */
export const define = (
  name: string,
  input: unknown,
  defaults: ServerConfig.Defaults
): Either.Either<Definition, InvalidConfig> =>
  Either.flatMap(ServerConfig.decode(name, input, defaults), ({ config, warnings }) =>
    Option.match(config, {
      onNone: () => Either.left(new InvalidConfig({ server: name, issues: [onlySwitch] })),
      onSome: (config) => Either.right(definitionOf(name, "dynamic", config, warnings, true))
    })
  )

const onlySwitch: Issue = {
  path: [],
  expected: 'an object with "command" (a local server) or "url" (a remote one)',
  found: "only a switch"
}

const definitionOf = (
  name: string,
  origin: Definition["origin"],
  config: ServerConfig.ServerConfig,
  diagnostics: ReadonlyArray<Diagnostic>,
  trusted: boolean
): Definition => ({
  name,
  origin,
  config,
  settings: ServerConfig.toSettings(name, config, { trusted }),
  diagnostics
})

/** `undefined` for an entry that only enables or disables a server of a lower layer. */
const configuredServer = (
  name: string,
  input: unknown,
  defaults: ServerConfig.Defaults,
  trusted: boolean
): Definition | undefined =>
  Either.match(ServerConfig.decode(name, input, defaults), {
    onLeft: (error) => invalidServer(name, error),
    onRight: ({ config, warnings }) =>
      Option.getOrUndefined(Option.map(config, (config) => definitionOf(name, "config", config, warnings, trusted)))
  })

const reasonOf = (server: string, error: unknown): InvalidConfig =>
  error instanceof InvalidConfig
    ? error
    : new InvalidConfig({ server, issues: [{ path: [], expected: "an entry", found: "one that cannot be read" }] })

const invalidServer = (name: string, error: InvalidConfig): Definition => ({
  name,
  origin: "config",
  config: undefined,
  settings: ServerConfig.toInvalidSettings(name, error),
  diagnostics: []
})

type Checked<A> = Either.Either<A, ReadonlyArray<Issue>>

/** Errors of the config as a whole name no server. */
const invalid = <A>(checked: Checked<A>): Either.Either<A, InvalidConfig> =>
  Either.mapLeft(checked, (issues) => new InvalidConfig({ issues }))

const decodeDefaults = (input: unknown) =>
  ServerConfig.decodeDefaults(input === undefined ? {} : input).pipe(
    Either.mapLeft(
      ({ issues }) =>
        new InvalidConfig({ issues: issues.map((each) => ({ ...each, path: ["defaults", ...each.path] })) })
    )
  )

const wrong = (path: Issue["path"], expected: string, found: string): Checked<never> =>
  Either.left([{ path, expected, found }])

/** The own entries of a plain object. Other objects may have values that their keys do not show. */
const entriesOf = (input: unknown, path: Issue["path"]): Checked<ReadonlyArray<readonly [string, unknown]>> => {
  if (input === undefined) return Either.right([])
  try {
    const plain =
      typeof input === "object" && input !== null && [null, Object.prototype].includes(Object.getPrototypeOf(input))
    return plain ? Either.right(Object.entries(input)) : wrong(path, "an object", foundIn(input))
  } catch {
    // The exception of a getter or a proxy may contain the value, which may be secret.
    return wrong(path, "an object", "one that cannot be read")
  }
}

const foundIn = (input: unknown): string =>
  typeof input === "object" && input !== null && !Array.isArray(input) ? "an object of a class" : describeType(input)

const globsOf = (input: unknown, path: Issue["path"]): Checked<ToolName.Globs> =>
  Either.flatMap(entriesOf(input, path), (entries) => {
    const issues = entries
      .filter(([, offered]) => typeof offered !== "boolean")
      .map(([pattern, offered]) => ({ path: [...path, pattern], expected: "a boolean", found: describeType(offered) }))
    // `fromEntries` defines every key as a property, also `__proto__`, which an assignment would interpret.
    return issues.length === 0 ? Either.right(Object.fromEntries(entries) as ToolName.Globs) : Either.left(issues)
  })

const agentsOf = (input: unknown): Checked<ReadonlyMap<string, ToolName.Globs>> =>
  Either.gen(function* () {
    const agents = new Map<string, ToolName.Globs>()
    for (const [agent, settings] of yield* entriesOf(input, ["agents"])) {
      const path = ["agents", agent]
      if (settings === undefined) return yield* wrong(path, "an object", describeType(settings))
      const tools = (yield* entriesOf(settings, path)).find(([key]) => key === "tools")
      agents.set(agent, yield* globsOf(tools?.[1], [...path, "tools"]))
    }
    return agents
  })

const namesOf = (input: unknown, path: Issue["path"]): Checked<ReadonlySet<unknown>> =>
  input === undefined || Array.isArray(input)
    ? Either.right(new Set(input))
    : wrong(path, "an array of names", describeType(input))
