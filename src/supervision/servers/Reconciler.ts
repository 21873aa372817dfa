/**
 * Decodes a config and compares it with the running servers. Returns data; `Configuration` applies it.
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

/** A config that is valid as a whole. Single servers may be invalid: their definitions contain the reason. */
export interface Wanted {
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
 * Decodes a config. Fails only for errors that concern all servers. A server with an invalid entry is reported as
 * failed.
 */
export const resolve = (given: Desired): Either.Either<Wanted, InvalidConfig> =>
  Either.map(prepare(given), ({ entries, finish }) => finish(entries.flatMap((define) => define())))

/** Decodes a config like `resolve`, one entry per step, so that other fibers can run in between. */
export const resolveInSteps = (given: Desired): Effect.Effect<Wanted, InvalidConfig> =>
  Effect.flatMap(prepare(given), ({ entries, finish }) =>
    Effect.map(
      Effect.forEach(entries, (define) => Effect.sync(define)),
      (definitions) => finish(definitions.flat())
    )
  )

interface Prepared {
  /** Decodes the entries, in the order of the config. Each takes time. */
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

/** Empty for an entry that only enables or disables a server of a lower layer. */
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

/** Errors of the config as a whole name no server. */
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

/**
 * The difference between the running servers and a config. Every name is in exactly one of `start`, `stop`, `change`
 * and `keep`.
 */
export interface Changes {
  readonly start: ReadonlyArray<Definition>
  readonly stop: ReadonlyArray<string>
  readonly change: ReadonlyArray<{
    readonly definition: Definition
    /** The kind of change, as returned by `ServerConfig.compare`. */
    readonly change: "settings" | "link" | "identity"
  }>
  readonly keep: ReadonlyArray<string>
  /** Servers added at run time whose name the config takes over. They are in `change`, too. */
  readonly taken: ReadonlyArray<string>
  /** Unchanged servers whose origin or diagnostics changed. */
  readonly remarked: ReadonlyArray<Definition>
  /** All configured servers, in the order of the config. */
  readonly configured: ReadonlyArray<Definition>
}

/**
 * Compares the running servers with a config. Servers added at run time stay, unless the config has a server of their
 * name.
 */
export const compare = (running: ReadonlyMap<string, Definition>, wanted: Wanted): Changes => {
  // An untrusted entry does not take the name of a server that was added at run time.
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

/** The servers after the change: those of the config in its order, then those added at run time in theirs. */
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
