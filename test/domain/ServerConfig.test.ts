import { assert, describe, it } from "@effect/vitest"
import { Either, Option, Redacted } from "effect"
import { Lifecycle, Secrets, ServerConfig } from "../../src/index.js"

const decode = (input: unknown, defaults?: ServerConfig.Defaults) =>
  Either.getOrThrow(ServerConfig.decode("s", input, defaults))

const config = (input: ServerConfig.Input, defaults?: ServerConfig.Defaults) =>
  Option.getOrThrow(decode(input, defaults).config)

const complaint = (input: unknown) => Either.getOrThrow(Either.flip(ServerConfig.decode("s", input))).message

const warnings = (input: unknown) => decode(input).warnings.map(({ message }) => message)

const remote = (input: Omit<Extract<ServerConfig.Input, { readonly url: unknown }>, "url"> = {}) => {
  const decoded = config({ url: "https://example.com/mcp", ...input })
  assert(decoded._tag === "Remote")
  return decoded
}

describe("a local server", () => {
  it("has every default", () => {
    assert.deepStrictEqual(config({ command: ["node", "server.mjs"] }), {
      _tag: "Local",
      command: "node",
      args: ["server.mjs"],
      environment: {},
      inheritEnv: false,
      enabled: true,
      required: false,
      lazy: false,
      exclusive: false,
      protocol: "auto",
      replace: "overlap",
      concurrency: Number.POSITIVE_INFINITY,
      catalogTtl: 3_600_000,
      listBudget: 33_554_432,
      timeout: { connect: 30_000, list: 30_000, call: 30_000, total: 1_800_000 },
      health: { interval: 30_000, timeout: 5_000 },
      restart: {
        base: 500,
        factor: 2,
        cap: 60_000,
        stableAfter: 60_000,
        maxRestarts: 5,
        window: 60_000,
        cooldown: 300_000
      },
      tools: {},
      secrets: []
    })
  })

  it("keeps everything it is given", () => {
    const decoded = config({
      type: "local",
      command: "npx",
      args: ["-y", "server"],
      environment: { DEBUG: "true" },
      cwd: "sub",
      inheritEnv: true,
      roots: ["/data"],
      idleStop: "5 minutes",
      tools: { "write_*": false }
    })
    assert.deepInclude(decoded, {
      command: "npx",
      args: ["-y", "server"],
      environment: { DEBUG: Redacted.make("true") },
      cwd: "sub",
      inheritEnv: true,
      roots: ["/data"],
      idleStop: 300_000,
      tools: { "write_*": false }
    })
  })

  it("takes a command line as programs have it", () => {
    const argv: Array<string> = ["node", "server.mjs"]
    assert.deepInclude(config({ command: argv }), { command: "node", args: ["server.mjs"] })
  })

  it("can be switched off in the words of other clients", () => {
    assert.isFalse(config({ command: "x", disabled: true }).enabled)
    assert.isTrue(config({ command: "x", disabled: true, enabled: true }).enabled)
  })

  it("stops first when it is exclusive, unless it says otherwise", () => {
    assert.strictEqual(config({ command: "x", exclusive: true }).replace, "stop-first")
    assert.strictEqual(config({ command: "x", exclusive: true, replace: "overlap" }).replace, "overlap")
    assert.strictEqual(config({ command: "x" }, { replace: "stop-first" }).replace, "stop-first")
  })

  it("hides arguments that carry a known secret, and only those", () => {
    const decoded = config({ command: "x", args: ["--key=hunter22", "--verbose"], secrets: ["hunter22", "no"] })
    assert(decoded._tag === "Local")
    assert.deepStrictEqual(decoded.args, [Redacted.make("--key=hunter22"), "--verbose"])
  })
})

