import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, FastCheck as fc, Fiber, Option, Stream } from "effect"
import { instructions, isHeadless } from "../../src/auth/Browser.js"
import * as CredentialStore from "../../src/auth/CredentialStore.js"
import { makeMemory } from "../../src/auth/tokens/credentialStorePort.js"
import * as LoginState from "../../src/auth/login/LoginState.js"
import { callbackPage } from "../../src/auth/login/callbackPage.js"
import { isRenewable, isSameTarget, loginTargetOf, tokensOf } from "../../src/auth/login/LoginTarget.js"
import * as Secrets from "../../src/domain/Secrets.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const remote = (entry: Record<string, unknown>) =>
  Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry as never)).config) as ServerConfig.Remote

describe("the last page", () => {
  it("holds no markup but its own", () =>
    fc.assert(
      fc.property(fc.string(), fc.string(), (title, text) => {
        const made = callbackPage(title, text)
        const tags = made.match(/<[^>]*>/g) ?? []
        assert.deepStrictEqual(tags, callbackPage("", "").match(/<[^>]*>/g))
      })
    ))
})

describe("a machine nobody sits before", () => {
  it("is one without a display, or reached from elsewhere", () => {
    assert.isTrue(isHeadless({}, "linux"))
    assert.isFalse(isHeadless({ DISPLAY: ":0" }, "linux"))
    assert.isFalse(isHeadless({ WAYLAND_DISPLAY: "w" }, "linux"))
    assert.isFalse(isHeadless({ WSL_DISTRO_NAME: "d" }, "linux"))
    assert.isFalse(isHeadless({}, "darwin"))
    assert.isTrue(isHeadless({ SSH_CONNECTION: "x" }, "darwin"))
    assert.isTrue(isHeadless({ CI: "1" }, "win32"))
  })
})

describe("whoever has to find a browser himself", () => {
  it("pain 40: gets the address, and what really finishes the login", () => {
    const text = instructions("https://as.example/authorize?state=x")
    assert.include(text, "https://as.example/authorize?state=x")
    assert.include(text, "McpAuth.finishLogin")
    assert.notInclude(text, "here")
  })
})

describe("whom a login is for", () => {
  it("pain 43: is known by one address, however it is spelt", () => {
    const of = (url: string) => loginTargetOf("it", remote({ url }))?.serverUrl
    assert.strictEqual(of("https://HOST.example:443/mcp#part"), "https://host.example/mcp")
    assert.strictEqual(of("https://host.example"), of("https://host.example/"))
    assert.notStrictEqual(of("https://host.example/mcp"), of("https://host.example/other"))
  })

  it("pain 44: is nobody where the config says itself what to send, or wants no login", () => {
    const url = "https://host.example/mcp"
    assert.isUndefined(loginTargetOf("it", remote({ url, oauth: false })))
    assert.isUndefined(loginTargetOf("it", remote({ url, headers: { AUTHORIZATION: "x" } })))
    assert.isUndefined(loginTargetOf("it", remote({ url: "https://user:pass@host.example/mcp" })))
    assert.isDefined(loginTargetOf("it", remote({ url, headers: { "x-other": "x" } })))
  })

  it("pain 35: is the same when the same config is read again", () => {
    const entry = { url: "https://host.example/mcp", oauth: { clientId: "c", clientSecret: "secret" } }
    const of = (more: Record<string, unknown> = {}) => loginTargetOf("it", remote({ ...entry, ...more }))!
    assert.isTrue(isSameTarget(of(), of()))
    assert.isTrue(isSameTarget(of(), of({ timeout: 1000 })))
    assert.isFalse(isSameTarget(of(), of({ oauth: { clientId: "c", clientSecret: "another" } })))
    assert.isFalse(isSameTarget(of(), of({ url: "https://host.example/other" })))
    assert.isFalse(isSameTarget(of(), of({ caFile: "/ca.pem" })))
  })

  it("has no use for the tokens of another client", () => {
    const tokens = { accessToken: "a", refreshToken: "r" }
    const credential = { server: "it", serverUrl: "x", tokens, clientInfo: { clientId: "one", registered: false } }
    const of = (oauth: Record<string, unknown>) => loginTargetOf("it", remote({ url: "https://host.example", oauth }))!
    assert.strictEqual(tokensOf(of({}), credential), tokens)
    assert.strictEqual(tokensOf(of({ clientId: "one" }), credential), tokens)
    assert.isUndefined(tokensOf(of({ clientId: "two" }), credential))
    assert.isTrue(isRenewable(of({}), tokens))
    assert.isFalse(isRenewable(of({}), { ...tokens, refused: true }))
    assert.isFalse(isRenewable(of({}), { accessToken: "a" }))
    assert.isTrue(isRenewable(of({ grant: "client_credentials", clientId: "m" }), undefined))
  })
})

