/**
 * Checks the arguments of a call against the tool's input schema before the call is sent. The schema comes from a
 * server: it may be of any draft, invalid, huge, or made to block the event loop. If the check cannot be done, the
 * arguments pass, since the server checks them, too.
 */
import { Ajv, MissingRefError, type Options } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { isDeeper } from "../../domain/internal/isDeeper.js"
import type { Issue } from "../../domain/Issue.js"
import type { JsonSchema } from "../../domain/catalog/Protocol.js"
import { isCheap, type Weight, weigh } from "./ArgumentCheck/cost.js"
import { engine, type Watchdog, isTimeout, makeWatchdog, watched } from "./ArgumentCheck/watchdog.js"
import { issuesOf } from "./ArgumentCheck/issues.js"
import { makeStrikes } from "./ArgumentCheck/strikes.js"
import { tolerant } from "./ArgumentCheck/tolerant.js"
import { cut, quoted } from "./ArgumentCheck/issueText.js"

export type SchemaCheck =
  | {
      readonly _tag: "Usable"
      /** Returns at most 20 issues, which never contain a value. Does not change the arguments. */
      readonly issuesOf: (args: Readonly<Record<string, unknown>>) => ReadonlyArray<Issue>
    }
  | { readonly _tag: "Unusable"; readonly reason: string }
const maxSize = 1_000_000
const maxDepth = 200
/** The longest time for which compiling a schema may block the event loop. */
const compileMillis = 100
/**
 * A schema with so few characters or parts compiles faster than the limit, except on a busy machine; so it gets
 * `smallMillis`. This longer limit also applies to collecting the issues of a cheap check. A schema that refers to
 * itself has no number of parts; few characters bound its cost.
 */
const smallSize = 3_000
const smallParts = 100
const smallMillis = 1_000
/** A busy machine may be the reason for a timeout: a schema is given up after this many compilations that timed out. */
const maxCompiles = 3

const checks = new WeakMap<JsonSchema, SchemaCheck>()
const slowCompiles = makeStrikes()
const slowChecks = makeStrikes()

/** Returns the check for a schema, prepared once for each schema object. Never throws and fetches nothing. */
export const forSchema = (schema: JsonSchema): SchemaCheck => {
  const known = checks.get(schema)
  if (known !== undefined) return known
  const check = prepare(schema)
  if (check !== retryLater) checks.set(schema, check)
  return check
}

const unusable = (reason: string): SchemaCheck => ({ _tag: "Unusable", reason })

const tooSlow = unusable("it takes too long to compile")
const retryLater: SchemaCheck = { ...tooSlow }

const prepare = (schema: JsonSchema): SchemaCheck => {
  let text = ""
  try {
    if (isDeeper(schema, maxDepth)) return unusable(`the schema has more than ${maxDepth} levels`)
    text = JSON.stringify(schema)
    if (text.length > maxSize) return unusable("the schema is larger than 1 MB")
    if (slowCompiles.of(text) >= maxCompiles) return tooSlow
    const { tolerated, weight } = watched(
      () => {
        const tolerated = tolerant(schema) as JsonSchema
        return { tolerated, weight: weigh(tolerated) }
      },
      millis(text.length <= smallSize)
    )
    const guard = makeWatchdog(slowChecks.of(text), () => slowChecks.add(JSON.stringify(schema)))
    const isSmall = text.length <= smallSize || weight.parts <= smallParts
    return watched(() => compile(tolerated, weight, guard), millis(isSmall))
  } catch (error) {
    if (!isTimeout(error)) return unusable(reasonOf(error))
    slowCompiles.add(text)
    return slowCompiles.of(text) < maxCompiles ? retryLater : tooSlow
  }
}

const millis = (isSmall: boolean): number => (isSmall ? smallMillis : compileMillis)

const reasonOf = (error: unknown): string =>
  error instanceof MissingRefError
    ? `the schema refers to ${quoted(error.missingRef || "#")}, which is not part of it and is not fetched`
    : `the schema cannot be compiled: ${cut(error instanceof Error ? error.message : "unknown reason", 200)}`

const options: Options = {
  allErrors: true,
  logger: false,
  // The issues are built from the parameters of an error, not from its message.
  messages: false,
  meta: false,
  // A property may be called "constructor".
  ownProperties: true,
  strict: false,
  // Formats are hints for a model, and servers define them differently.
  validateFormats: false,
  validateSchema: false,
  verbose: true
}

/** Treats null for an optional argument as absent: many clients write it this way. The arguments are sent unchanged. */
const withoutNulls = (args: Readonly<Record<string, unknown>>, { required }: JsonSchema) =>
  Object.fromEntries(
    Object.entries(args).filter(([key, value]) => value !== null || (Array.isArray(required) && required.includes(key)))
  )

/** Without ajv's optimizer a schema compiles twice as fast, and checks take the same time. */
const code: Options["code"] = { optimize: false, regExp: engine }

const drafts = [Ajv2020, Ajv] as const

/** Tries both drafts: servers often write draft-07 without declaring it. */
const compile = (schema: JsonSchema, weight: Weight, guard: Watchdog): SchemaCheck => {
  const old = /draft-0[3467]/.test(String(schema.$schema))
  const failures: Array<unknown> = []
  for (const Draft of old ? drafts.toReversed() : drafts) {
    try {
      // Each schema has its own instance: two schemas may have the same id, and the instance is collected with its
      // schema.
      const validate = new Draft({ ...options, code }).compile(schema)
      if ("$async" in validate) return unusable("the schema is asynchronous")
      return {
        _tag: "Usable",
        issuesOf: (args) => {
          if (guard.isGivenUp()) return []
          const fits = () => validate(args) || validate(withoutNulls(args, schema))
          try {
            // Issues are always collected under the watchdog: their cost depends on the whole schema, not only on the
            // part that applies.
            const cheap = isCheap(weight, args)
            if (cheap && fits()) return []
            const check = () => (fits() ? [] : issuesOf(validate.errors ?? [], args, schema))
            return guard.watch(check, cheap ? smallMillis : undefined)
          } catch {
            // The check timed out, or the schema refers to itself without end.
            return []
          }
        }
      }
    } catch (error) {
      failures.push(error)
    }
  }
  throw failures[0]
}
