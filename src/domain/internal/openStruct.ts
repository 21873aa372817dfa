/**
 * A schema for objects with additional keys.
 */
import * as Schema from "effect/Schema"

/** A struct that accepts and keeps unknown keys. */
export const openStruct = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields, { key: Schema.String, value: Schema.Unknown })
