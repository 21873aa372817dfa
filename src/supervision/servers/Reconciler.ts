/**
 * Compares a decoded config with the running servers. Returns data; `Configuration` applies it.
 */
import * as Schema from "effect/Schema"
import { Diagnostic } from "../../domain/Diagnostic.js"
import * as Lifecycle from "../../domain/server/Lifecycle.js"
import type { Plan } from "../../domain/server/Plan.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import type { DecodedConfig } from "./decodeConfig.js"
import type { Definition } from "./Definition.js"

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
    readonly change: ServerConfig.ConfigChange
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
export const compare = (running: ReadonlyMap<string, Definition>, config: DecodedConfig): Changes => {
  // An untrusted entry does not take the name of a server that was added at run time.
  const yieldsToDynamicServer = (definition: Definition) =>
    !isTrusted(definition) && running.get(definition.name)?.origin === "dynamic"
  const configured = [...config.definitions.values()].filter((definition) => !yieldsToDynamicServer(definition))
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
      .filter(({ before, change, definition }) => change === "none" && !hasSameDiagnostics(before, definition))
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

const hasSameDiagnostics = (before: Definition, after: Definition): boolean =>
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
