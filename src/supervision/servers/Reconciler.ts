/**
 * From a configuration to what is to run, and from what runs to that: decided here as data, done elsewhere.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { Diagnostic } from "../../domain/Diagnostic.js"
import { InvalidConfig } from "../../domain/Errors.js"
import { describeType, type Issue } from "../../domain/Issue.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { Plan } from "../../domain/server/Plan.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import type * as ToolName from "../../domain/catalog/ToolName.js"
import type { Definition } from "./Definition.js"
import type { Desired } from "../model.js"

/** A configuration that makes sense as a whole. Single servers may still be wrong: their definitions say so. */
export interface Wanted {
  /** In the order of the configuration. */
  readonly definitions: ReadonlyMap<string, Definition>
  /** For servers that are added later. */
  readonly defaults: ServerConfig.Defaults
  readonly tools: ToolName.Globs
  readonly agents: ReadonlyMap<string, ToolName.Globs>
  /** What a person should know about what is not part of one server's entry. */
  readonly diagnostics: ReadonlyArray<Diagnostic>
}

/** Fails for what concerns all servers. A wrong entry costs only its own server, which is then shown as failed. */
export const resolve = (given: Desired): Either.Either<Wanted, InvalidConfig> =>
  Either.map(prepare(given), ({ entries, finish }) => finish(entries.flatMap((define) => define())))

/** The same, entry by entry: others have their turn between two of them. */
export const resolveInSteps = (given: Desired): Effect.Effect<Wanted, InvalidConfig> =>
  Effect.flatMap(prepare(given), ({ entries, finish }) =>
    Effect.map(
      Effect.forEach(entries, (define) => Effect.sync(define)),
      (definitions) => finish(definitions.flat())
    )
  )

interface Prepared {
  /** In the order of the configuration. To look at them takes time. */
  readonly entries: ReadonlyArray<() => ReadonlyArray<Definition>>
  readonly finish: (definitions: ReadonlyArray<Definition>) => Wanted
}

const prepare = (given: Desired): Either.Either<Prepared, InvalidConfig> =>
  Either.gen(function* () {
    const whatever = Object.fromEntries(yield* whole(entriesOf(given, [])))
    const desired: { readonly [Key in keyof Desired]: unknown } = whatever
    if (desired.rejected instanceof InvalidConfig) return yield* Either.left(desired.rejected)
    const { defaults, warnings } = yield* decodeDefaults(desired.defaults)
    const tools = yield* whole(globsOf(desired.tools, ["tools"]))
    const agents = yield* whole(agentsOf(desired.agents))
    const servers = yield* whole(entriesOf(desired.servers, ["servers"]))
    const unreadable = new Map(yield* whole(entriesOf(desired.unreadable, ["unreadable"])))
    const untrusted = yield* whole(namesOf(desired.untrusted, ["untrusted"]))

    const configured = servers
      .filter(([name]) => !unreadable.has(name))
      .map(
        ([name, input]) =>
          () =>
            configuredServer(name, input, defaults, !untrusted.has(name))
      )
    const broken = Array.from(unreadable, ([name, error]) => () => [invalidServer(name, reasonOf(name, error))])
    const remarks = Array.isArray(desired.diagnostics) ? desired.diagnostics.filter(Schema.is(Diagnostic)) : []
    return {
      entries: [...configured, ...broken],
      finish: (definitions) => ({
        definitions: new Map(definitions.map((definition) => [definition.name, definition])),
        defaults,
        tools,
        agents,
        diagnostics: [...warnings, ...remarks]
      })
    }
  })

/** One server that is added while running. Here a wrong entry is an error: somebody waits for the answer. */
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

