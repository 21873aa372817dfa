/**
 * A warning about a server that still works, such as an unknown key or an omitted tool.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * @since 0.1.0
 * @category models
 */
export const Diagnostic = Schema.Struct({
  severity: Schema.Literal("info", "warning", "error"),
  /** A constant code for programs, such as `unknown_key`. */
  code: Schema.String,
  /** One sentence for people, without secrets. */
  message: Schema.String,
  /** The tool, resource or prompt that is affected. */
  subject: Schema.optional(Schema.String),
  /** The path of the value that is affected. */
  path: Schema.optional(Schema.Array(Schema.Union(Schema.String, Schema.NonNegativeInt))),
  /** The place in the text, if the value comes from one; lines and columns start at 1. */
  file: Schema.optional(Schema.String),
  line: Schema.optional(Schema.Positive.pipe(Schema.int())),
  column: Schema.optional(Schema.Positive.pipe(Schema.int()))
}).annotations({ identifier: "Diagnostic" })

/**
 * @since 0.1.0
 * @category models
 */
export type Diagnostic = typeof Diagnostic.Type
