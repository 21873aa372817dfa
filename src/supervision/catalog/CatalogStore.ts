/**
 * Port that stores the listings of servers between two runs, so that a lazy server is listed before its start. The
 * default stores nothing.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { Listings } from "../../domain/catalog/Catalog.js"
import type { ServerInfo } from "../../domain/catalog/Protocol.js"
import * as ServerConfig from "../../domain/server/ServerConfig.js"

/**
 * What is stored for one server.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stored {
  readonly serverInfo?: ServerInfo | undefined
  readonly listings: Listings
}

/**
 * The service tag. Provide another implementation with a layer; `McpSupervisor.layerNode` provides one that writes
 * files.
 *
 * @since 0.1.0
 * @category tags
 */
export class CatalogStore extends Context.Reference<CatalogStore>()("mcp-supervisor/CatalogStore", {
  defaultValue: (): Service => ({ load: () => Effect.succeedNone, save: () => Effect.void })
}) {}

/**
 * The operations of a store. If a store fails, hangs or dies, the supervisor continues without stored listings.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Returns what was stored for a server with this name and the same link config. Unreadable data counts as absent. */
  readonly load: (server: string, config: ServerConfig.ServerConfig) => Effect.Effect<Option.Option<Stored>>
  /** Never fails: listings that cannot be stored are fetched again in the next run. */
  readonly save: (server: string, config: ServerConfig.ServerConfig, stored: Stored) => Effect.Effect<void>
}

/**
 * Stores listings in memory, for the lifetime of the process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<never> = Layer.effectContext(
  Effect.sync(() => {
    const byServer = new Map<string, { readonly config: ServerConfig.ServerConfig; readonly stored: Stored }>()
    return Context.make(CatalogStore, {
      load: (server, config) =>
        Effect.sync(() => {
          const entry = byServer.get(server)
          return entry !== undefined && ["none", "settings"].includes(ServerConfig.compare(entry.config, config))
            ? Option.some(entry.stored)
            : Option.none()
        }),
      save: (server, config, stored) => Effect.sync(() => void byServer.set(server, { config, stored }))
    })
  })
)
