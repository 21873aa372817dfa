/**
 * Checks the arguments of a call against the tool's schema, before anything is sent. The schema comes from a server: it may be
 * of any draft, wrong, enormous or made to hang us. On doubt the arguments pass, since the server checks them, too.
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

export type Check =
  | {
      readonly _tag: "Usable"
      /** What is wrong with the arguments, at most 20 issues, never with a value in them. Does not change the arguments. */
      readonly issuesOf: (args: Readonly<Record<string, unknown>>) => ReadonlyArray<Issue>
    }
  | { readonly _tag: "Unusable"; readonly reason: string }
const maxSize = 1_000_000
const maxDepth = 200
/** The longest time that compiling a schema may block the loop. */
const compileMillis = 100
/**
 * A schema of so few characters, or so few parts, takes less. It takes longer only on a busy machine, as does saying what is
 * wrong where the check itself is cheap. What refers to itself has no count of parts; of so few characters not much can be made.
 */
const smallSize = 3_000
const smallParts = 100
const smallMillis = 1_000
/** A busy machine may have been the slow one: so often a schema is compiled anew that took too long. */
const maxCompiles = 3

const checks = new WeakMap<JsonSchema, Check>()
const slowCompiles = makeStrikes()
const slowChecks = makeStrikes()

/** Prepared once for each schema object. Nothing throws, nothing is fetched. */
export const forSchema = (schema: JsonSchema): Check => {
  const known = checks.get(schema)
  if (known !== undefined) return known
  const check = prepare(schema)
  if (check !== retryLater) checks.set(schema, check)
  return check
}

const unusable = (reason: string): Check => ({ _tag: "Unusable", reason })

const tooSlow = unusable("it takes too long to compile")
const retryLater: Check = { ...tooSlow }

const prepare = (schema: JsonSchema): Check => {
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
  // ours are made of the parameters
  messages: false,
  meta: false,
  // a property may be called "constructor"
  ownProperties: true,
  strict: false,
  // formats are hints to a model; what is one differs from server to server
  validateFormats: false,
  validateSchema: false,
  verbose: true
}

/** Null for what may be left out means that it is: many write it so. It is sent as it is. */
const withoutNulls = (args: Readonly<Record<string, unknown>>, { required }: JsonSchema) =>
  Object.fromEntries(
    Object.entries(args).filter(([key, value]) => value !== null || (Array.isArray(required) && required.includes(key)))
  )

/** Without ajv's own optimizer a schema is compiled twice as fast, and checks take the same time. */
const code: Options["code"] = { optimize: false, regExp: engine }

const drafts = [Ajv2020, Ajv] as const

/** Servers often write draft-07 without saying so: what one draft cannot compile, the other one may. */
const compile = (schema: JsonSchema, weight: Weight, guard: Watchdog): Check => {
  const old = /draft-0[3467]/.test(String(schema.$schema))
  const failures: Array<unknown> = []
  for (const Draft of old ? drafts.toReversed() : drafts) {
    try {
      // an instance for each schema: their ids may be the same, and it is gone when the schema is
      const validate = new Draft({ ...options, code }).compile(schema)
      if ("$async" in validate) return unusable("the schema is asynchronous")
      return {
        _tag: "Usable",
        issuesOf: (args) => {
          if (guard.isGivenUp()) return []
          const fits = () => validate(args) || validate(withoutNulls(args, schema))
          try {
            // what is wrong is always told under the watchdog: that depends on all of the schema, not only on what applies
            const cheap = isCheap(weight, args)
            if (cheap && fits()) return []
            const check = () => (fits() ? [] : issuesOf(validate.errors ?? [], args, schema))
            return guard.watch(check, cheap ? smallMillis : undefined)
          } catch {
            // it takes too long, or the schema refers to itself without end
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
