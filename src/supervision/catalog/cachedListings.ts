/**
 * Loads the listings that servers returned in an earlier run.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { withinBudget } from "../../system/budget.js"
import type { Listings } from "../../domain/catalog/Catalog.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { Definition } from "../servers/Definition.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import * as ServerLogs from "../servers/serverLogs.js"

/** Time to read stored listings. After that, the server starts without them. */
const budget = "1 second"

/** Loads the stored listings of a server. Returns `undefined` if the store fails or hangs. */
export const load = (
  context: SupervisorContext,
  name: string,
  config: ServerConfig
): Effect.Effect<Listings | undefined> =>
  Effect.suspend(() => context.store.load(name, config)).pipe(
    withinBudget(budget),
    Effect.map((stored) => Option.getOrUndefined(Option.flatten(stored))?.listings),
    Effect.catchAllCause((cause) =>
      Effect.sync(() => {
        // The fault is logged with the supervisor's logger, not with the caller's.
        context.fork(ServerLogs.fault(name, config, cause))
        return undefined
      })
    )
  )

/**
 * The listings that a server shows before its first start. Only lazy servers need them: they start at the first call.
 */
export const cachedListingsOf = (
  context: SupervisorContext,
  { config, name }: Definition
): Effect.Effect<Listings | undefined> =>
  config === undefined || !config.lazy ? Effect.succeed(undefined) : load(context, name, config)