/** None for an entry that only switches a server of a lower layer. */
const configuredServer = (
  name: string,
  input: unknown,
  defaults: ServerConfig.Defaults,
  trusted: boolean
): ReadonlyArray<Definition> =>
  Either.match(ServerConfig.decode(name, input, defaults), {
    onLeft: (error) => [invalidServer(name, error)],
    onRight: ({ config, warnings }) =>
      Option.toArray(config).map((config) => definitionOf(name, "config", config, warnings, trusted))
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

/** What is wrong with the whole is nobody's in particular. */
const whole = <A>(checked: Checked<A>): Either.Either<A, InvalidConfig> =>
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

/** The own entries of a plain object. Anything else may hold something that its keys do not show. */
const entriesOf = (input: unknown, path: Issue["path"]): Checked<ReadonlyArray<readonly [string, unknown]>> => {
  if (input === undefined) return Either.right([])
  try {
    const plain =
      typeof input === "object" && input !== null && [null, Object.prototype].includes(Object.getPrototypeOf(input))
    return plain ? Either.right(Object.entries(input)) : wrong(path, "an object", foundIn(input))
  } catch {
    // what a getter or a proxy throws may hold what it was to give
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
    // fromEntries takes every name for a key, also those that mean something else in an assignment
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

/** How what runs differs from what is wanted. Every name is in exactly one of `start`, `stop`, `change` and `keep`. */
export interface Changes {
  readonly start: ReadonlyArray<Definition>
  readonly stop: ReadonlyArray<string>
  readonly change: ReadonlyArray<{
    readonly definition: Definition
    /** What it asks for, as `ServerConfig.compare` has it. */
    readonly change: "settings" | "link" | "identity"
  }>
  readonly keep: ReadonlyArray<string>
  /** Servers added while running whose name the configuration takes over. They are in `change`, too. */
  readonly taken: ReadonlyArray<string>
  /** Those that mean the same as before, but of whose entries something else is said now. */
  readonly remarked: ReadonlyArray<Definition>
  /** All that is configured, in its order. */
  readonly configured: ReadonlyArray<Definition>
}

/** Leaves alone what was added while running, unless the configuration has a server of that name. */
export const compare = (running: ReadonlyMap<string, Definition>, wanted: Wanted): Changes => {
  // what nobody has approved of does not take a name from a server that somebody added
  const isMeek = (definition: Definition) =>
    !isTrusted(definition) && running.get(definition.name)?.origin === "dynamic"
  const configured = [...wanted.definitions.values()].filter((definition) => !isMeek(definition))
  const present = configured.flatMap((definition) => {
    const before = running.get(definition.name)
    return before === undefined ? [] : [{ definition, before, change: changeBetween(before, definition) }]
  })
  const names = new Set(configured.map(nameOf))
  const others = [...running.values()].filter(({ name }) => !names.has(name))
  return {
    start: configured.filter(({ name }) => !running.has(name)),
    stop: others.filter(({ origin }) => origin === "config").map(nameOf),
    change: present.flatMap(({ change, definition }) => (change === "none" ? [] : [{ definition, change }])),
    keep: [
      ...present.filter(({ change }) => change === "none").map(({ definition }) => definition.name),
      ...others.filter(({ origin }) => origin === "dynamic").map(nameOf)
    ],
    remarked: present
      .filter(({ before, change, definition }) => change === "none" && !isSaidAlike(before, definition))
      .map(({ definition }) => definition),
    taken: present.filter(({ before }) => before.origin === "dynamic").map(({ definition }) => definition.name),
    configured
  }
}

const nameOf = ({ name }: Definition): string => name

type Difference = ReturnType<typeof ServerConfig.compare>

const changeBetween = (before: Definition, after: Definition): Difference => {
  const difference = differenceOf(before, after)
  return difference === "none" && before.origin !== after.origin ? "settings" : difference
}

const differenceOf = (before: Definition, after: Definition): Difference => {
  if (before.config === undefined && after.config === undefined) {
    return sameSettings(before.settings, after.settings) ? "none" : "settings"
  }
  if (before.config === undefined || after.config === undefined || isTrusted(before) !== isTrusted(after)) {
    return "identity"
  }
  return ServerConfig.compare(before.config, after.config)
}

const isSaidAlike = (before: Definition, after: Definition): boolean =>
  before.origin === after.origin && sameDiagnostics(before.diagnostics, after.diagnostics)

const sameDiagnostics = Schema.equivalence(Schema.Array(Diagnostic))

const isTrusted = ({ settings }: Definition): boolean => settings.disabled !== "trust"

const sameSettings = Schema.equivalence(Lifecycle.Settings)

/** The servers afterwards: those of the configuration in its order, then those added while running in theirs. */
export const apply = (
  running: ReadonlyMap<string, Definition>,
  { configured }: Changes
): ReadonlyMap<string, Definition> => {
  const names = new Set(configured.map(nameOf))
  const added = [...running.values()].filter(({ name, origin }) => origin === "dynamic" && !names.has(name))
  return new Map([...configured, ...added].map((definition) => [definition.name, definition]))
}

export const toPlan = (
  { change, keep, start, stop }: Changes,
  /** Public names of tools, as far as they are known beforehand. */
  tools: { readonly appear: ReadonlyArray<string>; readonly vanish: ReadonlyArray<string> }
): Plan => ({
  start: start.map(nameOf),
  stop,
  restart: change.filter(({ change }) => change !== "settings").map(({ definition }) => definition.name),
  update: change.filter(({ change }) => change === "settings").map(({ definition }) => definition.name),
  keep,
  tools
})
