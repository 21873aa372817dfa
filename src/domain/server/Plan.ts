/**
 * What moving from the running set of servers to a wanted one means.
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
  /** Servers that take over new settings without a new connection. */
  update: names,
  /** Servers that stay as they are. */
  keep: names,
  /** Public names of the tools that appear and vanish, as far as they are known beforehand. */
  tools: Schema.Struct({ appear: names, vanish: names })
}).annotations({ identifier: "Plan" })

/**
 * @since 0.1.0
 * @category models
 */
export type Plan = typeof Plan.Type
