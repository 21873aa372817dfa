/**
 * Something a person should know about a server that still works: a key that was not understood, a tool that was left out.
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
  /** A constant name for programs, such as `unknown_key`. */
  code: Schema.String,
  /** One sentence for people, without secrets. */
  message: Schema.String,
  /** The tool, resource or prompt it is about. */
  subject: Schema.optional(Schema.String),
  /** The way to the value it is about. */
  path: Schema.optional(Schema.Array(Schema.Union(Schema.String, Schema.NonNegativeInt))),
  /** Where it was written, if it comes from a text; lines and columns from 1. */
  file: Schema.optional(Schema.String),
  line: Schema.optional(Schema.Positive.pipe(Schema.int())),
  column: Schema.optional(Schema.Positive.pipe(Schema.int()))
}).annotations({ identifier: "Diagnostic" })

/**
 * @since 0.1.0
 * @category models
 */
export type Diagnostic = typeof Diagnostic.Type