describe("a remote server", () => {
  it("has every default, and is restarted without limit", () => {
    assert.deepInclude(remote(), {
      transport: "auto",
      url: "https://example.com/mcp",
      headers: {},
      oauth: { callbackPort: 19_876, grant: "authorization_code" },
      restart: {
        base: 500,
        factor: 2,
        cap: 60_000,
        stableAfter: 60_000,
        maxRestarts: Number.POSITIVE_INFINITY,
        window: 60_000,
        cooldown: 300_000
      }
    })
  })

  it("falls back only where its type lets it", () => {
    assert.strictEqual(remote({ type: "remote" }).transport, "auto")
    assert.strictEqual(remote({ type: "http" }).transport, "http")
    assert.strictEqual(remote({ type: "streamable-http" }).transport, "http")
    assert.strictEqual(remote({ type: "sse" }).transport, "sse")
  })

  it("leads to no private address unless it, or the defaults, say so", () => {
    assert.isFalse(remote().privateNetwork)
    assert.isTrue(remote({ privateNetwork: true }).privateNetwork)
    const url = "https://example.com/mcp"
    assert.deepInclude(config({ url }, { privateNetwork: true }), { privateNetwork: true })
    assert.deepInclude(config({ url, privateNetwork: false }, { privateNetwork: true }), { privateNetwork: false })
  })

  it("keeps what it is told about logging in", () => {
    assert.isFalse(remote({ oauth: false }).oauth)
    const oauth = {
      clientId: "id",
      clientSecret: "hunter22",
      scope: "repo read:user",
      callbackPort: 4000,
      grant: "client_credentials" as const,
      issuer: "https://idp.example.com",
      assumePkce: true,
      privateKeyPem: Redacted.make("key")
    }
    assert.deepStrictEqual(remote({ oauth }).oauth, {
      ...oauth,
      clientSecret: Redacted.make("hunter22"),
      privateKeyPem: Redacted.make("key")
    })
    assert.strictEqual(remote({ caFile: "ca.pem" }).caFile, "ca.pem")
    const interpolated = remote({ oauth: { clientId: "my-id-123" }, secrets: ["id-123"] })
    assert.deepInclude(interpolated.oauth, { clientId: Redacted.make("my-id-123") })
  })
})

describe("limits", () => {
  it("are one duration for connecting, listing and silence, or one for each", () => {
    assert.deepStrictEqual(config({ command: "x", timeout: "1 minute" }).timeout, {
      connect: 60_000,
      list: 60_000,
      call: 60_000,
      total: 1_800_000
    })
    assert.deepStrictEqual(config({ command: "x", timeout: { call: 7_200_000 } }).timeout, {
      connect: 30_000,
      list: 30_000,
      call: 7_200_000,
      total: 7_200_000
    })
    assert.strictEqual(config({ command: "x", timeout: { total: "2 hours" } }).timeout.total, 7_200_000)
  })

  it("of the entry go before those of the defaults, one by one", () => {
    const { timeout } = config({ command: "x", timeout: { connect: 1 } }, { timeout: { connect: 2, list: "3" } })
    assert.deepStrictEqual(timeout, { connect: 1, list: 3, call: 30_000, total: 1_800_000 })
    const { restart } = config(
      { command: "x", restart: { base: 1, maxRestarts: "none" } },
      { restart: { base: 2, cap: 3, maxRestarts: 4 } }
    )
    assert.deepInclude(restart, { base: 1, cap: 3, maxRestarts: Number.POSITIVE_INFINITY })
  })

  it("of health checks can be switched off and on again", () => {
    assert.isFalse(config({ command: "x", health: false }).health)
    assert.isFalse(config({ command: "x" }, { health: false }).health)
    const health = { interval: 1_000, timeout: 5_000 }
    assert.deepStrictEqual(config({ command: "x", health: true }, { health: false }).health, {
      ...health,
      interval: 30_000
    })
    assert.deepStrictEqual(config({ command: "x", health: { interval: 1_000 } }, { health: false }).health, health)
    assert.deepStrictEqual(config({ command: "x" }, { health: { interval: 1_000 } }).health, health)
  })
})

describe("an entry that only switches", () => {
  it("is no server and no error", () => {
    assert.deepStrictEqual(decode({ enabled: false }), { config: Option.none(), warnings: [] })
    assert.deepStrictEqual(decode({ enabled: true }), { config: Option.none(), warnings: [] })
    assert.deepStrictEqual(warnings({ enabled: false, comment: "not now" }), ["unknown key comment; it is ignored"])
  })
})

