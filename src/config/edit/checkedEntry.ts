/**
 * Validates an entry before it is written. Variables are unknown then, and are accepted wherever a text is.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import { InvalidConfig } from "../../domain/Errors.js"
import type { Issue } from "../../domain/Issue.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"
import * as ServerName from "../../domain/server/ServerName.js"
import { hasPlaceholder } from "../layers/interpolate.js"

type PlainEntry = Readonly<Record<string, unknown>>

/** Returns the entry as it is to be written, or fails with its issues. */
export const checkedEntry = (name: string, entry: object): Effect.Effect<PlainEntry, InvalidConfig> =>
  Effect.suspend(() => {
    const plain = revealed(entry) as PlainEntry
    const issues = [...ServerName.issues(name), ...entryIssues(name, plain)]
    return issues.length === 0 ? Effect.succeed(plain) : Effect.fail(new InvalidConfig({ server: name, issues }))
  })

const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return revealed(Redacted.value(value))
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([key, item]) => [key, revealed(item)])
  )
}

const issuesOf = (name: string, entry: unknown): ReadonlyArray<Issue> =>
  Either.match(ServerConfig.decode(name, entry), { onLeft: ({ issues }) => issues, onRight: () => [] })

const entryIssues = (name: string, entry: PlainEntry): ReadonlyArray<Issue> =>
  issuesOf(name, entry).filter(({ expected, path }) => {
    const text = at(entry, path)
    if (typeof text !== "string" || !hasPlaceholder(text)) return true
    const probes = ["1", "https://x.invalid/", ...Array.from(expected.matchAll(/"([^"]+)"/g), ([, word = ""]) => word)]
    const isFine = (probe: string) =>
      !issuesOf(name, replaced(entry, path, probe)).some((issue) => issue.path.join("\0") === path.join("\0"))
    return !probes.some(isFine)
  })

const at = (value: unknown, path: Issue["path"]): unknown =>
  path.reduce<unknown>((inner, step) => (Predicate.isObject(inner) ? Reflect.get(inner, step) : undefined), value)

const replaced = (value: unknown, [step, ...rest]: Issue["path"], by: string): unknown => {
  if (step === undefined) return by
  if (Array.isArray(value)) return value.map((item, index) => (index === step ? replaced(item, rest, by) : item))
  return Object.fromEntries(
    Object.entries(value as object).map(([key, item]) => [key, key === step ? replaced(item, rest, by) : item])
  )
}
