/**
 * Where the lists of servers are kept between two runs, so that a lazy one is listed before it was ever started. The default
 * keeps nothing.
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
 * What is kept of one server.
 *
 * @since 0.1.0
 * @category models
 */
export interface Stored {
  readonly serverInfo?: ServerInfo | undefined
  readonly listings: Listings
}

/**
 * The port. Provide another one with a layer; `McpSupervisor.layerNode` provides one that keeps files.
 *
 * @since 0.1.0
 * @category tags
 */
export class CatalogStore extends Context.Reference<CatalogStore>()("mcp-supervisor/CatalogStore", {
  defaultValue: (): Service => ({ load: () => Effect.succeedNone, save: () => Effect.void })
}) {}

/**
 * What a store can do. One that fails, hangs or dies costs a server its memory and nothing else.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What was kept for a server of this name and exactly this config. What cannot be read is not there. */
  readonly load: (server: string, config: ServerConfig.ServerConfig) => Effect.Effect<Option.Option<Stored>>
  /** Never fails: what cannot be kept is fetched again next time. */
  readonly save: (server: string, config: ServerConfig.ServerConfig, stored: Stored) => Effect.Effect<void>
}

/**
 * Keeps them as long as the process lives.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory: Layer.Layer<never> = Layer.effectContext(
  Effect.sync(() => {
    const kept = new Map<string, { readonly config: ServerConfig.ServerConfig; readonly stored: Stored }>()
    return Context.make(CatalogStore, {
      load: (server, config) =>
        Effect.sync(() => {
          const entry = kept.get(server)
          return entry !== undefined && ["none", "settings"].includes(ServerConfig.compare(entry.config, config))
            ? Option.some(entry.stored)
            : Option.none()
        }),
      save: (server, config, stored) => Effect.sync(() => void kept.set(server, { config, stored }))
    })
  })
)
