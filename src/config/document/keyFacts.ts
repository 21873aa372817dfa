/**
 * Records for each key of an entry what it defines and how its value is shown, and derives the lists of keys.
 */
import type * as Redacted from "effect/Redacted"
import type * as Input from "../../domain/server/ServerConfig/Input.js"
import type { ServerKind } from "../../domain/server/ServerConfig/serverTypes.js"
import type * as Tree from "./Tree.js"

type Local = typeof Input.Local.Encoded
type Remote = typeof Input.Remote.Encoded

/**
 * How `config` and a review show a value. Texts of all kinds but `hidden` and `secret` are shown as far as they are certainly
 * no secret. Booleans are always shown.
 *
 * - `hidden`: only placeholders are shown. The safe choice.
 * - `secret`: hidden, and the text is hidden wherever else it occurs in the entry.
 * - `measure`: a number or a duration.
 * - `word`: one of the words that the schema lists.
 * - `url`: shown without credentials. Before an approval, a person reads it in full, apart from literal secrets.
 * - `path`, `paths`: files and directories of this machine. Relative paths are resolved against the file that sets them. Before
 *   an approval, a person reads them in full. An organisation's document must not contain them.
 * - `program`, `arguments`: the command line.
 */
export type ShownAs = "hidden" | "secret" | "measure" | "word" | "url" | "path" | "paths" | "program" | "arguments"

/** Paths and words of the command are found by the key of the entry. */
type FieldShown = Exclude<ShownAs, "path" | "paths" | "program" | "arguments">

/**
 * What a key defines.
 *
 * - `local`, `remote`: what runs, where it runs or which values it gets, for one kind of server. The key is dropped if a higher
 *   layer makes the server one of the other kind.
 * - `server`: the same for every kind of server.
 * - `treatment`: how the supervisor treats the server.
 *
 * All keys but those of the treatment are the identity of an entry: entries of different projects do not share them.
 */
export type Defines = ServerKind | "server" | "treatment"

type DefinesOf<K> = K extends keyof Local ? (K extends keyof Remote ? Defines : "local") : "remote"

type ValueOf<T, K> = K extends keyof T ? T[K] : never

/** The keys of the objects among the values, except objects with any keys, such as `environment`. */
type FieldsOf<V> = V extends ReadonlyArray<unknown> | Redacted.Redacted<unknown>
  ? never
  : V extends object
    ? string extends keyof V
      ? never
      : keyof V
    : never

interface Facts<D extends Defines, F extends PropertyKey> {
  readonly defines: D
  readonly shown: ShownAs
  /** How the values of an object are shown, by their keys. */
  readonly fields: { readonly [K in F]: FieldShown }
}

type FactsOf<K> = [FieldsOf<ValueOf<Local, K> | ValueOf<Remote, K>>] extends [never]
  ? Omit<Facts<DefinesOf<K>, never>, "fields">
  : Facts<DefinesOf<K>, FieldsOf<ValueOf<Local, K> | ValueOf<Remote, K>>>

