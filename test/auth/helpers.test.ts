import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Either, FastCheck as fc, Fiber, Option, Stream } from "effect"
import { instructions, isHeadless } from "../../src/auth/Browser.js"
import * as CredentialStore from "../../src/auth/CredentialStore.js"
import { makeMemory } from "../../src/auth/tokens/credentialStorePort.js"
import * as LoginState from "../../src/auth/login/LoginState.js"
import { callbackPage } from "../../src/auth/login/callbackPage.js"
import { isSameTarget, loginTargetOf, tokensOf } from "../../src/auth/login/LoginTarget.js"
import * as Secrets from "../../src/domain/Secrets.js"
import * as ServerConfig from "../../src/domain/server/ServerConfig.js"

const remote = (entry: Record<string, unknown>) =>
  Option.getOrThrow(Either.getOrThrow(ServerConfig.decode("it", entry as never)).config) as ServerConfig.Remote

describe("the result page of a login", () => {
  it("escapes its title and text", () =>
    fc.assert(
      fc.property(fc.string(), fc.string(), (title, text) => {
        const made = callbackPage(title, text)
        const tags = made.match(/<[^>]*>/g) ?? []
        assert.deepStrictEqual(tags, callbackPage("", "").match(/<[^>]*>/g))
      })
    ))
})

describe("a headless machine", () => {
  it("has no display, or is used over SSH or in CI", () => {
    assert.isTrue(isHeadless({}, "linux"))
    assert.isFalse(isHeadless({ DISPLAY: ":0" }, "linux"))
    assert.isFalse(isHeadless({ WAYLAND_DISPLAY: "w" }, "linux"))
    assert.isFalse(isHeadless({ WSL_DISTRO_NAME: "d" }, "linux"))
    assert.isFalse(isHeadless({}, "darwin"))
    assert.isTrue(isHeadless({ SSH_CONNECTION: "x" }, "darwin"))
    assert.isTrue(isHeadless({ CI: "1" }, "win32"))
  })
})

describe("the instructions without a browser", () => {
  it("contain the URL and how to complete the login", () => {
    const text = instructions("https://as.example/authorize?state=x")
    assert.include(text, "https://as.example/authorize?state=x")
    assert.include(text, "McpAuth.finishLogin")
    assert.notInclude(text, "here")
  })
})

describe("a login target", () => {
  it("has one URL for all spellings of an address", () => {
    const of = (url: string) => loginTargetOf("it", remote({ url }))?.serverUrl
    assert.strictEqual(of("https://HOST.example:443/mcp#part"), "https://host.example/mcp")
    assert.strictEqual(of("https://host.example"), of("https://host.example/"))
    assert.notStrictEqual(of("https://host.example/mcp"), of("https://host.example/other"))
  })

  it("does not exist if the config contains credentials or disables logins", () => {
    const url = "https://host.example/mcp"
    assert.isUndefined(loginTargetOf("it", remote({ url, oauth: false })))
    assert.isUndefined(loginTargetOf("it", remote({ url, headers: { AUTHORIZATION: "x" } })))
    assert.isUndefined(loginTargetOf("it", remote({ url: "https://user:pass@host.example/mcp" })))
    assert.isDefined(loginTargetOf("it", remote({ url, headers: { "x-other": "x" } })))
  })

  it("is equal for equal configs", () => {
    const entry = { url: "https://host.example/mcp", oauth: { clientId: "c", clientSecret: "secret" } }
    const of = (more: Record<string, unknown> = {}) => loginTargetOf("it", remote({ ...entry, ...more }))!
    assert.isTrue(isSameTarget(of(), of()))
    assert.isTrue(isSameTarget(of(), of({ timeout: 1000 })))
    assert.isFalse(isSameTarget(of(), of({ oauth: { clientId: "c", clientSecret: "another" } })))
    assert.isFalse(isSameTarget(of(), of({ url: "https://host.example/other" })))
    assert.isFalse(isSameTarget(of(), of({ caFile: "/ca.pem" })))
  })

  it("ignores tokens of another client", () => {
    const tokens = { accessToken: "a", refreshToken: "r" }
    const credential = { server: "it", serverUrl: "x", tokens, clientInfo: { clientId: "one", registered: false } }
    const of = (oauth: Record<string, unknown>) => loginTargetOf("it", remote({ url: "https://host.example", oauth }))!
    assert.strictEqual(tokensOf(of({}), credential), tokens)
    assert.strictEqual(tokensOf(of({ clientId: "one" }), credential), tokens)
    assert.isUndefined(tokensOf(of({ clientId: "two" }), credential))
    assert.isTrue(of({}).grant.isRenewable(tokens))
    assert.isFalse(of({}).grant.isRenewable({ ...tokens, refused: true }))
    assert.isFalse(of({}).grant.isRenewable({ accessToken: "a" }))
    assert.isTrue(of({ grant: "client_credentials", clientId: "m" }).grant.isRenewable(undefined))
  })
})