describe("an entry that is wrong", () => {
  it.each([
    [3, '(root): expected an object with "command" (a local server) or "url" (a remote one), found a number'],
    [null, "found null"],
    [{}, "found neither"],
    [{ comand: ["x"] }, 'found neither ("comand" looks like a misspelling of "command")'],
    [{ uri: "x", lazy: true }, 'found neither ("uri" looks like a misspelling of "url")'],
    [
      { command: "x", url: "http://x" },
      '(root): expected "command" (a local server) or "url" (a remote one), found both (remove one, or say which with "type")'
    ],
    [
      { type: "remot", url: "http://x" },
      'type: expected "local", "stdio", "remote", "http", "streamable-http", "sse", found a string (did you mean "remote"?)'
    ],
    [{ type: "websocket", url: "http://x" }, '"sse", found a string'],
    [{ type: 1, url: "http://x" }, '"sse", found a number'],
    [{ type: "local" }, "command: expected a program, or an array of a program and its arguments, found nothing"],
    [{ type: "local", comand: ["x"] }, 'found nothing ("comand" looks like a misspelling of "command")'],
    [{ command: "" }, "command: expected a program, or an array of a program and its arguments, found an empty string"],
    [{ command: [] }, "command: expected a program, or an array of a program and its arguments, found an empty array"],
    [{ command: [""] }, "found an array"],
    [{ command: Redacted.make("") }, "found a redacted value"],
    [
      { command: Redacted.make(3) },
      "command: expected plain data: objects, arrays, strings, numbers and booleans, found a redacted value"
    ],
    [{ command: "  " }, "found a string"],
    [{ command: ["x", "a\0b"] }, "command[1]: expected a string, found a string"],
    [
      { command: "x", env: { "A=B": "secret" } },
      'env: expected names of environment variables, found an empty name, or one with "="'
    ],
    [{ command: "x", environment: { "": "secret" } }, "environment: expected names of environment variables"],
    [
      { command: "x", env: new Map([["A", "secret"]]) },
      "env: expected plain data: objects, arrays, strings, numbers and booleans, found an object of class Map"
    ],
    [{ url: "http://x", headers: new Headers({ A: "secret" }) }, "found an object of class Headers"],
    [
      { command: "x", timeout: new Date(0) },
      "timeout: expected plain data: objects, arrays, strings, numbers and booleans, found an object of class Date"
    ],
    [
      JSON.parse('{"command":"x","env":{"__proto__":"secret"}}'),
      'env: expected plain data: objects, arrays, strings, numbers and booleans, found a key "__proto__"'
    ],
    [{ url: "http://x", headers: { "Authorization: Bearer secret": 3 } }, "headers: expected a string, found a number"],
    [{ enabled: true, note: 3 }, "found neither"],
    [{ command: ["x", 1] }, "command[1]: expected a string, found a number"],
    [{ command: "x", env: { PORT: 3000 } }, "env.PORT: expected a string, found a number"],
    [{ command: "x", cwd: "" }, "cwd: expected a non-empty string, found an empty string"],
    [{ command: "x", cwd: Redacted.make("x") }, "cwd: expected a non-empty string, found a redacted value"],
    [{ url: "ftp://x" }, "url: expected an http or https URL, found a string"],
    [{ url: "not a url" }, "url: expected an http or https URL, found a string"],
    [{ url: "http://x", headers: { "a b": "x" } }, "headers: expected header names, found a name HTTP does not allow"],
    [
      { url: "http://x", headers: { A: "x\ny" } },
      "headers.A: expected a header value: printable, on one line, found a string"
    ],
    [{ url: "http://x", oauth: "yes" }, "oauth: expected a boolean, or an object, found a string"],
    [
      { url: "http://x", oauth: { callbackPort: 70_000 } },
      "oauth.callbackPort: expected a port number, found a number"
    ],
    [
      { command: "x", timeout: 0 },
      'timeout: expected a positive duration: milliseconds or a text such as "30 seconds", or an object, found zero'
    ],
    [{ command: "x", timeout: -1 }, "found a negative number"],
    [{ command: "x", timeout: Number.NaN }, "found NaN"],
    [{ command: "x", timeout: Number.POSITIVE_INFINITY }, "found an infinite number"],
    [{ command: "x", timeout: "soon" }, "found a string"],
    [
      { command: "x", timeout: { call: -0.5 } },
      'timeout.call: expected a positive duration: milliseconds or a text such as "30 seconds", found a negative fraction'
    ],
    [{ command: "x", timeout: [1] }, "found an array"],
    [
      { command: "x", restart: { factor: 0.5, maxRestarts: 1.5 } },
      'restart.factor: expected a number, 1 or more, found a fraction; restart.maxRestarts: expected a whole number, 0 or more, or "none", found a fraction'
    ],
    [{ command: "x", concurrency: 0 }, "concurrency: expected a whole number, 1 or more, found zero"],
    [
      { command: "x", protocol: "2019-01-01" },
      'protocol: expected "auto", or "legacy", or "2026-07-28", found a string'
    ],
    [{ command: "x", tools: { a: "yes" } }, "tools.a: expected a boolean, found a string"],
    [
      { command: "x", enabled: "no", lazy: null },
      "lazy: expected a boolean, found null; enabled: expected a boolean, found a string"
    ]
  ])("%j says where and what", (input, words) => {
    assert.include(complaint(input), words)
  })

  it("never shows a value that stands where a name should", () => {
    const words = complaint({ url: "http://x", headers: { "Authorization: Bearer hunter22": "" } })
    assert.include(words, 'write name and value apart: "Authorization": "Bearer …"')
    assert.notInclude(words, "hunter22")
    assert.notInclude(
      complaint({ url: "http://x", headers: { "Authorization: Bearer hunter22": new Map() } }),
      "hunter22"
    )
    assert.deepStrictEqual(warnings({ command: "x", "Authorization: Bearer hunter22": "" }), [
      "unknown key that does not look like one; it is ignored"
    ])
  })

  it("is one even if it cannot be read or refers to itself", () => {
    const hostile = {
      get command(): string {
        throw new Error("hunter22")
      }
    }
    assert.include(complaint(hostile), "expected plain data, found an object that cannot be read")
    const cyclic: Record<string, unknown> = { command: "x" }
    cyclic.timeout = cyclic
    assert.include(complaint(cyclic), "timeout: expected plain data")
    for (let index = 0; index < 50; index++) cyclic[`key${index}`] = cyclic
    assert.include(complaint(cyclic), "expected plain data")
    const { message } = Either.getOrThrow(Either.flip(ServerConfig.decodeDefaults(new Date(0))))
    assert.include(message, "found an object of class Date")
  })

  it("does not have keys that only its prototype has", () => {
    assert.deepStrictEqual(decode({ enabled: false, ...Object.create({ command: "evil" }) }).config, Option.none())
    assert.include(complaint(Object.create({ command: "evil" })), "found an object of class Object")
  })

  it("has a name of its own", () => {
    const complaintOf = (name: string) =>
      Either.getOrThrow(Either.flip(ServerConfig.decode(name, { command: "x" }))).message
    assert.include(complaintOf(" "), "expected a server name, found an empty name")
    assert.include(complaintOf("__proto__"), "expected a server name, found a name that is not to be used")
  })
})

