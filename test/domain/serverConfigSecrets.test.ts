import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { Secrets, ServerConfig } from "../../src/index.js"
import { config } from "./support/decoding.js"

describe("the secrets of a config", () => {
  const hidden = (input: ServerConfig.Input) =>
    ServerConfig.secrets(config(input)).values.map((value) => Redacted.value(value))

  it("are environment values, redacted arguments and values of flags with sensitive names", () => {
    const args = [
      Redacted.make("arg-secret"),
      "--api-key=key-secret",
      "--token",
      "token-secret",
      "--verbose",
      "visible",
      "--mode=visible",
      "--auth"
    ]
    const found = hidden({ command: "x", args, env: { A: "env-secret", SHORT: "abc" }, secrets: ["more-secret"] })
    assert.sameMembers(found, ["more-secret", "env-secret", "arg-secret", "key-secret", "token-secret"])
  })

  it("are headers, also without their scheme, and client secrets", () => {
    const found = hidden({
      url: "https://example.com",
      headers: { Authorization: "Bearer header-secret" },
      oauth: { clientSecret: "client-secret", clientId: "public-id", callbackPort: 1, assumePkce: true }
    })
    assert.sameMembers(found, ["Bearer header-secret", "header-secret", "client-secret"])
  })

  it("are user, password and query values of URLs, wherever they occur", () => {
    const url = "https://user:p%40ssword@example.com/mcp?key=query%20secret&flag"
    const found = ["user", "p%40ssword", "p@ssword", "query%20secret", "query secret", "flag"]
    assert.sameMembers(hidden({ url, oauth: false }), found)
    assert.sameMembers(hidden({ command: "npx", args: ["mcp-remote", url] }), found)
    assert.sameMembers(hidden({ url: Redacted.make("https://example.com/secret-path") }), [
      "https://example.com/secret-path"
    ])
  })

  it("are lines of a key and values of header lines", () => {
    const found = hidden({
      command: "x",
      args: ["--header", "X-Key: line-secret"],
      env: { KEY: "first line\nsecond line" }
    })
    assert.sameMembers(found, [
      "X-Key: line-secret",
      "line-secret",
      "first line\nsecond line",
      "first line",
      "second line"
    ])
  })

  it("are values of variables on a command line, and of flags in every spelling", () => {
    const hides = (...args: ReadonlyArray<string>) => hidden({ command: "docker", args }).includes("ghp_12345678")
    assert.isTrue(hides("run", "-e", "GITHUB_TOKEN=ghp_12345678"))
    assert.isTrue(hides("--env=GITHUB_TOKEN=ghp_12345678"))
    assert.isTrue(hides("--api_key=ghp_12345678"))
    assert.isTrue(hides("--access-key", "ghp_12345678"))
    assert.isTrue(hides("--pat", "ghp_12345678"))
    assert.isTrue(hides("-H", "Authorization: Bearer ghp_12345678"))
    assert.isFalse(hides("--path", "ghp_12345678"))
  })

  it("are found however they are spelled or padded", () => {
    assert.include(hidden({ url: "https://u:100%=secure@h.io/" }), "100%=secure")
    assert.include(hidden({ url: "https://h.io/?token=ab+cd+ef" }), "ab cd ef")
    assert.include(hidden({ url: "https://h.io", headers: { Authorization: "Bearer  tok-123456 " } }), "tok-123456")
    assert.include(hidden({ command: "x", env: { LOGIN: "me:hunter22" } }), "hunter22")
    assert.notInclude(hidden({ command: "x", env: { ADDRESS: "localhost:3000" } }), "3000")
  })

  it("contain a long list of files as a whole, not each of its parts", () => {
    const classpath = Array.from({ length: 5_000 }, (_, index) => `lib-${index}.jar`).join(":")
    assert.deepStrictEqual(hidden({ command: "java", env: { CLASSPATH: classpath } }), [classpath])
  })

  it("are removed from texts", () => {
    const scrub = Secrets.scrub(ServerConfig.secrets(config({ command: "x", env: { A: "env-secret" } })))
    assert.strictEqual(scrub("bad value env-secret!"), "bad value [redacted]!")
    assert.strictEqual(Secrets.scrub(Secrets.empty)("as it is"), "as it is")
  })
})
