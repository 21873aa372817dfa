/**
 * Keeps the lists of servers in the state directory, one file for each server and config: `catalog/<name>.json`. The name is
 * a hash with a key of its own (`catalog.key`): it tells nobody a config, not even by guessing.
 */
import { createHmac, randomBytes } from "node:crypto"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { withinBudget } from "../../system/budget.js"
import * as StateFile from "../../system/stateFile.js"
import { Listings } from "../../domain/catalog/Catalog.js"
import { defined } from "../../domain/internal/defined.js"
import { isDeeper, maxDepth } from "../../domain/internal/isDeeper.js"
import { ServerInfo } from "../../domain/catalog/Protocol.js"
import * as Secrets from "../../domain/Secrets.js"
import type { Local, Remote, ServerConfig } from "../../domain/server/ServerConfig.js"
import { CatalogStore, type Service, type Stored } from "./CatalogStore.js"
import { storable } from "./storable.js"

const Key = Schema.Struct({
  version: Schema.Literal(StateFile.version),
  key: Schema.String.pipe(Schema.pattern(/^[\da-f]{64}$/))
})

const Content = Schema.Struct({
  version: Schema.Literal(StateFile.version),
  /** Milliseconds since 1970. */
  savedAt: Schema.Finite,
  serverInfo: Schema.optional(ServerInfo),
  listings: Listings
})

const maxBytes = 64 * 1024 * 1024

const maxKeyBytes = 1024

/** How long the disk may take. */
const budget = "5 seconds"

/** Nothing is touched before something is loaded, and nothing is written before something is saved. */
export const layer = (stateDir: string): Layer.Layer<never> =>
  Layer.effectContext(Effect.sync(() => Context.make(CatalogStore, make(stateDir))))

const make = (stateDir: string): Service => {
  const keyFile = join(stateDir, "catalog.key")
  const pathOf = (key: string, identity: string) => join(stateDir, "catalog", `${hash(key, identity)}.json`)
  const inTurn = makeTurns()
  let warned = false

  const warn = (code: string) =>
    Effect.suspend(() => {
      if (warned) return Effect.void
      warned = true
      return Effect.logWarning("mcp.catalog.unsaved").pipe(Effect.annotateLogs({ directory: stateDir, code }))
    })

  return {
    load: (server, config) =>
      Effect.gen(function* () {
        const key = yield* readKey(keyFile)
        const found = yield* StateFile.read(pathOf(key, identityOf(server, config)), maxBytes)
        return storedIn(found)
      }).pipe(
        Effect.orElseSucceed(() => Option.none<Stored>()),
        Effect.disconnect,
        Effect.timeoutOption(budget),
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
          inTurn(identity),
          Effect.catchAll(warn)
        )
      })
  }
}

/** A server may repeat a secret it was given. The link has scrubbed its introduction already. */
const withoutSecrets = (config: ServerConfig, stored: Stored): Stored => ({
  ...stored,
  listings: storable(config, stored.listings)
})

/** The lists as they were written: a schema of a tool must not change on its way. */
const storedIn = (found: StateFile.Found): Option.Option<Stored> => {
  if (found._tag !== "Found" || !isContent(found.content)) return Option.none()
  // only lists that were accepted are written, so this file is not ours
  if (isDeeper(found.content.listings, maxDepth + listLevels)) return Option.none()
  const { listings, serverInfo } = found.content
  return Option.some({ listings, ...defined({ serverInfo }) })
}

/** Levels around an entry: the lists, and the list it is in. */
const listLevels = 2

const isContent = Schema.is(Content)

const replace = (path: string, { listings, serverInfo }: Stored): Effect.Effect<void, string> =>
  Effect.gen(function* () {
    const found = yield* StateFile.read(path, maxBytes)
    if (found._tag === "Newer") return
    const savedAt = yield* Clock.currentTimeMillis
    const content: typeof Content.Type = { version: StateFile.version, savedAt, serverInfo, listings }
    const text = yield* Effect.try({ try: () => JSON.stringify(content), catch: () => "EINVAL" })
    if (Buffer.byteLength(text) > maxBytes) return yield* Effect.fail("EFBIG")
    yield* StateFile.write(path, text)
  })

const readKey = (path: string): Effect.Effect<string, StateFile.Found["_tag"]> =>
  Effect.flatMap(StateFile.read(path, maxKeyBytes), (found) => {
    if (found._tag !== "Found") return Effect.fail(found._tag)
    return isKey(found.content) ? Effect.succeed(found.content.key) : Effect.fail("Corrupt" as const)
  })

const isKey = Schema.is(Key)

/** The key that is there, or a new one. Of several who make one at once, all get the same. */
const makeKey = (path: string): Effect.Effect<string, string> =>
  Effect.catchAll(readKey(path), (reason) =>
    Effect.gen(function* () {
      if (reason !== "Absent" && reason !== "Corrupt") return yield* Effect.fail(reason)
      // what was saved with a key that is lost is lost as well
      if (reason === "Corrupt") yield* StateFile.remove(path)
      const key = randomBytes(32).toString("hex")
      yield* StateFile.create(path, JSON.stringify({ version: StateFile.version, key } satisfies typeof Key.Type))
      return yield* readKey(path)
    })
  )

const hash = (key: string, identity: string): string =>
  createHmac("sha256", Buffer.from(key, "hex")).update(identity).digest("hex")

/** What makes a server this server: its name, and all of its config that a new link is made for when it changes. */
const identityOf = (server: string, config: ServerConfig): string =>
  JSON.stringify([server, config._tag, canonical(config._tag === "Local" ? localLink(config) : remoteLink(config))])

const localLink = ({ args, command, cwd, environment, inheritEnv, protocol }: Local) => ({
  args,
  command,
  cwd,
  environment,
  inheritEnv,
  protocol
})

const remoteLink = ({ caFile, headers, oauth, protocol, transport, url }: Remote) => ({
  caFile,
  headers,
  oauth,
  protocol,
  transport,
  url
})

/** The same for everything that means the same: the order of keys and what is redacted make no difference. */
const canonical = (value: unknown): unknown => {
  if (Secrets.isText(value)) return Secrets.reveal(value)
  if (Array.isArray(value)) return value.map(canonical)
  if (!Predicate.isRecord(value)) return value
  return Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .toSorted()
    .map((key) => [key, canonical(value[key])])
}

/**
 * Lets what has the same name run one after the other, in the order of asking. Who comes to his turn when a later one has
 * succeeded already does not run any more.
 */
const makeTurns = () => {
  interface Lane {
    readonly one: Effect.Semaphore
    asked: number
    done: number
    present: number
  }
  const lanes = new Map<string, Lane>()
  return (name: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, E, R> =>
      Effect.suspend(() => {
        const lane = lanes.get(name) ?? { one: Effect.unsafeMakeSemaphore(1), asked: 0, done: 0, present: 0 }
        lanes.set(name, lane)
        lane.asked += 1
        lane.present += 1
        const turn = lane.asked
        const run = Effect.suspend(() =>
          turn < lane.done ? Effect.void : Effect.map(effect, () => void (lane.done = turn))
        )
        const leave = Effect.sync(() => {
          lane.present -= 1
          if (lane.present === 0) lanes.delete(name)
        })
        return Effect.ensuring(lane.one.withPermits(1)(Effect.uninterruptible(run)), leave)
      })
}
