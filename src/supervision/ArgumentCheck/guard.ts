/**
 * What keeps the schema of a server from keeping us busy.
 */
import { createContext, Script } from "node:vm"
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../domain/Protocol.js"
import { definition } from "./words.js"

/** One value may be checked against so many schemas before that is suspect. */
const maxLoad = 1_000

/**
 * Whether one value may be checked against very many schemas: a few dozen that each refer twice to the next one are enough to
 * keep us busy for hours. Where references cannot be followed simply, it may.
 */
export const isHeavy = (root: JsonSchema): boolean => {
  const loads = new Map<unknown, number>()
  const load = (schema: unknown): number => {
    if (!Predicate.isRecord(schema)) return 1
    const known = loads.get(schema)
    if (known !== undefined) return known
    // a schema that comes back to itself has no end, which the stack notices
    loads.set(schema, 1)
    const { $dynamicRef, $ref, allOf, anyOf, else: otherwise, if: condition, not, oneOf, then } = schema
    const target = typeof $ref === "string" ? definition($ref, root) : undefined
    const opaque = $dynamicRef !== undefined || ($ref !== undefined && target === undefined)
    const parts = [allOf, anyOf, oneOf, condition, then, otherwise, not, target].flat()
    const total = opaque ? maxLoad : parts.reduce<number>((sum, part) => sum + (part === undefined ? 0 : load(part)), 1)
    loads.set(schema, Math.min(total, maxLoad))
    return Math.min(total, maxLoad)
  }
  const visit = (value: unknown): boolean =>
    typeof value === "object" && value !== null && (load(value) >= maxLoad || Object.values(value).some(visit))
  return visit(root)
}

/** The longest time that a pattern or a heavy schema may take. */
const watchedMillis = 100
/** A simple pattern takes at most about the square of this many steps. */
const shortText = 1_000

/**
 * Keeps a schema from hanging us. A pattern with at most one place to go back to is tested as it is; all others, and long
 * texts, under a watchdog, which costs some 100 µs. Where it had to step in twice, the schema is not used any more.
 */
export const makeGuard = () => {
  let slow = false
  const watch = <A>(run: () => A): A => {
    try {
      return watched(run)
    } catch {
      // a busy machine may have been the slow one
      try {
        return watched(run)
      } catch (error) {
        slow = true
        throw error
      }
    }
  }
  const engine = (pattern: string) => {
    const expression = expressionOf(pattern)
    const simple = isSimple(pattern)
    const test = (text: string) => expression.test(text)
    return {
      test: (text: string): boolean => (simple && text.length <= shortText ? test(text) : watch(() => test(text))),
      // by this ajv tells patterns apart
      toString: () => String(expression)
    }
  }
  return { engine: Object.assign(engine, { code: "pattern" }), isSlow: () => slow, watch }
}

/** Many patterns are written without regard to the stricter rules of Unicode mode. */
const expressionOf = (pattern: string): RegExp => {
  try {
    return new RegExp(pattern, "u")
  } catch {
    return new RegExp(pattern)
  }
}

/** No group is repeated or refers back, and there is at most one place where something else could be tried. */
const isSimple = (pattern: string): boolean => {
  const bare = pattern.replace(/\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/g, "x").replace(/([^)])\{\d+\}/g, "$1")
  const count = (sign: RegExp) => bare.match(sign)?.length ?? 0
  const alternatives = bare.includes("|") ? Math.max(1, count(/\(/g)) : 0
  return !/\)[*+?{]|\\[1-9k]|\(\?/.test(bare) && count(/[*+?{]/g) + alternatives <= 1
}

const stage: { run: () => unknown } = { run: () => undefined }
let script: ((timeout: number) => unknown) | undefined
let watching = false

/** Node can only end what it runs as a script of its own. */
export const watched = <A>(run: () => A, timeout = watchedMillis): A => {
  if (watching) return run()
  script ??= makeScript()
  stage.run = run
  watching = true
  try {
    return script(timeout) as A
  } finally {
    watching = false
    stage.run = () => undefined
  }
}

const makeScript = () => {
  const context = createContext(stage)
  const script = new Script("run()")
  return (timeout: number) => script.runInContext(context, { timeout })
}
