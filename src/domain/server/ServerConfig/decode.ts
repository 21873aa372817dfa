/**
 * Decodes one server's entry to a `ServerConfig`, with errors and warnings that name the place.
 */
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Diagnostic } from "../../Diagnostic.js"
import { defined } from "../../internal/defined.js"
import { InvalidConfig } from "../../Errors/commandErrors.js"
import { describeType, type Issue, renderPath } from "../../Issue.js"
import { looksLikeName } from "../../internal/looksLikeName.js"
import { nearest } from "../../internal/nearest.js"
import { findingsOf } from "../../internal/parseIssues.js"
import * as ServerName from "../ServerName.js"
import * as Input from "./Input.js"
import { plain } from "./plain.js"
import type { ServerConfig } from "./model.js"
import { toLocal, toRemote } from "./normalise.js"
import { type ServerKind, kindOfType, typeNames } from "./serverTypes.js"

/** A decoded entry and its warnings. */
export interface Decoded {
  /** None for an entry that only enables or disables a server of a lower layer. */
  readonly config: Option.Option<ServerConfig>
  readonly warnings: ReadonlyArray<Diagnostic>
}

type DecodedDefaults = typeof Input.Defaults.Type

/**
 * Decodes one server's entry. Unknown keys are warnings. Any other mistake is an error that names each place and what is
 * expected there, never the value.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decode = (
  server: string,
  input: unknown,
  /** Settings for keys that the entry omits. */
  defaults: DecodedDefaults = {}
): Either.Either<Decoded, InvalidConfig> =>
  Either.map(check(server, input), ({ config, warnings }) => ({
    config: Option.map(config, (build) => build(defaults)),
    warnings
  }))

/** A valid entry, with a function that builds its config. */
export interface Checked {
  /** None for an entry that only enables or disables a server of a lower layer. */
  readonly config: Option.Option<(defaults: DecodedDefaults) => ServerConfig>
  readonly warnings: ReadonlyArray<Diagnostic>
}

/** Checks an entry without building its config: faster than {@link decode} for hundreds of entries. */
export const check = (server: string, input: unknown): Either.Either<Checked, InvalidConfig> => {
  const found = ServerName.impossible(server)
  if (found !== undefined) return invalid(server, [{ path: [], expected: "a server name", found }])
  return plain(input).pipe(
    Either.mapLeft((issues) => new InvalidConfig({ server, issues: issues.map(withoutValues) })),
    Either.flatMap((entry) => checkPlain(server, entry))
  )
}

const invalid = (server: string, issues: ReadonlyArray<Issue>) => Either.left(new InvalidConfig({ server, issues }))

const checkPlain = (server: string, input: unknown): Either.Either<Checked, InvalidConfig> => {
  if (Input.isSwitch(input)) {
    return Either.map(parse(server, Input.Switch, input), ({ warnings }) => ({ config: Option.none(), warnings }))
  }
  switch (kindOf(input)) {
    case "local":
      return Either.flatMap(parse(server, Input.Local, input), ({ value, warnings }) => {
        const issues = [...variableIssues("env", value.env), ...variableIssues("environment", value.environment)]
        const config = Option.some((defaults: DecodedDefaults) => toLocal(value, defaults))
        return issues.length === 0
          ? Either.right({ config, warnings: [...warnings, ...localWarnings(value)] })
          : invalid(server, issues)
      })
    case "remote":
      return Either.flatMap(parse(server, Input.Remote, input), ({ value, warnings }) => {
        const issues = headerIssues(value.headers)
        const config = Option.some((defaults: DecodedDefaults) => toRemote(value, defaults))
        return issues.length === 0 ? Either.right({ config, warnings }) : invalid(server, issues)
      })
    case "type":
      return invalid(server, [wrongType((input as { readonly type: unknown }).type)])
    case "both":
      return invalid(server, [
        {
          path: [],
          expected: '"command" (a local server) or "url" (a remote one)',
          found: "both",
          hint: 'remove one, or say which with "type"'
        }
      ])
    case "neither":
      return invalid(server, [
        {
          path: [],
          expected: 'an object with "command" (a local server) or "url" (a remote one)',
          found: Predicate.isRecord(input) ? "neither" : describeType(input),
          ...defined({ hint: misspellingHint("command", keysOf(input)) ?? misspellingHint("url", keysOf(input)) })
        }
      ])
  }
}

/**
 * Decodes the settings for all servers.
 *
 * @since 0.1.0
 * @category decoding
 */
export const decodeDefaults = (
  input: unknown
): Either.Either<{ readonly defaults: DecodedDefaults; readonly warnings: ReadonlyArray<Diagnostic> }, InvalidConfig> =>
  plain(input).pipe(
    Either.mapLeft((issues) => new InvalidConfig({ issues })),
    Either.flatMap((entry) => parse(undefined, Input.Defaults, entry)),
    Either.map(({ value, warnings }) => ({ defaults: value, warnings }))
  )

const kindOf = (input: unknown): ServerKind | "type" | "both" | "neither" => {
  if (!Predicate.isRecord(input)) return "neither"
  if (input.type !== undefined) return kindOfType(input.type) ?? "type"
  const local = input.command !== undefined
  const remote = input.url !== undefined
  if (local && remote) return "both"
  return local ? "local" : remote ? "remote" : "neither"
}

const keysOf = (input: unknown): ReadonlyArray<string> => (Predicate.isRecord(input) ? Object.keys(input) : [])

const wrongType = (type: unknown): Issue => {
  const guess = typeof type === "string" ? nearest(type, typeNames) : undefined
  return {
    path: ["type"],
    expected: typeNames.map((name) => `"${name}"`).join(", "),
    found: describeType(type),
    ...defined({ hint: guess === undefined ? undefined : `did you mean "${guess}"?` })
  }
}

