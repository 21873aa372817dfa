/**
 * What servers listed in an earlier run.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { withinBudget } from "../../system/budget.js"
import type { Listings } from "../../domain/catalog/Catalog.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import type { Definition } from "../servers/Definition.js"
import type { SupervisorContext } from "../SupervisorContext.js"
import * as ServerLogs from "../servers/serverLogs.js"

/** How long a stored catalog may take to be read before it does without. */
const budget = "1 second"

/** Nothing, if the store fails or hangs. */
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
        // with our logger, not with that of whoever asks
        context.fork(ServerLogs.fault(name, config, cause))
        return undefined
      })
    )
  )

/** What a server shows before it is asked: only one that is started by its first call has to. */
export const cachedListingsOf = (
  context: SupervisorContext,
  { config, name }: Definition
): Effect.Effect<Listings | undefined> =>
  config === undefined || !config.lazy ? Effect.succeed(undefined) : load(context, name, config)
