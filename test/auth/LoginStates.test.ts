import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import * as LoginStates from "../../src/auth/login/LoginStates.js"

const key = { server: "it", serverUrl: "https://host.example/mcp" }
const elsewhere = { ...key, serverUrl: "https://other.example/mcp" }
const other = { ...key, server: "other" }

const names = (states: LoginStates.LoginStates) =>
  states
    .all()
    .map(({ key }) => `${key.server} ${key.serverUrl}`)
    .sort()

describe("login states", () => {
  it("are separate for each server name and URL", () => {
    const states = LoginStates.make()
    assert.strictEqual(states.get(key), states.get({ ...key }))
    assert.notStrictEqual(states.get(key), states.get(elsewhere))
    assert.notStrictEqual(states.get(key), states.get(other))
  })

  it("are dropped with their server", () => {
    const states = LoginStates.make()
    states.get(key)
    states.get(other)
    states.forget("it")
    assert.deepStrictEqual(names(states), ["other https://host.example/mcp"])
  })

  it.effect("stay while they are in use, or used again", () =>
    Effect.gen(function* () {
      const states = LoginStates.make()
      const scope = yield* Scope.make()
      const loginState = yield* Scope.extend(states.use(key), scope)
      states.forget("it")
      assert.strictEqual(states.get(key), loginState)
      const again = yield* Scope.make()
      assert.strictEqual(yield* Scope.extend(states.use(key), again), loginState)
      yield* Scope.close(scope, Exit.void)
      yield* Scope.close(again, Exit.void)
      // The server exists, although it is not connected.
      assert.strictEqual(states.get(key), loginState)
      states.forget("it")
      assert.deepStrictEqual(names(states), [])
    })
  )

  it("stay while they contain unsaved tokens", () => {
    const states = LoginStates.make()
    const loginState = states.get(key)
    loginState.unsaved = { tokens: { accessToken: "token" }, stored: undefined }
    states.forget("it")
    assert.strictEqual(states.get(key), loginState)
    loginState.unsaved = undefined
    assert.deepStrictEqual(names(states), [])
  })

  it.effect("are dropped when their server is used at another URL", () =>
    Effect.gen(function* () {
      const states = LoginStates.make()
      states.get(key)
      states.get(other)
      yield* Effect.scoped(states.use(elsewhere))
      assert.deepStrictEqual(names(states), ["it https://other.example/mcp", "other https://host.example/mcp"])
    })
  )
})