describe("what a process knows of a login", () => {
  const login = { server: "it", serverUrl: "x", tokens: { accessToken: "first-token" } }

  it("hides the token it uses, and gives the same object while nothing changes", () => {
    const memory = LoginState.make()
    assert.isTrue(memory.adopt(login))
    const secrets = memory.secrets()
    assert.strictEqual(Secrets.scrub(secrets)("Bearer first-token"), "Bearer [redacted]")
    assert.isFalse(memory.adopt({ ...login, issuer: "another" }))
    assert.strictEqual(memory.secrets(), secrets)
    assert.isTrue(memory.adopt({ ...login, tokens: { accessToken: "second-token" } }))
    assert.strictEqual(Secrets.scrub(memory.secrets())("Bearer second-token"), "Bearer [redacted]")
    assert.isTrue(memory.adopt(undefined))
  })

  it("hides whatever is replaced, also where the rest stays the same, and what it replaces", () => {
    const memory = LoginState.make()
    const scrubbed = (text: string) => Secrets.scrub(memory.secrets())(text)
    const tokens = { accessToken: "first-token", refreshToken: "first-refresh" }
    memory.adopt({ ...login, tokens })
    assert.isFalse(memory.adopt({ ...login, tokens: { ...tokens, refreshToken: "second-refresh" } }))
    assert.strictEqual(scrubbed("second-refresh"), "[redacted]")
    assert.isTrue(memory.adopt({ ...login, tokens: { accessToken: "third-token", refreshToken: "third-refresh" } }))
    for (const text of ["first-token", "first-refresh", "second-refresh", "third-token", "third-refresh"]) {
      assert.strictEqual(scrubbed(`it was ${text}`), "it was [redacted]")
    }
    memory.adopt(undefined)
    assert.strictEqual(scrubbed("third-token"), "[redacted]")
    // not for ever
    for (let round = 0; round < 20; round += 1) memory.adopt({ ...login, tokens: { accessToken: `token-no-${round}` } })
    assert.strictEqual(scrubbed("token-no-18"), "[redacted]")
    assert.strictEqual(scrubbed("first-token"), "first-token")
  })

  it("hides a login that is under way", () => {
    const memory = LoginState.make()
    const discovery = { issuer: "https://as.example", authorizationServerUrl: "https://as.example" }
    const begun = {
      oauthState: "the-state",
      codeVerifier: "the-verifier",
      redirectUri: "http://127.0.0.1/",
      issuer: "https://as.example",
      clientInfo: { clientId: "client", clientSecret: "the-secret", registered: true },
      discovery,
      startedAt: 0
    }
    memory.adopt({ server: "it", serverUrl: "x", login: begun })
    for (const text of ["the-state", "the-verifier", "the-secret"]) {
      assert.strictEqual(Secrets.scrub(memory.secrets())(text), "[redacted]")
    }
  })

  it.effect("says when the token is another one", () =>
    Effect.gen(function* () {
      const memory = LoginState.make()
      const waiting = yield* Effect.fork(memory.changed)
      yield* Effect.yieldNow()
      memory.adopt(login)
      yield* Fiber.join(waiting)
    })
  )
})

describe("logins in memory", () => {
  const key = { server: "it", serverUrl: "x" }
  const login = { ...key, tokens: { accessToken: "a" } }

  it.effect("are kept until they are removed, and one at a time may change them", () =>
    Effect.gen(function* () {
      const store = makeMemory()
      const listening = yield* Deferred.make<void>()
      const heard = yield* store.changes.pipe(
        Stream.tap(() => Deferred.succeed(listening, undefined)),
        Stream.take(2),
        Stream.runDrain,
        Effect.fork
      )
      yield* Deferred.await(listening)
      assert.isTrue(Option.isNone(yield* store.load(key)))
      yield* store.save(key, Option.some(login))
      assert.deepStrictEqual(yield* store.load(key), Option.some(login))
      assert.isTrue(Option.isNone(yield* store.load({ ...key, serverUrl: "y" })))
      yield* Fiber.join(heard)
      let inside = 0
      const work = Effect.gen(function* () {
        inside += 1
        assert.strictEqual(inside, 1)
        yield* Effect.yieldNow()
        inside -= 1
      })
      yield* Effect.all(
        Array.from({ length: 5 }, () => store.exclusively(key)(work)),
        { concurrency: 5 }
      )
      yield* store.save(key, Option.none())
      assert.isTrue(Option.isNone(yield* store.load(key)))
    })
  )

  it.effect("belong to the layer that keeps them", () =>
    Effect.gen(function* () {
      const save = Effect.flatMap(CredentialStore.CredentialStore, (store) => store.save(key, Option.some(login)))
      const load = Effect.flatMap(CredentialStore.CredentialStore, (store) => store.load(key))
      yield* Effect.provide(save, CredentialStore.layerMemory)
      assert.isTrue(Option.isNone(yield* Effect.provide(load, CredentialStore.layerMemory)))
      const both = Effect.provide(Effect.zipRight(save, load), CredentialStore.layerMemory)
      assert.isTrue(Option.isSome(yield* both))
    })
  )
})
