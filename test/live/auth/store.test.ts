import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Stream } from "effect"
import * as FileCredentialStore from "../../../src/auth/tokens/FileCredentialStore.js"
import type { Credential } from "../../../src/auth/tokens/Credential.js"
import { fileIn, storedLogins } from "../support/loggedIn.js"
import { program } from "../support/program.js"
import { live, temporaryDirectory } from "../support/supervised.js"

const key = { server: "it", serverUrl: "http://127.0.0.1/mcp" }
const login: Credential = { ...key, issuer: "http://as", tokens: { accessToken: "a-token", refreshToken: "another" } }

describe("stored logins", () => {
  live(
    "stay complete and private during 800 updates of 4 processes that are killed and suspended, without a lost update",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const updates = 200
      let kills = 0
      let stops = 0
      let reads = 0
      // a fixed seed: the moments differ from run to run anyway
      let seed = 42
      const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647

      const worker = (name: string) =>
        Effect.gen(function* () {
          let done = 0
          let lives = 0
          while (done < updates) {
            lives += 1
            const next = yield* Effect.scoped(
              Effect.gen(function* () {
                const args = [stateDir, name, String(done + 1), String(updates)]
                const writer = yield* program("./storeWriter.ts", ...args)
                yield* writer.line((line) => line === "ready")
                const until = lives > 2 ? Infinity : done + 1 + Math.floor(random() * updates * 0.6)
                if (until <= updates) {
                  yield* writer.line((line) => Number(line) >= until)
                  if (random() < 0.5) {
                    stops += 1
                    writer.child.kill("SIGSTOP")
                    // as long as others need for some updates, or find that they have to wait
                    yield* Effect.sleep(20 + random() * 200)
                    writer.child.kill("SIGCONT")
                  }
                  kills += 1
                  writer.child.kill("SIGKILL")
                }
                const code = yield* writer.exit
                if (until > updates) assert.strictEqual(code, 0, writer.errors())
                return Math.max(done, ...writer.lines.map(Number).filter(Number.isFinite))
              })
            )
            done = next
          }
        })

      const reading = Effect.forever(
        Effect.zipRight(
          Effect.sync(() => {
            if (!readdirSync(stateDir).includes("mcp-auth.json")) return
            assert.isArray(storedLogins(stateDir))
            assert.strictEqual(statSync(join(stateDir, "mcp-auth.json")).mode & 0o777, 0o600)
            reads += 1
          }),
          Effect.sleep(1)
        )
      )
      const names = ["a", "b", "c", "d"]
      yield* Effect.raceFirst(Effect.all(names.map(worker), { concurrency: 4 }), reading)
      const logins = storedLogins(stateDir)
      const words = (logins.find(({ server }) => server === "shared")?.tokens?.scope ?? "").split(" ")
      const expected = names.flatMap((name) => Array.from({ length: updates }, (_, index) => `${name}-${index + 1}`))
      assert.deepStrictEqual([...words].sort(), [...expected].sort())
      for (const name of names) {
        assert.strictEqual(logins.find(({ server }) => server === name)?.tokens?.expiresAt, updates)
      }
      assert.isAbove(kills, 3)
      assert.isAbove(reads, 100)
      assert.strictEqual(statSync(stateDir).mode & 0o777, 0o700)
      // nothing with tokens in it lies about
      assert.deepStrictEqual(
        readdirSync(stateDir).filter((name) => name !== "mcp-auth.json" && name !== "locks"),
        []
      )
      assert.isAbove(stops, 0)
    }),
    240_000
  )

  live(
    "in a damaged file are moved aside and not lost",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const store = yield* FileCredentialStore.make(stateDir)
      const damaged = `{"version": 1, "logins": [{"server": "it"}}`
      writeFileSync(join(stateDir, "mcp-auth.json"), damaged)
      assert.isTrue(Option.isNone(yield* store.load(key)))
      yield* store.save(key, Option.some(login))
      assert.deepStrictEqual(Option.getOrThrow(yield* store.load(key)), login)
      const aside = readdirSync(stateDir).find((name) => name.startsWith("mcp-auth.json.corrupt-"))
      assert.strictEqual(readFileSync(join(stateDir, aside ?? ""), "utf8"), damaged)
    })
  )

  live(
    "of a newer version are left unchanged",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const store = yield* FileCredentialStore.make(stateDir)
      const newer = JSON.stringify({ version: 2, logins: {} })
      writeFileSync(join(stateDir, "mcp-auth.json"), newer)
      const error = yield* Effect.flip(store.save(key, Option.some(login)))
      assert.include(error.message, "newer version")
      assert.strictEqual(fileIn(stateDir), newer)
    })
  )

  live(
    "that cannot be decoded stay unchanged",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const store = yield* FileCredentialStore.make(stateDir)
      const strange = { server: "other", serverUrl: "x", of: "unknown" }
      writeFileSync(join(stateDir, "mcp-auth.json"), JSON.stringify({ version: 1, logins: [strange] }))
      yield* store.save(key, Option.some(login))
      assert.deepStrictEqual(storedLogins(stateDir), [strange, login] as never)
      yield* store.save(key, Option.none())
      assert.deepStrictEqual(storedLogins(stateDir), [strange] as never)
    })
  )

  live(
    "are readable only by the user, also if the directory was open",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      chmodSync(stateDir, 0o755)
      const store = yield* FileCredentialStore.make(stateDir)
      yield* store.save(key, Option.some(login))
      assert.strictEqual(statSync(stateDir).mode & 0o777, 0o700)
      assert.strictEqual(statSync(join(stateDir, "mcp-auth.json")).mode & 0o777, 0o600)
    })
  )

  live(
    "belong to a server name and a URL",
    Effect.gen(function* () {
      const store = yield* FileCredentialStore.make(yield* temporaryDirectory)
      yield* store.save(key, Option.some(login))
      assert.isTrue(Option.isNone(yield* store.load({ ...key, serverUrl: "http://127.0.0.1/other" })))
      assert.isTrue(Option.isNone(yield* store.load({ ...key, server: "another" })))
      const elsewhere = { ...login, serverUrl: "http://127.0.0.1/other" }
      yield* store.save(elsewhere, Option.some(elsewhere))
      assert.deepStrictEqual(Option.getOrThrow(yield* store.load(key)), login)
      // the same for many at once, in the order of the question
      const keys = [elsewhere, { ...key, server: "another" }, key]
      assert.deepStrictEqual(yield* store.loadAll!(keys), yield* Effect.forEach(keys, store.load))
    })
  )

  live(
    "report changes by other processes",
    Effect.gen(function* () {
      const stateDir = yield* temporaryDirectory
      const store = yield* FileCredentialStore.make(stateDir)
      const other = yield* FileCredentialStore.make(stateDir)
      const listening = yield* Deferred.make<void>()
      const heard = yield* store.changes.pipe(
        Stream.tap(() => Deferred.succeed(listening, undefined)),
        Stream.take(2),
        Stream.runDrain,
        Effect.fork
      )
      yield* Deferred.await(listening)
      yield* other.save(key, Option.some(login))
      yield* Fiber.join(heard)
    })
  )
})