/** A key of the schema that is missing here does not compile, nor does a key that the schema does not have. */
const keyFacts = {
  type: { defines: "server", shown: "word" },

  command: { defines: "local", shown: "program" },
  args: { defines: "local", shown: "arguments" },
  environment: { defines: "local", shown: "secret" },
  env: { defines: "local", shown: "secret" },
  cwd: { defines: "local", shown: "path" },
  inheritEnv: { defines: "local", shown: "hidden" },

  url: { defines: "remote", shown: "url" },
  headers: { defines: "remote", shown: "secret" },
  oauth: {
    defines: "remote",
    shown: "hidden",
    fields: {
      clientId: "hidden",
      clientSecret: "secret",
      scope: "hidden",
      redirectUri: "url",
      callbackPort: "measure",
      clientMetadataUrl: "url",
      authorizationUrl: "url",
      tokenUrl: "url",
      issuer: "url",
      assumePkce: "hidden",
      grant: "word",
      privateKeyPem: "secret",
      alg: "word"
    }
  },
  caFile: { defines: "remote", shown: "path" },
  privateNetwork: { defines: "remote", shown: "hidden" },

  roots: { defines: "server", shown: "paths" },
  secrets: { defines: "server", shown: "secret" },

  timeout: {
    defines: "treatment",
    shown: "measure",
    fields: { connect: "measure", list: "measure", call: "measure", total: "measure" }
  },
  restart: {
    defines: "treatment",
    shown: "hidden",
    fields: {
      base: "measure",
      factor: "measure",
      cap: "measure",
      stableAfter: "measure",
      maxRestarts: "measure",
      window: "measure",
      cooldown: "measure"
    }
  },
  health: { defines: "treatment", shown: "hidden", fields: { interval: "measure", timeout: "measure" } },
  protocol: { defines: "treatment", shown: "word" },
  lazy: { defines: "treatment", shown: "hidden" },
  idleStop: { defines: "treatment", shown: "measure" },
  concurrency: { defines: "treatment", shown: "measure" },
  replace: { defines: "treatment", shown: "word" },
  catalogTtl: { defines: "treatment", shown: "measure" },
  listBudget: { defines: "treatment", shown: "measure" },
  enabled: { defines: "treatment", shown: "hidden" },
  disabled: { defines: "treatment", shown: "hidden" },
  required: { defines: "treatment", shown: "hidden" },
  exclusive: { defines: "treatment", shown: "hidden" },
  tools: { defines: "treatment", shown: "hidden" }
} as const satisfies { readonly [K in keyof Local | keyof Remote]-?: FactsOf<K> }

type AnyFacts = Omit<Facts<Defines, never>, "fields"> & { readonly fields?: Readonly<Record<string, ShownAs>> }

const facts: ReadonlyMap<string, AnyFacts> = new Map(Object.entries<AnyFacts>(keyFacts))

const keysThatDefine = (what: Defines): ReadonlyArray<string> =>
  Array.from(facts).flatMap(([key, { defines }]) => (defines === what ? [key] : []))

/** Keys that only one kind of server has. */
export const ownKeys: Readonly<Record<ServerKind, ReadonlyArray<string>>> = {
  local: keysThatDefine("local"),
  remote: keysThatDefine("remote")
}

/** Keys that define a server and its inputs. All others define how it is treated. */
export const identityKeys: ReadonlySet<string> = new Set([
  ...keysThatDefine("server"),
  ...ownKeys.local,
  ...ownKeys.remote
])

/** How the value of each key is shown, and of each key of an object in it. */
export const shownValues: ReadonlyArray<readonly [path: ReadonlyArray<string>, shown: ShownAs]> = Array.from(
  facts
).flatMap(([key, { fields = {}, shown }]) => [
  [[key], shown] as const,
  ...Object.entries(fields).map(([field, shown]) => [[key, field], shown] as const)
])

/** The paths of all values that are shown in one way. */
export const pathsShownAs = (how: ShownAs): ReadonlyArray<ReadonlyArray<string>> =>
  shownValues.flatMap(([path, shown]) => (shown === how ? [path] : []))

/** Keys that name files or directories of this machine. */
export const pathKeys: ReadonlyArray<string> = [...pathsShownAs("path"), ...pathsShownAs("paths")].flat()

/** Returns how a value of an entry is shown: `hidden` where the schema has no such value. */
export const shownAt = ([key, step, ...deeper]: Tree.Path): ShownAs => {
  const isItem = typeof step === "number"
  const fits = ([path]: (typeof shownValues)[number]) => path[0] === key && (isItem || path[1] === step)
  const shown = shownValues.find(fits)?.[1] ?? "hidden"
  const isList = shown === "arguments" || shown === "paths"
  return deeper.length === 0 && isItem === isList ? shown : "hidden"
}
