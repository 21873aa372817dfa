/**
 * Stores listings in the state directory, one file per server and config: `catalog/<name>.json`. The file name is an
 * HMAC with its own key (`catalog.key`), so the config cannot be derived from it, not even by guessing.
 */
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { timeoutWhileRunning, withinBudget } from "../../system/budget.js"
import { canonicalJson } from "../../system/canonicalJson.js"
import * as KeyFile from "../../system/files/keyFile.js"
import * as StateFile from "../../system/files/stateFile.js"
import { Listings } from "../../domain/catalog/Catalog.js"
import { defined } from "../../domain/internal/defined.js"
import { isDeeper, maxDepth } from "../../domain/internal/isDeeper.js"
import { ServerInfo } from "../../domain/catalog/Protocol.js"
import type { ServerConfig } from "../../domain/server/ServerConfig.js"
import { linkFields } from "../../domain/server/ServerConfig/configChange.js"
import { CatalogStore, type Service, type Stored } from "./CatalogStore.js"
import { storable } from "./storable.js"

const StoredContent = Schema.Struct({
  version: Schema.Literal(StateFile.version),
  /** Milliseconds since 1970. */
  savedAt: Schema.Finite,
  serverInfo: Schema.optional(ServerInfo),
  listings: Listings
})

const maxBytes = 64 * 1024 * 1024

/** Time limit of one load or save. */
const budget = "5 seconds"

/** The store reads nothing before the first `load` and creates nothing before the first `save`. */
export const layer = (stateDir: string): Layer.Layer<never> =>
  Layer.effectContext(Effect.sync(() => Context.make(CatalogStore, make(stateDir))))

const make = (stateDir: string): Service => {
  const keyFile = join(stateDir, "catalog.key")
  const pathOf = (key: string, identity: string) => join(stateDir, "catalog", `${KeyFile.hash(key, identity)}.json`)
  const runInOrder = makeWriteOrder()
  let hasWarned = false

  const warn = (code: string) =>
    Effect.suspend(() => {
      if (hasWarned) return Effect.void
      hasWarned = true
      return Effect.logWarning("mcp.catalog.unsaved").pipe(Effect.annotateLogs({ directory: stateDir, code }))
    })

  return {
    load: (server, config) =>
      Effect.gen(function* () {
        const key = yield* KeyFile.read(keyFile)
        const found = yield* StateFile.read(pathOf(key, identityOf(server, config)), maxBytes)
        return storedOf(found)
      }).pipe(
        Effect.orElseSucceed(() => Option.none<Stored>()),
        timeoutWhileRunning(budget),
        Effect.map(Option.flatten)
      ),
    save: (server, config, stored) =>
      Effect.suspend(() => {
        const identity = identityOf(server, config)
        return Effect.flatMap(makeKey(keyFile), (key) =>
          replace(pathOf(key, identity), withoutSecrets(config, stored))
        ).pipe(
          withinBudget(budget),
          Effect.flatMap(Option.match({ onNone: () => Effect.fail("ETIMEDOUT"), onSome: Effect.succeed })),
          runInOrder(identity),
          Effect.catchAll(warn)
        )
      })
  }
}

/** A server may repeat secrets of its config in its listings. Its introduction was scrubbed when its link opened. */
const withoutSecrets = (config: ServerConfig, stored: Stored): Stored => ({
  ...stored,
  listings: storable(config, stored.listings)
})

/** Returns the listings exactly as they were written: the schema of a tool must not change. */
const storedOf = (found: StateFile.Found): Option.Option<Stored> => {
  if (found._tag !== "Found" || !isContent(found.content)) return Option.none()
  // Only accepted listings are written, so another program wrote this file.
  if (isDeeper(found.content.listings, maxDepth + listLevels)) return Option.none()
  const { listings, serverInfo } = found.content
  return Option.some({ listings, ...defined({ serverInfo }) })
}

/** Levels around an entry: the object of lists, and the list that contains the entry. */
const listLevels = 2

const isContent = Schema.is(StoredContent)

const replace = (path: string, { listings, serverInfo }: Stored): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const found = yield* StateFile.read(path, maxBytes)
    if (found._tag === "Newer") return
    const savedAt = yield* Clock.currentTimeMillis
    const content: typeof StoredContent.Type = { version: StateFile.version, savedAt, serverInfo, listings }
    const text = yield* Effect.try({ try: () => JSON.stringify(content), catch: () => "EINVAL" })
    if (Buffer.byteLength(text) > maxBytes) return yield* Effect.fail("EFBIG")
    yield* StateFile.write(path, text)
  })

/** Returns the stored key, or creates one. A corrupt key is replaced: files saved under it can no longer be found. */
const makeKey = (path: string): Effect.Effect<string, string> =>
  Effect.catchIf(
    KeyFile.readOrCreate(path),
    (reason) => reason === "Corrupt",
    () => Effect.zipRight(StateFile.remove(path), KeyFile.readOrCreate(path))
  )

/** The identity of a server: its name and all fields of its config whose change opens a new link. */
const identityOf = (server: string, config: ServerConfig): string => canonicalJson([server, linkFields(config)])

/**
 * Runs effects with the same name one at a time, in the order of the calls. An effect is skipped if a later one has
 * already succeeded.
 */
const makeWriteOrder = () => {
  interface WriteLane {
    readonly mutex: Effect.Semaphore
    lastTurn: number
    lastSucceeded: number
    users: number
  }
  const lanes = new Map<string, WriteLane>()
  return (name: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, E, R> =>
      Effect.suspend(() => {
        const lane = lanes.get(name) ?? {
          mutex: Effect.unsafeMakeSemaphore(1),
          lastTurn: 0,
          lastSucceeded: 0,
          users: 0
        }
        lanes.set(name, lane)
        lane.lastTurn += 1
        lane.users += 1
        const turn = lane.lastTurn
        const run = Effect.suspend(() =>
          turn < lane.lastSucceeded ? Effect.void : Effect.map(effect, () => void (lane.lastSucceeded = turn))
        )
        const leave = Effect.sync(() => {
          lane.users -= 1
          if (lane.users === 0) lanes.delete(name)
        })
        return Effect.ensuring(lane.mutex.withPermits(1)(Effect.uninterruptible(run)), leave)
      })
}
