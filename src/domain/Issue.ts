/**
 * What is wrong with a value, in words that never repeat the value: it may be a secret.
 *
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category models
 */
export const Issue = Schema.Struct({
  /** The way to the value from the root of what was checked. */
  path: Schema.Array(Schema.Union(Schema.String, Schema.NonNegativeInt)),
  /** What would be right there. */
  expected: Schema.String,
  /** The type of what is there instead, never the value. */
  found: Schema.String,
  /** What to do about it, where that can be said. */
  hint: Schema.optional(Schema.String),
  /** Where it was written, if it comes from a text: the file, or what else the text is called. */
  file: Schema.optional(Schema.String),
  /** From 1. */
  line: Schema.optional(Schema.Positive.pipe(Schema.int())),
  /** From 1. */
  column: Schema.optional(Schema.Positive.pipe(Schema.int()))
}).annotations({ identifier: "Issue" })

/**
 * @since 0.1.0
 * @category models
 */
export type Issue = typeof Issue.Type

/**
 * The type of a value in the words of the people who write config files.
 *
 * @since 0.1.0
 * @category describing
 */
export const describeType = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (Redacted.isRedacted(value)) return "a redacted value"
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array"
  switch (typeof value) {
    case "string":
      return value === "" ? "an empty string" : "a string"
    case "number":
      return describeNumber(value)
    case "object":
      return "an object"
    default:
      return `a ${typeof value}`
  }
}

/** The sign of a number and whether it is whole say what is wrong with a limit or a duration, and are no secret. */
const describeNumber = (value: number): string => {
  if (Number.isNaN(value)) return "NaN"
  if (value === 0) return "zero"
  if (!Number.isFinite(value)) return "an infinite number"
  return `a ${value < 0 ? "negative " : ""}${Number.isInteger(value) ? "number" : "fraction"}`
}

/**
 * A path as it is written in code: `oauth.scope`, `command[0]`, `headers["X-Key"]`. The root is `(root)`.
 *
 * @since 0.1.0
 * @category describing
 */
export const renderPath = (path: ReadonlyArray<string | number>): string =>
  path.length === 0 ? "(root)" : path.map(renderStep).join("").replace(/^\./, "")

const renderStep = (step: string | number): string =>
  /^[A-Za-z_$][\w$]*$/.test(`${step}`) ? `.${step}` : `[${JSON.stringify(step)}]`

/**
 * One line: where, what was expected, what was found, what to do.
 *
 * @since 0.1.0
 * @category describing
 */
export const render = (issue: Issue): string => {
  const { expected, found, hint, path } = issue
  return `${renderPlace(issue)}${renderPath(path)}: expected ${expected}, found ${found}${hint === undefined ? "" : ` (${hint})`}`
}

/** As compilers write it, so that terminals and editors make a link of it. */
const renderPlace = ({ column, file, line }: Issue): string =>
  [file, line, column]
    .filter((part) => part !== undefined)
    .map((part) => `${part}:`)
    .join("") + (file === undefined ? "" : " ")

/**
 * @since 0.1.0
 * @category describing
 */
export const renderAll = (issues: ReadonlyArray<Issue>): string => issues.map(render).join("; ")
