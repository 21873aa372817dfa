/**
 * The changes from the running servers to the desired ones.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

const names = Schema.Array(Schema.String)

/**
 * @since 0.1.0
 * @category models
 */
export const Plan = Schema.Struct({
  /** Servers that will be added. */
  start: names,
  /** Servers that will be removed. */
  stop: names,
  /** Servers whose connection is replaced because their config changed. */
  restart: names,
  /** Servers that get new settings without a new connection. */
  update: names,
  /** Servers that stay as they are. */
  keep: names,
  /** Public names of the tools that are added and removed, as far as they are known in advance. */
  tools: Schema.Struct({ appear: names, vanish: names })
}).annotations({ identifier: "Plan" })

/**
 * @since 0.1.0
 * @category models
 */
export type Plan = typeof Plan.Type
