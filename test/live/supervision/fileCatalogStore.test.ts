import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit, Logger, LogLevel, Option, Redacted } from "effect"
import type * as ServerConfig from "../../../src/domain/server/ServerConfig.js"
import { CatalogStore, type Service, type Stored } from "../../../src/supervision/catalog/CatalogStore.js"
import * as FileCatalogStore from "../../../src/supervision/catalog/FileCatalogStore.js"
import { configOf } from "../support/session.js"

const stateDirectory = Effect.acquireRelease(
  Effect.sync(() => join(mkdtempSync(join(tmpdir(), "catalog-")), "state")),
  (directory) => Effect.sync(() => rmSync(join(directory, ".."), { recursive: true, force: true }))
)

/** A store as in a new process. */
const open = (stateDir: string): Effect.Effect<Service> =>
  CatalogStore.pipe(Effect.provide(FileCatalogStore.layer(stateDir)))

const config = configOf({ command: "server" })

const stored = (name: string): Stored => ({
  serverInfo: { name: "server", version: "1.0.0", extra: [1] },
  listings: {
    tools: [{ name, inputSchema: { type: "object", b: 1, a: { $ref: "#" } }, _meta: { later: true } }],
    resources: [{ uri: "file:///a", name: "a", size: 3 }],
    resourceTemplates: [{ uriTemplate: "file:///{a}", name: "a" }],
    prompts: [{ name: "ask", arguments: [{ name: "what", required: true }] }]
  }
})

const files = (stateDir: string): ReadonlyArray<string> => {
  const directory = join(stateDir, "catalog")
  return existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : []
}

const onlyFile = (stateDir: string): string => {
  const [path, ...more] = files(stateDir)
  assert.deepStrictEqual(more, [])
  return path!
}

