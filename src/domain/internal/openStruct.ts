import * as Schema from "effect/Schema"

/** An object that may have more keys than we know. They are kept. */
export const openStruct = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields, { key: Schema.String, value: Schema.Unknown })
