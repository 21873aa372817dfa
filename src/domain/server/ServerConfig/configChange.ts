/**
 * Classifies the changes of a server's config, field by field.
 */
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import { type Common, Local, Remote, type ServerConfig } from "./model.js"

/**
 * What a change of a config requires. `settings`: the link stays. `link`: a new link is needed, and the old one serves until
 * then. `identity`: a new link is needed and the old one must not serve any more, because the server is a different one or the
 * supervisor authenticates as someone else.
 *
 * @since 0.1.0
 * @category comparing
 */
export type ConfigChange = "settings" | "link" | "identity"

const commonChanges = {
  enabled: "settings",
  required: "settings",
  lazy: "settings",
  exclusive: "settings",
  protocol: "link",
  replace: "settings",
  concurrency: "settings",
  catalogTtl: "settings",
  listBudget: "settings",
  timeout: "settings",
  health: "settings",
  restart: "settings",
  idleStop: "settings",
  tools: "settings",
  roots: "settings",
  secrets: "settings"
} as const satisfies Record<keyof Common, ConfigChange>

/** What a change of each field of a local server requires. A field that is missing here does not compile. */
export const localChanges = {
  _tag: "identity",
  command: "link",
  args: "link",
  environment: "link",
  inheritEnv: "link",
  cwd: "link",
  ...commonChanges
} as const satisfies Record<keyof Local, ConfigChange>

/** What a change of each field of a remote server requires. A field that is missing here does not compile. */
export const remoteChanges = {
  _tag: "identity",
  transport: "link",
  url: "identity",
  headers: "identity",
  oauth: "identity",
  privateNetwork: "link",
  caFile: "link",
  ...commonChanges
} as const satisfies Record<keyof Remote, ConfigChange>

/**
 * Returns the largest change between two configs, or `none` if they are equal.
 *
 * @since 0.1.0
 * @category comparing
 */
export const compare = (before: ServerConfig, after: ServerConfig): "none" | ConfigChange => {
  if (before._tag === "Local" && after._tag === "Local") return largestChange(localEquivalences, before, after)
  if (before._tag === "Remote" && after._tag === "Remote") return largestChange(remoteEquivalences, before, after)
  return "identity"
}

type Equivalences<A> = ReadonlyArray<readonly [ConfigChange, (before: A, after: A) => boolean]>

const equivalences = <A>(
  fields: Readonly<Record<string, Schema.Struct.Field>>,
  changes: Readonly<Record<string, ConfigChange>>
): Equivalences<A> =>
  (["identity", "link", "settings"] as const).map((change) => {
    const changed = Record.filter(fields, (_, name) => changes[name] === change)
    return [change, Schema.equivalence(Schema.Struct(changed)) as (before: unknown, after: unknown) => boolean]
  })

const largestChange = <A>(equivalences: Equivalences<A>, before: A, after: A) =>
  equivalences.find(([, areEqual]) => !areEqual(before, after))?.[0] ?? "none"

const localEquivalences = equivalences<Local>(Local.fields, localChanges)

const remoteEquivalences = equivalences<Remote>(Remote.fields, remoteChanges)

/** The fields of a config that decide about its link: a change of any of them opens a new one. */
export const linkFields = (config: ServerConfig): Readonly<Record<string, unknown>> => {
  const changes: Readonly<Record<string, ConfigChange>> = config._tag === "Local" ? localChanges : remoteChanges
  const fields: Readonly<Record<string, unknown>> = config
  return Record.filter(fields, (_, name) => changes[name] !== "settings")
}
