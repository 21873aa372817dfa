/**
 * Checks the arguments of a call against the tool's schema, before anything is sent. The schema comes from a server: it may be
 * of any draft, wrong, enormous or made to hang us. On doubt the arguments pass, since the server checks them, too.
 */
import { Ajv, MissingRefError, type Options } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import { isDeeper } from "../domain/isDeeper.js"
import type { Issue } from "../domain/Issue.js"
import type { JsonSchema } from "../domain/Protocol.js"
import { isCheap, type Weight, weigh } from "./ArgumentCheck/cost.js"
import { engine, isTimeout, makeGuard, watched } from "./ArgumentCheck/guard.js"
import { issuesOf } from "./ArgumentCheck/issues.js"
import { tolerant } from "./ArgumentCheck/tolerant.js"
import { cut, quoted } from "./ArgumentCheck/words.js"

export type Check =
  | {
      readonly _tag: "Usable"
      /** What is wrong with the arguments, at most 20 issues, never with a value in them. Does not change the arguments. */
      readonly issuesOf: (args: Readonly<Record<string, unknown>>) => ReadonlyArray<Issue>
    }
  | { readonly _tag: "Unusable"; readonly reason: string }
const maxSize = 1_000_000
const maxDepth = 200
/** The longest time that compiling a schema may block the loop. A small schema takes longer only on a busy machine. */
const compileMillis = (parts: number): number => (parts <= 100 ? 1_000 : 250)
/** A busy machine may have been the slow one: so often a schema is compiled anew that took too long. */
const maxCompiles = 3

const checks = new WeakMap<JsonSchema, Check>()
const compiles = new WeakMap<JsonSchema, number>()

/** Prepared once for each schema object. Nothing throws, nothing is fetched. */
export const forSchema = (schema: JsonSchema): Check => {
  const known = checks.get(schema)
  if (known !== undefined) return known
  const tries = (compiles.get(schema) ?? 0) + 1
  const check = prepare(schema)
  if (check === tooSlow && tries < maxCompiles) compiles.set(schema, tries)
  else checks.set(schema, check)
  return check
}

const unusable = (reason: string): Check => ({ _tag: "Unusable", reason })

const tooSlow = unusable("it takes too long to compile")

const prepare = (schema: JsonSchema): Check => {
  try {
    if (isDeeper(schema, maxDepth)) return unusable(`the schema has more than ${maxDepth} levels`)
    if (JSON.stringify(schema).length > maxSize) return unusable("the schema is larger than 1 MB")
    const { tolerated, weight } = watched(() => {
      const tolerated = tolerant(schema) as JsonSchema
      return { tolerated, weight: weigh(tolerated) }
    })
    return watched(() => compile(tolerated, weight), compileMillis(weight.parts))
  } catch (error) {
    return isTimeout(error) ? tooSlow : unusable(reasonOf(error))
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof MissingRefError
    ? `the schema refers to ${quoted(error.missingRef || "#")}, which is not part of it and is not fetched`
    : `the schema cannot be compiled: ${cut(error instanceof Error ? error.message : "unknown reason", 200)}`

const options: Options = {
  allErrors: true,
  logger: false,
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

const drafts = [Ajv2020, Ajv] as const

/** Servers often write draft-07 without saying so: what one draft cannot compile, the other one may. */
const compile = (schema: JsonSchema, weight: Weight): Check => {
  const old = /draft-0[3467]/.test(String(schema.$schema))
  const failures: Array<unknown> = []
  for (const Draft of old ? drafts.toReversed() : drafts) {
    try {
      // an instance for each schema: their ids may be the same, and it is gone when the schema is
      const validate = new Draft({ ...options, code: { regExp: engine } }).compile(schema)
      if ("$async" in validate) return unusable("the schema is asynchronous")
      const guard = makeGuard()
      return {
        _tag: "Usable",
        issuesOf: (args) => {
          if (guard.isGivenUp()) return []
          const check = () =>
            validate(args) || validate(withoutNulls(args, schema)) ? [] : issuesOf(validate.errors ?? [], args, schema)
          try {
            return isCheap(weight, args) ? check() : guard.watch(check)
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
