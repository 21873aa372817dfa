import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Option, TestClock } from "effect"
import { makeMemory } from "../../src/auth/CredentialStore/port.js"
import * as Engine from "../../src/auth/Engine.js"
import { keepFresh } from "../../src/auth/Renewal.js"
import { subjectOf } from "../../src/auth/Subject.js"
import * as ServerConfig from "../../src/domain/ServerConfig.js"

const url = "https://host.example/mcp"
const config = Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", { url })).config) as ServerConfig.Remote
const subject = subjectOf("it", config)!

describe("tokens that hardly live", () => {
  it.scoped("are renewed ever more seldom, while nobody needs them", () =>
    Effect.gen(function* () {
      let asked = 0
      const refresh = () =>
        Effect.sync(() => ({ accessToken: `token-${++asked}`, refreshToken: "refresh", expiresIn: 1 }))
      const store = makeMemory()
      const options = { store, clientInfo: { name: "test", version: "1" }, onEvent: () => {}, onChange: () => {} }
      // nobody is asked but this one
      const oauth = Effect.succeed({ refresh } as never)
      const engine: Engine.Engine = { ...(yield* Engine.make(options)), oauth, fetchFor: () => Effect.void as never }
      const discovery = { issuer: "https://as.example", authorizationServerUrl: "https://as.example" }
      const record = {
        server: subject.server,
        serverUrl: subject.serverUrl,
        discovery,
        clientInfo: { clientId: "c", registered: true },
        tokens: { accessToken: "token-0", refreshToken: "refresh", expiresAt: 1000 }
      }
      yield* store.save(subject, Option.some(record))
      engine.memoryOf(subject).adopt(record)
      yield* Effect.forkScoped(keepFresh(engine, subject))
      for (let second = 0; second < 60; second += 1) yield* TestClock.adjust("1 second")
      assert.isAtLeast(asked, 3)
      assert.isAtMost(asked, 8)
    })
  )
})