/** Decodes an entry. Unknown keys are warnings, not errors. */
const parse = <A, I>(
  server: string | undefined,
  schema: Schema.Schema<A, I>,
  entry: unknown
): Either.Either<{ readonly value: A; readonly warnings: ReadonlyArray<Diagnostic> }, InvalidConfig> => {
  const { input, removalWarnings } = limitUnknownKeys(schema, entry)
  const strict = ParseResult.decodeUnknownEither(schema, { errors: "all", onExcessProperty: "error" })(input)
  if (Either.isRight(strict)) return Either.right({ value: strict.right, warnings: [] })
  const { issues, unknownKeys } = findingsOf(strict.left)
  const lenient = ParseResult.decodeUnknownEither(schema)(input)
  if (Either.isRight(lenient))
    return Either.right({
      value: lenient.right,
      warnings: [...unknownKeys.map(unknownKey(schema)), ...removalWarnings]
    })
  const explained = issues.map((issue) => ({
    ...withoutValues(issue),
    ...defined({ hint: misspelling(issue, unknownKeys) })
  }))
  return Either.left(new InvalidConfig({ server, issues: explained }))
}

/** Cuts the path of an issue before the first key that does not look like a name: it can be a secret. */
const withoutValues = (issue: Issue): Issue => {
  const end = issue.path.findIndex((step) => !looksLikeName(step))
  return end === -1 ? issue : { ...issue, path: issue.path.slice(0, end) }
}

/** A hint for a missing key: an unknown key beside it can be a misspelling. */
const misspelling = ({ found, path }: Issue, unknownKeys: ReadonlyArray<Issue["path"]>): string | undefined => {
  if (found !== describeType(undefined)) return undefined
  const siblings = unknownKeys.filter((key) => key.length === path.length).map((key) => String(key.at(-1)))
  return misspellingHint(String(path.at(-1)), siblings)
}

const misspellingHint = (expectedKey: string, present: ReadonlyArray<string>): string | undefined => {
  const guess = nearest(expectedKey, present)
  return guess === undefined ? undefined : `"${guess}" looks like a misspelling of "${expectedKey}"`
}

const maxUnknownKeys = 1000

/** Removes unknown keys above the limit, and counts them in a warning: the decoder takes time for each. */
const limitUnknownKeys = (
  schema: Schema.Schema.All,
  input: unknown
): { readonly input: unknown; readonly removalWarnings: ReadonlyArray<Diagnostic> } => {
  const known = new Set(keysAt(schema.ast, []))
  const unknown = keysOf(input).filter((key) => !known.has(key))
  if (unknown.length <= maxUnknownKeys) return { input, removalWarnings: [] }
  const removed = new Set(unknown.slice(maxUnknownKeys))
  const message = `and ${removed.size} more unknown keys`
  return {
    input: Object.fromEntries(Object.entries(input as object).filter(([key]) => !removed.has(key))),
    removalWarnings: [{ severity: "warning", code: "unknown_key", message }]
  }
}

const unknownKey =
  (schema: Schema.Schema.All) =>
  (path: Issue["path"]): Diagnostic => {
    const name = path.at(-1)
    const guess = nearest(String(name), keysAt(schema.ast, path.slice(0, -1)))
    const advice = guess === undefined ? "it is ignored" : `did you mean "${guess}"?`
    const which = path.every(looksLikeName) ? renderPath(path) : "that does not look like one"
    return { severity: "warning", code: "unknown_key", message: `unknown key ${which}; ${advice}` }
  }

/** The keys that a schema allows at a path. */
const keysAt = (ast: SchemaAST.AST, path: Issue["path"]): ReadonlyArray<string> => {
  if (SchemaAST.isUnion(ast)) return ast.types.flatMap((type) => keysAt(type, path))
  if (!SchemaAST.isTypeLiteral(ast)) return []
  const [step, ...rest] = path
  return step === undefined
    ? ast.propertySignatures.map(({ name }) => String(name))
    : ast.propertySignatures.filter(({ name }) => name === step).flatMap(({ type }) => keysAt(type, rest))
}

const headerIssues = (headers: Readonly<Record<string, unknown>> = {}): ReadonlyArray<Issue> =>
  Object.keys(headers)
    .filter((name) => !/^[!#$%&'*+.^_`|~\w-]+$/.test(name))
    .map((name) => ({
      path: ["headers"],
      expected: "header names",
      found: "a name HTTP does not allow",
      ...defined({ hint: name.includes(":") ? 'write name and value apart: "Authorization": "Bearer …"' : undefined })
    }))

const variableIssues = (key: string, variables: Readonly<Record<string, unknown>> = {}): ReadonlyArray<Issue> =>
  Object.keys(variables)
    .filter((name) => name === "" || /[=\0]/.test(name))
    .map(() => ({ path: [key], expected: "names of environment variables", found: 'an empty name, or one with "="' }))

const localWarnings = ({ args, command, env, environment }: typeof Input.Local.Type): ReadonlyArray<Diagnostic> => {
  const warnings: Array<Diagnostic> = []
  if (typeof command === "string" && /\s/.test(command) && args === undefined) {
    warnings.push({
      severity: "warning",
      code: "command_with_spaces",
      message: 'command is one program name with spaces in it; write arguments as "command": ["program", "argument"]',
      path: ["command"]
    })
  }
  if (env !== undefined && environment !== undefined) {
    warnings.push({
      severity: "warning",
      code: "two_spellings",
      message: '"env" and "environment" are both given; where they name the same variable, "environment" wins',
      path: ["env"]
    })
  }
  return warnings
}
