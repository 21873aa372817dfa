import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as LoginStates from "../../src/auth/login/LoginStates.js"

const key = { server: "it", serverUrl: "https://host.example/mcp" }
const elsewhere = { ...key, serverUrl: "https://other.example/mcp" }
const other = { ...key, server: "other" }

const names = (memories: LoginStates.LoginStates) =>
  memories
    .all()
    .map(({ key }) => `${key.server} ${key.serverUrl}`)
    .sort()

describe("what a process knows of logins", () => {
  it("is one memory for each name and address", () => {
    const memories = LoginStates.make()
    assert.strictEqual(memories.of(key), memories.of({ ...key }))
    assert.notStrictEqual(memories.of(key), memories.of(elsewhere))
    assert.notStrictEqual(memories.of(key), memories.of(other))
  })

  it("goes with its server", () => {
    const memories = LoginStates.make()
    memories.of(key)
    memories.of(other)
    memories.forget("it")
    assert.deepStrictEqual(names(memories), ["other https://host.example/mcp"])
  })

  it.effect("stays as long as somebody uses it, and for whoever comes back", () =>
    Effect.gen(function* () {
      const memories = LoginStates.make()
      const scope = yield* Scope.make()
      const memory = yield* Scope.extend(memories.use(key), scope)
      memories.forget("it")
      assert.strictEqual(memories.of(key), memory)
      const again = yield* Scope.make()
      assert.strictEqual(yield* Scope.extend(memories.use(key), again), memory)
      yield* Scope.close(scope, Exit.void)
      yield* Scope.close(again, Exit.void)
      // its server is there, even if nothing is connected now
      assert.strictEqual(memories.of(key), memory)
      memories.forget("it")
      assert.deepStrictEqual(names(memories), [])
    })
  )

  it("stays while it has what is nowhere else", () => {
    const memories = LoginStates.make()
    const memory = memories.of(key)
    memory.unsaved = { tokens: { accessToken: "token" }, instead: undefined }
    memories.forget("it")
    assert.strictEqual(memories.of(key), memory)
    memory.unsaved = undefined
    assert.deepStrictEqual(names(memories), [])
  })

  it.effect("goes when its server is used at another address", () =>
    Effect.gen(function* () {
      const memories = LoginStates.make()
      memories.of(key)
      memories.of(other)
      yield* Effect.scoped(memories.use(elsewhere))
      assert.deepStrictEqual(names(memories), ["it https://other.example/mcp", "other https://host.example/mcp"])
    })
  )
})