describe("FileCatalogStore", () => {
  it.scopedLive("returns exactly what an earlier run saved", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      yield* (yield* open(stateDir)).save("it", config, stored("a"))
      const loaded = yield* (yield* open(stateDir)).load("it", config)
      assert.deepStrictEqual(loaded, Option.some(stored("a")))
      assert.strictEqual(JSON.stringify(Option.getOrThrow(loaded).listings), JSON.stringify(stored("a").listings))
    })
  )

  it.scopedLive("keeps keys that are special in JavaScript, such as `__proto__`", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      const inputSchema = JSON.parse(
        '{"type":"object","properties":{"__proto__":{"type":"string"}},"__proto__":{"a":1}}'
      )
      const listings = { tools: [{ name: "t", inputSchema }], resources: [], resourceTemplates: [], prompts: [] }
      yield* store.save("it", config, { listings })
      const loaded = Option.getOrThrow(yield* store.load("it", config))
      assert.strictEqual(JSON.stringify(loaded.listings), JSON.stringify(listings))
      assert.notProperty(loaded, "serverInfo")
    })
  )

  it.scopedLive("reads no file before it is used, and writes nothing when it only loads", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      assert.isTrue(Option.isNone(yield* store.load("it", config)))
      assert.isFalse(existsSync(stateDir))
      yield* store.save("it", config, stored("a"))
      assert.deepStrictEqual(readdirSync(stateDir).toSorted(), ["catalog", "catalog.key"])
    })
  )

  it.scopedLive("writes files that only the user can read, with the time of saving", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const before = yield* Clock.currentTimeMillis
      yield* (yield* open(stateDir)).save("it", config, stored("a"))
      const mode = (path: string) => statSync(path).mode & 0o777
      assert.strictEqual(mode(join(stateDir, "catalog")), 0o700)
      assert.strictEqual(mode(join(stateDir, "catalog.key")), 0o600)
      assert.strictEqual(mode(onlyFile(stateDir)), 0o600)
      const { savedAt, version } = JSON.parse(readFileSync(onlyFile(stateDir), "utf8"))
      assert.strictEqual(version, 1)
      assert.isAtLeast(savedAt, before)
    })
  )

  const local: ServerConfig.Input = {
    type: "local",
    command: ["server", "--port", "1"],
    environment: { A: "canary-env-value", B: "2" },
    cwd: "/tmp"
  }
  const remote: ServerConfig.Input = {
    type: "remote",
    url: "https://example.com/mcp?key=canary-url-value",
    headers: { Authorization: "Bearer canary-header-value", "X-B": "2" },
    oauth: { clientId: "me", clientSecret: "canary-client-secret" }
  }
  const changes: ReadonlyArray<readonly [string, ServerConfig.Input, ServerConfig.Input]> = [
    ["command", local, { ...local, command: ["other", "--port", "1"] }],
    ["an argument", local, { ...local, command: ["server", "--port", "2"] }],
    ["how arguments are split", local, { ...local, command: ["server", "--port 1"] }],
    ["environment", local, { ...local, environment: { A: "canary-env-value", B: "3" } }],
    ["inheritEnv", local, { ...local, inheritEnv: true }],
    ["cwd", local, { ...local, cwd: "/" }],
    ["protocol", local, { ...local, protocol: "legacy" }],
    ["url", remote, { ...remote, url: "https://example.com/mcp?key=other" }],
    ["headers", remote, { ...remote, headers: { "X-B": "2" } }],
    ["oauth", remote, { ...remote, oauth: { clientId: "me", clientSecret: "other" } }],
    ["no oauth", remote, { ...remote, oauth: false }],
    ["transport", remote, { ...remote, type: "sse" }],
    ["protocol of a remote one", remote, { ...remote, protocol: "legacy" }],
    ["caFile", remote, { ...remote, caFile: "/ca.pem" }],
    ["privateNetwork", remote, { ...remote, privateNetwork: true }]
  ]

  it.scopedLive("returns nothing for another name, or for a config that needs another link", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      yield* store.save("it", configOf(local), stored("local"))
      assert.isTrue(Option.isNone(yield* store.load("other", configOf(local))))
      assert.isTrue(Option.isNone(yield* store.load("it", configOf(remote))))
      yield* store.save("it", configOf(remote), stored("remote"))
      for (const [what, from, to] of changes) {
        assert.isTrue(Option.isSome(yield* store.load("it", configOf(from))), what)
        assert.isTrue(Option.isNone(yield* store.load("it", configOf(to))), what)
      }
    })
  )

  it.scopedLive("returns the listing for an equal config: other settings, other order, redacted or not", () =>
    Effect.gen(function* () {
      const store = yield* open(yield* stateDirectory)
      yield* store.save("it", configOf(local), stored("local"))
      yield* store.save("it", configOf(remote), stored("remote"))
      const same: ReadonlyArray<ServerConfig.Input> = [
        { ...local, environment: { B: "2", A: "canary-env-value" }, lazy: true, timeout: { call: 1000 } },
        { ...local, command: [Redacted.make("server"), "--port", Redacted.make("1")] },
        { ...remote, headers: { "X-B": "2", Authorization: "Bearer canary-header-value" }, enabled: false },
        { ...remote, oauth: { clientSecret: Redacted.make("canary-client-secret"), clientId: "me" } }
      ]
      for (const [index, input] of same.entries()) {
        const loaded = Option.getOrThrow(yield* store.load("it", configOf(input)))
        assert.strictEqual(loaded.listings.tools[0]!.name, index < 2 ? "local" : "remote")
      }
    })
  )

  it.scopedLive("shows no secret, neither in a file name nor in a file", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      yield* store.save("it", configOf(local), stored("a"))
      yield* store.save("it", configOf(remote), stored("b"))
      const everything = [...files(stateDir), join(stateDir, "catalog.key")].map(
        (path) => `${path} ${readFileSync(path, "utf8")}`
      )
      assert.strictEqual(everything.length, 3)
      assert.notInclude(everything.join(), "canary")
      assert.notInclude(everything.join(), Buffer.from("canary").toString("hex"))
      // another key gives other file names: they cannot be guessed from a config
      const other = yield* stateDirectory
      yield* (yield* open(other)).save("it", configOf(local), stored("a"))
      assert.notInclude(files(stateDir).join(), files(other)[0]!.slice(-69))
    })
  )

  it.scopedLive("agrees on one key when several processes start at once", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const stores = yield* Effect.forEach(Array.from({ length: 16 }), () => open(stateDir))
      yield* Effect.forEach(stores, (store, index) => store.save("it", config, stored(String(index))), {
        concurrency: "unbounded"
      })
      onlyFile(stateDir)
      for (const store of stores) assert.isTrue(Option.isSome(yield* store.load("it", config)))
    })
  )

  it.scopedLive("ends with the last saved value, however many saves are pending", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      for (let round = 0; round < 20; round += 1) {
        yield* Effect.forEach(
          Array.from({ length: 10 }),
          (_, index) => store.save("it", config, stored(`${round} ${index}`)),
          {
            concurrency: "unbounded"
          }
        )
        const loaded = Option.getOrThrow(yield* store.load("it", config))
        assert.strictEqual(loaded.listings.tools[0]!.name, `${round} 9`)
      }
      onlyFile(stateDir)
    })
  )

  it.scopedLive("treats a corrupt file as missing, and replaces it", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      yield* store.save("it", config, stored("a"))
      const path = onlyFile(stateDir)
      const whole = readFileSync(path, "utf8")
      const broken = [
        "",
        "null",
        "[]",
        whole.slice(0, -10),
        whole.replace('"version":1', '"version":"1"'),
        whole.replace('"version":1', '"version":0'),
        whole.replace('"tools":[', '"tools":[7,'),
        whole.replace('"prompts"', '"promts"'),
        whole.replace('"savedAt":', '"savedAt":null,"x":')
      ]
      for (const text of broken) {
        writeFileSync(path, text)
        assert.isTrue(Option.isNone(yield* store.load("it", config)), text)
        yield* store.save("it", config, stored("b"))
        assert.isTrue(Option.isSome(yield* store.load("it", config)))
      }
    })
  )

  it.scopedLive("reads no file that is too large and no pipe", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      yield* store.save("it", config, stored("a"))
      const path = onlyFile(stateDir)
      const whole = readFileSync(path, "utf8")
      const limit = 64 * 1024 * 1024
      writeFileSync(path, whole.padEnd(limit))
      assert.isTrue(Option.isSome(yield* store.load("it", config)))
      writeFileSync(path, whole.padEnd(limit + 1))
      assert.isTrue(Option.isNone(yield* store.load("it", config)))
      rmSync(path)
      execFileSync("mkfifo", [path])
      assert.isTrue(Option.isNone(yield* store.load("it", config)))
      yield* store.save("it", config, stored("b"))
      assert.isTrue(Option.isSome(yield* store.load("it", config)))
    })
  )

  it.scopedLive("neither reads nor replaces files of a later version", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const store = yield* open(stateDir)
      yield* store.save("it", config, stored("a"))
      const path = onlyFile(stateDir)
      const newer = readFileSync(path, "utf8").replace('"version":1', '"version":2')
      writeFileSync(path, newer)
      assert.isTrue(Option.isNone(yield* store.load("it", config)))
      yield* store.save("it", config, stored("b"))
      assert.strictEqual(readFileSync(path, "utf8"), newer)
    })
  )

  it.scopedLive("makes a new key if the old one is corrupt, and keeps one of a later version", () =>
    Effect.gen(function* () {
      const stateDir = yield* stateDirectory
      const path = join(stateDir, "catalog.key")
      mkdirSync(stateDir)
      writeFileSync(path, "half a k")
      yield* (yield* open(stateDir)).save("it", config, stored("a"))
      assert.isTrue(Option.isSome(yield* (yield* open(stateDir)).load("it", config)))
      const newer = '{"version":2,"kind":"other"}'
      writeFileSync(path, newer)
      const store = yield* open(stateDir)
      yield* store.save("it", config, stored("b")).pipe(Logger.withMinimumLogLevel(LogLevel.None))
      assert.isTrue(Option.isNone(yield* store.load("it", config)))
      assert.strictEqual(readFileSync(path, "utf8"), newer)
    })
  )

  it.scopedLive("reports once that nothing can be written, and continues", () =>
    Effect.gen(function* () {
      const file = yield* stateDirectory
      writeFileSync(file, "")
      const lines: Array<string> = []
      const logger = Logger.make(({ logLevel, message }) => void lines.push(`${logLevel.label} ${String(message)}`))
      const store = yield* open(file)
      const saved = yield* Effect.exit(
        Effect.all([store.save("it", config, stored("a")), store.save("it", config, stored("b"))])
      ).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      assert.isTrue(Exit.isSuccess(saved))
      assert.isTrue(Option.isNone(yield* store.load("it", config)))
      assert.deepStrictEqual(lines, ["WARN mcp.catalog.unsaved"])
    })
  )
})