describe("what is only worth a word", () => {
  it("is an unknown key, with the nearest known one", () => {
    assert.deepStrictEqual(warnings({ command: "x", time_out: 3, zzz: 1 }), [
      'unknown key time_out; did you mean "timeout"?',
      "unknown key zzz; it is ignored"
    ])
    assert.sameMembers(warnings({ url: "http://x", oauth: { clientID: "x" }, timeout: { totl: 1 } }), [
      'unknown key timeout.totl; did you mean "total"?',
      'unknown key oauth.clientID; did you mean "clientId"?'
    ])
  })

  it("is told of 1,000 unknown keys, and of the others how many they are", () => {
    const keys = Object.fromEntries(Array.from({ length: 1_003 }, (_, index) => [`zzz${index}`, 1]))
    const told = warnings({ command: "x", ...keys })
    assert.lengthOf(told, 1_001)
    assert.include(told, "and 3 more unknown keys")
  })

  it("is a command line written as one word", () => {
    assert.match(warnings({ command: "node server.mjs" })[0] ?? "", /one program name with spaces/)
    assert.deepStrictEqual(warnings({ command: "my program", args: [] }), [])
  })

  it("is an environment in two spellings", () => {
    const input = { command: "x", env: { A: "1", B: "1" }, environment: { A: "2" } }
    assert.match(warnings(input)[0] ?? "", /"environment" wins/)
    assert.deepInclude(config(input), { environment: { A: Redacted.make("2"), B: Redacted.make("1") } })
  })
})

describe("defaults for all servers", () => {
  it("are checked like entries", () => {
    const good = Either.getOrThrow(ServerConfig.decodeDefaults({ timeout: 5, tmeout: 6 }))
    assert.deepStrictEqual(good.defaults, { timeout: 5 })
    assert.deepStrictEqual(
      good.warnings.map(({ message }) => message),
      ['unknown key tmeout; did you mean "timeout"?']
    )
    const bad = Either.getOrThrow(Either.flip(ServerConfig.decodeDefaults({ timeout: 0 })))
    assert.match(bad.message, /^invalid config: timeout: /)
  })

  it("apply where the entry is silent", () => {
    const defaults = {
      protocol: "legacy",
      inheritEnv: true,
      lazy: true,
      idleStop: 1,
      concurrency: 2,
      catalogTtl: 3,
      listBudget: 4
    } as const
    assert.deepInclude(config({ command: "x" }, defaults), defaults)
  })
})