describe("a login state", () => {
  const login = { server: "it", serverUrl: "x", tokens: { accessToken: "first-token" } }

  it("hides its token, and returns the same secrets while nothing changes", () => {
    const loginState = LoginState.make()
    assert.isTrue(loginState.adopt(login))
    const secrets = loginState.secrets()
    assert.strictEqual(Secrets.scrub(secrets)("Bearer first-token"), "Bearer [redacted]")
    assert.isFalse(loginState.adopt({ ...login, issuer: "another" }))
    assert.strictEqual(loginState.secrets(), secrets)
    assert.isTrue(loginState.adopt({ ...login, tokens: { accessToken: "second-token" } }))
    assert.strictEqual(Secrets.scrub(loginState.secrets())("Bearer second-token"), "Bearer [redacted]")
    assert.isTrue(loginState.adopt(undefined))
  })

  it("hides current and replaced secrets", () => {
    const loginState = LoginState.make()
    const scrubbed = (text: string) => Secrets.scrub(loginState.secrets())(text)
    const tokens = { accessToken: "first-token", refreshToken: "first-refresh" }
    loginState.adopt({ ...login, tokens })
    assert.isFalse(loginState.adopt({ ...login, tokens: { ...tokens, refreshToken: "second-refresh" } }))
    assert.strictEqual(scrubbed("second-refresh"), "[redacted]")
    assert.isTrue(loginState.adopt({ ...login, tokens: { accessToken: "third-token", refreshToken: "third-refresh" } }))
    for (const text of ["first-token", "first-refresh", "second-refresh", "third-token", "third-refresh"]) {
      assert.strictEqual(scrubbed(`it was ${text}`), "it was [redacted]")
    }
    loginState.adopt(undefined)
    assert.strictEqual(scrubbed("third-token"), "[redacted]")
    // Not forever.
    for (let round = 0; round < 20; round += 1)
      loginState.adopt({ ...login, tokens: { accessToken: `token-no-${round}` } })
    assert.strictEqual(scrubbed("token-no-18"), "[redacted]")
    assert.strictEqual(scrubbed("first-token"), "first-token")
  })

  it("hides the secrets of a pending login", () => {
    const loginState = LoginState.make()
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
    loginState.adopt({ server: "it", serverUrl: "x", login: begun })
    for (const text of ["the-state", "the-verifier", "the-secret"]) {
      assert.strictEqual(Secrets.scrub(loginState.secrets())(text), "[redacted]")
    }
  })

  it.effect("reports a change of the token", () =>
    Effect.gen(function* () {
      const loginState = LoginState.make()
      const waiting = yield* Effect.fork(loginState.tokenChanged)
      yield* Effect.yieldNow()
      loginState.adopt(login)
      yield* Fiber.join(waiting)
    })
  )
})

describe("the store in loginState", () => {
  const key = { server: "it", serverUrl: "x" }
  const login = { ...key, tokens: { accessToken: "a" } }

  it.effect("stores logins until they are removed, and lets one caller at a time change them", () =>
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

  it.effect("is separate for each layer", () =>
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
