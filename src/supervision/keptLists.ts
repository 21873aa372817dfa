/**
 * What servers listed in an earlier run.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { withinBudget } from "../connection/budget.js"
import type { Listings } from "../domain/Catalog.js"
import type { ServerConfig } from "../domain/ServerConfig.js"
import type { Definition } from "./Definition.js"
import type { Hub } from "./Hub.js"
import * as Logs from "./logs.js"

/** How long a stored catalog may take to be read before it does without. */
const budget = "1 second"

/** Nothing, if the store fails or hangs. */
export const load = (hub: Hub, name: string, config: ServerConfig): Effect.Effect<Listings | undefined> =>
  Effect.suspend(() => hub.store.load(name, config)).pipe(
    withinBudget(budget),
    Effect.map((stored) => Option.getOrUndefined(Option.flatten(stored))?.listings),
    Effect.catchAllCause((cause) =>
      Effect.sync(() => {
        // with our logger, not with that of whoever asks
        hub.fork(Logs.fault(name, config, cause))
        return undefined
      })
    )
  )

/** What a server shows before it is asked: only one that is started by its first call has to. */
export const keptOf = (hub: Hub, { config, name }: Definition): Effect.Effect<Listings | undefined> =>
  config === undefined || !config.lazy ? Effect.succeed(undefined) : load(hub, name, config)
