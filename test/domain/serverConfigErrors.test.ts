import { assert, describe, it } from "@effect/vitest"
import { Either, Option, Redacted } from "effect"
import { ServerConfig } from "../../src/index.js"
import { decode, config, complaint, warnings } from "./support/decoding.js"

describe("an invalid entry", () => {
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

  it("never shows a value in place of a name", () => {
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

  it("is reported also if it cannot be read or is circular", () => {
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

  it("has no keys of its prototype", () => {
    assert.deepStrictEqual(decode({ enabled: false, ...Object.create({ command: "evil" }) }).config, Option.none())
    assert.include(complaint(Object.create({ command: "evil" })), "found an object of class Object")
  })

  it("is a server with an invalid name", () => {
    const complaintOf = (name: string) =>
      Either.getOrThrow(Either.flip(ServerConfig.decode(name, { command: "x" }))).message
    assert.include(complaintOf(" "), "expected a server name, found an empty name")
    assert.include(complaintOf("__proto__"), "expected a server name, found a name that is not to be used")
  })
})

describe("a warning", () => {
  it("reports an unknown key with the nearest known one", () => {
    assert.deepStrictEqual(warnings({ command: "x", time_out: 3, zzz: 1 }), [
      'unknown key time_out; did you mean "timeout"?',
      "unknown key zzz; it is ignored"
    ])
    assert.sameMembers(warnings({ url: "http://x", oauth: { clientID: "x" }, timeout: { totl: 1 } }), [
      'unknown key timeout.totl; did you mean "total"?',
      'unknown key oauth.clientID; did you mean "clientId"?'
    ])
  })

  it("reports up to 1,000 unknown keys, and the number of further ones", () => {
    const keys = Object.fromEntries(Array.from({ length: 1_003 }, (_, index) => [`zzz${index}`, 1]))
    const told = warnings({ command: "x", ...keys })
    assert.lengthOf(told, 1_001)
    assert.include(told, "and 3 more unknown keys")
  })

  it("reports a command line that is written as one word", () => {
    assert.match(warnings({ command: "node server.mjs" })[0] ?? "", /one program name with spaces/)
    assert.deepStrictEqual(warnings({ command: "my program", args: [] }), [])
  })

  it("reports an environment in two spellings", () => {
    const input = { command: "x", env: { A: "1", B: "1" }, environment: { A: "2" } }
    assert.match(warnings(input)[0] ?? "", /"environment" wins/)
    assert.deepInclude(config(input), { environment: { A: Redacted.make("2"), B: Redacted.make("1") } })
  })
})
