/**
 * Describes what is wrong with a value, without the value itself: it can be a secret.
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
  /** The path of the value from the root of the checked data. */
  path: Schema.Array(Schema.Union(Schema.String, Schema.NonNegativeInt)),
  /** Describes a valid value. */
  expected: Schema.String,
  /** The type of the value, never the value itself. */
  found: Schema.String,
  /** What to do about it. Absent if there is no advice. */
  hint: Schema.optional(Schema.String),
  /** The file, or the name of the text, if the value comes from one. */
  file: Schema.optional(Schema.String),
  /** Starts at 1. */
  line: Schema.optional(Schema.Positive.pipe(Schema.int())),
  /** Starts at 1. */
  column: Schema.optional(Schema.Positive.pipe(Schema.int()))
}).annotations({ identifier: "Issue" })

/**
 * @since 0.1.0
 * @category models
 */
export type Issue = typeof Issue.Type

/**
 * Describes the type of a value for people who write config files.
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

/**
 * Describes a number by its sign and whether it is whole: this shows what is wrong with a limit or a duration, and reveals no
 * secret.
 */
const describeNumber = (value: number): string => {
  if (Number.isNaN(value)) return "NaN"
  if (value === 0) return "zero"
  if (!Number.isFinite(value)) return "an infinite number"
  return `a ${value < 0 ? "negative " : ""}${Number.isInteger(value) ? "number" : "fraction"}`
}

/**
 * Renders a path as in code: `oauth.scope`, `command[0]`, `headers["X-Key"]`. The root is `(root)`.
 *
 * @since 0.1.0
 * @category describing
 */
export const renderPath = (path: ReadonlyArray<string | number>): string =>
  path.length === 0 ? "(root)" : path.map(renderStep).join("").replace(/^\./, "")

const renderStep = (step: string | number): string =>
  /^[A-Za-z_$][\w$]*$/.test(`${step}`) ? `.${step}` : `[${JSON.stringify(step)}]`

/**
 * Renders an issue as one line: place, expected, found, hint.
 *
 * @since 0.1.0
 * @category describing
 */
export const render = (issue: Issue): string => {
  const { expected, found, hint, path } = issue
  return `${renderPlace(issue)}${renderPath(path)}: expected ${expected}, found ${found}${hint === undefined ? "" : ` (${hint})`}`
}

/** Renders the place in the format of compilers, which terminals and editors turn into a link. */
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