describe("a change", () => {
  const local = config({ command: "x" })
  const other = remote()

  it("of what is started needs a new link", () => {
    for (const change of [
      { args: ["y"] },
      { env: { A: "1" } },
      { cwd: "y" },
      { inheritEnv: true },
      { protocol: "legacy" }
    ] as const) {
      assert.strictEqual(ServerConfig.compare(local, config({ command: "x", ...change })), "link")
    }
    assert.strictEqual(ServerConfig.compare(other, remote({ type: "sse" })), "link")
    assert.strictEqual(ServerConfig.compare(other, remote({ privateNetwork: true })), "link")
  })

  it("of who the server is or who we are to it never falls back", () => {
    const moved = config({ url: "https://example.com/other" })
    for (const changed of [moved, remote({ headers: { A: "1" } }), remote({ oauth: false }), local]) {
      assert.strictEqual(ServerConfig.compare(other, changed), "identity")
    }
    assert.strictEqual(ServerConfig.compare(local, other), "identity")
  })

  it("of the rest needs no new link, and of nothing nothing", () => {
    assert.strictEqual(ServerConfig.compare(local, config({ command: "x", timeout: 5 })), "settings")
    assert.strictEqual(ServerConfig.compare(other, remote({ tools: { a: false } })), "settings")
    assert.strictEqual(ServerConfig.compare(other, remote()), "none")
    const filtered = (tools: Record<string, boolean>) => remote({ tools })
    assert.strictEqual(
      ServerConfig.compare(filtered({ a: true, "*": false }), filtered({ "*": false, a: true })),
      "settings"
    )
    const hidden = config({ command: "x", args: ["--key=hunter22"], secrets: ["hunter22"] })
    assert.strictEqual(ServerConfig.compare(config({ command: "x", args: ["--key=hunter22"] }), hidden), "settings")
  })
})

describe("a login", () => {
  it("can be of use to a remote server that is not told itself what to send", () => {
    assert.isTrue(ServerConfig.allowsLogin(remote()))
    assert.isTrue(ServerConfig.allowsLogin(remote({ headers: { "x-key": "a" } })))
    assert.isFalse(ServerConfig.allowsLogin(remote({ oauth: false })))
    assert.isFalse(ServerConfig.allowsLogin(remote({ headers: { AUTHORIZATION: "Bearer a" } })))
    assert.isFalse(ServerConfig.allowsLogin(config({ url: "https://user:password@example.com" })))
    assert.isFalse(ServerConfig.allowsLogin(config({ command: "node" })))
    assert.isTrue(ServerConfig.allowsLogin({ ...remote(), url: "not an address" }))
  })
})

describe("the settings of a life", () => {
  it("are taken from the config", () => {
    const decoded = config({ command: "x", lazy: true, replace: "stop-first", timeout: { call: 7 } })
    assert.deepStrictEqual(ServerConfig.toSettings("s", decoded), {
      server: "s",
      restart: decoded.restart,
      lazy: true,
      replace: "stop-first",
      drain: 7
    })
    assert.strictEqual(ServerConfig.toSettings("s", config({ command: "x" })).drain, 1_800_000)
  })

  it("of an entry that is wrong keep it from ever being opened", () => {
    const error = Either.getOrThrow(Either.flip(ServerConfig.decode("s", { command: 3 })))
    const { actions, state } = Lifecycle.start(ServerConfig.toInvalidSettings("s", error), 0)
    assert.deepStrictEqual(actions, [])
    assert.deepInclude(Lifecycle.status(state), { status: "failed", errorTag: "InvalidConfig", failures: 1 })
  })

  it("say what keeps it from running, trust before all", () => {
    const off = config({ command: "x", enabled: false })
    assert.strictEqual(ServerConfig.toSettings("s", off).disabled, "config")
    assert.strictEqual(ServerConfig.toSettings("s", off, { trusted: false }).disabled, "trust")
    assert.isUndefined(ServerConfig.toSettings("s", config({ command: "x" }), { trusted: true }).disabled)
  })
})

describe("the secrets of a config", () => {
  const hidden = (input: ServerConfig.Input) =>
    ServerConfig.secrets(config(input)).values.map((value) => Redacted.value(value))

  it("are environment values, redacted arguments and values of telling flags", () => {
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

  it("are user, password and query values of URLs, wherever they stand", () => {
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

  it("of a long list of files are the list, not each of its ends", () => {
    const classpath = Array.from({ length: 5_000 }, (_, index) => `lib-${index}.jar`).join(":")
    assert.deepStrictEqual(hidden({ command: "java", env: { CLASSPATH: classpath } }), [classpath])
  })

  it("are left out of texts", () => {
    const scrub = Secrets.scrub(ServerConfig.secrets(config({ command: "x", env: { A: "env-secret" } })))
    assert.strictEqual(scrub("bad value env-secret!"), "bad value [redacted]!")
    assert.strictEqual(Secrets.scrub(Secrets.empty)("as it is"), "as it is")
  })
})
