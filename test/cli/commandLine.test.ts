import { assert, describe, it } from "@effect/vitest"
import { script, shells } from "../../src/cli/words/completionScripts.js"
import { clients } from "../../src/cli/commands/config/import.js"
import { toolRefs } from "../../src/cli/commands/catalog/call.js"
import { entryOf, lineWords, type Words } from "../../src/cli/words/newEntry.js"
import { overview, page } from "../../src/cli/words/help.js"
import { isResponseLost } from "../../src/cli/supervisor/RemoteSupervisor.js"
import { type ParsedCommand, parse } from "../../src/cli/words/parseWords.js"
import { type SpecOf, specs } from "../../src/cli/words/specs.js"
import type { Input } from "../../src/cli/words/spec.js"
import type { Implementations } from "../../src/cli/program.js"
import * as Effect from "effect/Effect"
import { coloured, plain, styleFor } from "../../src/cli/terminal/style.js"
import * as ConfigFiles from "../../src/config/ConfigFiles.js"

const parsed = (...words: ReadonlyArray<string>): ParsedCommand => parse(specs, words)

const inputOf = (...words: ReadonlyArray<string>) => {
  const result = parsed(...words)
  assert(result._tag === "Run", JSON.stringify(result))
  return result.input
}

const wrong = (...words: ReadonlyArray<string>) => {
  const result = parsed(...words)
  assert(result._tag === "Invalid", JSON.stringify(result))
  return result.message
}

describe("the registry of commands", () => {
  it("does not compile without a command, or with one that reads an option that its spec does not have", () => {
    const run = () => Effect.void
    const loaders = Object.fromEntries(
      specs.map(({ name }) => [name, async () => ({ run })])
    ) as unknown as Implementations
    // @ts-expect-error -- all commands but one are missing
    const missing: Implementations = { list: loaders.list }
    const foreign: Implementations = {
      ...loaders,
      // @ts-expect-error -- `list` has no option `follow`
      list: async () => ({ run: (_: Input<SpecOf<"logs">>) => Effect.void })
    }
    assert.isDefined(missing)
    assert.isDefined(foreign)
  })
})

describe("the command line parser", () => {
  it("accepts options before and after the command, with = and without", () => {
    const expected = inputOf("call", "a/b", "{}", "--json", "--config", "x", "--config=y", "--cwd", "/tmp")
    assert.deepStrictEqual(
      inputOf("--json", "--config=x", "call", "--cwd=/tmp", "a/b", "--config", "y", "{}"),
      expected
    )
    assert.deepInclude(expected, {
      tool: "a/b",
      args: "{}",
      json: true,
      config: ["x", "y"],
      cwd: "/tmp",
      standalone: false
    })
  })

  it("accepts the shared options for every command", () => {
    for (const spec of specs) {
      const words = Object.values(spec.arguments).flatMap(({ choices, need }) =>
        need === "required" ? [choices?.[0] ?? "x"] : []
      )
      const input = inputOf(
        spec.name,
        ...words,
        "--config",
        "f",
        "--cwd",
        "c",
        "--state-dir",
        "s",
        "--standalone",
        "--json"
      )
      assert.deepInclude(input, { config: ["f"], cwd: "c", stateDir: "s", standalone: true, json: true })
    }
  })

  it("does not parse words after --", () => {
    assert.deepInclude(inputOf("add", "x", "--env", "A=1", "--", "npx", "-y", "--json"), {
      name: "x",
      env: ["A=1"],
      rest: ["npx", "-y", "--json"],
      json: false
    })
    assert.deepInclude(inputOf("status", "--", "--odd"), { name: "--odd" })
    assert.deepStrictEqual(parsed("add", "x", "--", "y", "--help")._tag, "Run")
  })

  it("ends --args at the next option", () => {
    assert.deepInclude(
      inputOf("add", "x", "--command", "npx", "--args", "-y", "server", "--port", "1", "--env", "A=1"),
      {
        args: ["-y", "server", "--port", "1"],
        env: ["A=1"]
      }
    )
  })

  it("rejects unknown words, and never uses them as values", () => {
    assert.include(wrong("list", "--jsn"), "did you mean --json?")
    assert.include(wrong("list", "--json=yes"), "takes no value")
    assert.include(wrong("list", "--cwd", "--json"), "--cwd requires a value")
    assert.include(wrong("list", "--cwd", "a", "--cwd", "b"), "set twice")
    assert.include(wrong("list", "x"), 'unexpected argument "x"')
    assert.include(wrong("call"), "<tool> is missing")
    assert.include(wrong("completions", "tcsh"), "bash, zsh, fish")
    assert.include(wrong("serve", "--port", "http"), "whole number")
    assert.include(wrong("add", "x", "--scope", "porject"), "did you mean project?")
    assert.include(wrong("--json"), "--json is not a command")
    assert.notInclude(wrong("add", "--evn=TOKEN=secret"), "secret")
  })

  it("rejects empty values, unless an empty value is valid", () => {
    for (const option of ["state-dir", "cwd", "config", "port", "host"]) {
      for (const words of [[`--${option}`, ""], [`--${option}=`]]) {
        assert.include(wrong("serve", ...words), `--${option} requires a value that is not empty`)
      }
    }
    for (const option of ["url", "command", "env", "header", "transport", "oauth-scope"]) {
      assert.include(wrong("add", "x", `--${option}`, ""), `--${option} requires a value that is not empty`)
    }
    assert.include(wrong("status", ""), "<name> is empty")
    assert.include(wrong("add", "", "--url", "https://a"), "<name> is empty")
    assert.include(wrong("call", "", "{}"), "<tool> is empty")
    assert.include(wrong("read", "notes", ""), "<uri> is empty")
    assert.include(wrong("prompt", "notes", "greet", "a=1", ""), "<key=value> is empty")
    assert.deepInclude(inputOf("call", "a/b", ""), { tool: "a/b", args: "" })
    assert.deepInclude(inputOf("add", "x", "--command", "c", "--args", "", "a", "--env", "K="), {
      args: ["", "a"],
      env: ["K="]
    })
  })

  it("reports an unknown command after help", () => {
    assert.strictEqual(wrong("help", "nope"), 'unknown command "nope"')
    assert.include(wrong("help", "lst"), 'did you mean "list"?')
  })

  it("returns help and the version before it checks other words", () => {
    assert.deepStrictEqual(parsed("--version"), { _tag: "Version" })
    assert.deepStrictEqual(parsed("call", "--nonsense", "-h"), { _tag: "Help", command: "call" })
    assert.deepStrictEqual(parsed("help", "call"), { _tag: "Help", command: "call" })
    assert.deepStrictEqual(parsed("help")._tag, "Help")
    assert.deepStrictEqual(parsed("help", "--json", "call"), { _tag: "Help", command: "call" })
    assert.deepStrictEqual(parsed("list", "--cwd", "-h"), { _tag: "Help", command: "list" })
  })

  it("passes -h in --args to the program", () => {
    assert.deepInclude(inputOf("add", "db", "--command", "x", "--args", "-h", "localhost", "-p", "1", "--json"), {
      args: ["-h", "localhost", "-p", "1"],
      json: true
    })
    assert.deepStrictEqual(parsed("add", "db", "--command", "x", "--args", "a", "--help")._tag, "Help")
  })
})

describe("help", () => {
  it("shows every command, with examples that the parser accepts", () => {
    const text = overview(specs, plain, 100)
    for (const spec of specs) {
      assert.include(text, `  ${spec.name}`)
      const shown = page(spec, plain, 100)
      for (const example of spec.examples) {
        assert.include(shown, example)
        assert.strictEqual(parsed(...shellWords(example))._tag, "Run", example)
      }
    }
  })

  it("fits the width", () => {
    for (const spec of specs) {
      const [text] = page(spec, plain, 80).split("\n\nExample")
      for (const line of text!.split("\n")) assert.isAtMost(line.length, 80, line)
    }
  })
})

/** As a shell splits them, up to what belongs to the shell. */
const shellWords = (line: string): ReadonlyArray<string> =>
  Array.from(line.split(/ (?:[|<]|>>) /)[0]!.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, bare]) => quoted ?? bare!)

describe("completion scripts", () => {
  it("contain every command, for each shell", () => {
    for (const shell of shells) {
      for (const { name } of specs) assert.include(script(shell, specs), name)
    }
  })
})

describe("the entry of a new server", () => {
  const none: Words = {
    url: undefined,
    command: undefined,
    args: [],
    rest: [],
    env: [],
    header: [],
    transport: undefined,
    oauth: false,
    noOauth: false,
    oauthClientId: undefined,
    oauthClientSecret: undefined,
    oauthScope: undefined
  }
  const entry = (words: Partial<Words>): unknown => {
    const made = entryOf({ ...none, ...words })
    return made._tag === "Entry" ? made.entry : made
  }

  it("is local or remote, depending on the options", () => {
    const local = { type: "local", command: ["npx", "-y", "x"] }
    assert.deepStrictEqual(entry({ rest: ["npx", "-y", "x"] }), local)
    assert.deepStrictEqual(entry({ command: "npx", args: ["-y", "x"] }), local)
    assert.deepStrictEqual(entry({ command: "/opt/My App/server" }), { type: "local", command: ["/opt/My App/server"] })
    assert.deepStrictEqual(entry({ command: "my server", args: ["x"] }), { type: "local", command: ["my server", "x"] })
    assert.deepStrictEqual(lineWords(`npx -y  "My App/x" 'y z'`), ["npx", "-y", "My App/x", "y z"])
    assert.deepStrictEqual(entry({ command: "n", env: ["A=b=c"] }), {
      type: "local",
      command: ["n"],
      environment: { A: "b=c" }
    })
    assert.deepStrictEqual(entry({ url: "https://a/mcp", header: ["X: 1", "Y=2"], oauth: true }), {
      type: "remote",
      url: "https://a/mcp",
      headers: { X: "1", Y: "2" },
      oauth: {}
    })
    assert.deepStrictEqual(entry({ url: "https://a", noOauth: true, transport: "sse" }), {
      type: "sse",
      url: "https://a",
      oauth: false
    })
    assert.deepStrictEqual(entry({ url: "https://a", oauthClientId: "me" }), {
      type: "remote",
      url: "https://a",
      oauth: { clientId: "me" }
    })
  })

  it("is rejected if options contradict each other, and no value is printed", () => {
    const refused = (words: Partial<Words>) => {
      const made = entryOf({ ...none, ...words })
      assert(made._tag === "Invalid")
      assert.notInclude(made.message, "secret")
    }
    refused({ url: "https://a", rest: ["b"] })
    refused({ args: ["a"] })
    refused({ command: "npx --token secret" })
    refused({ command: "a", header: ["A=secret"] })
    refused({ command: "a", oauth: true })
    refused({ url: "https://a", env: ["A=secret"] })
    refused({ url: "https://a", oauth: true, noOauth: true })
    refused({ command: "a", env: ["=secret"] })
    refused({ url: "https://a", header: ["secret"] })
    refused({ command: "a", env: ["A=1", "A=secret"] })
    refused({ url: "https://a", header: ["X-Key: 1", "x-key=secret"] })
    assert.deepStrictEqual(entryOf(none), { _tag: "Incomplete" })
  })
})

describe("other input", () => {
  it("names a tool by its public name or as server/tool", () => {
    assert.deepStrictEqual(toolRefs("a_b"), [{ name: "a_b" }])
    assert.deepStrictEqual(toolRefs("/a"), [{ name: "/a" }])
    assert.deepStrictEqual(toolRefs("a/b/c"), [
      { server: "a", name: "b/c" },
      { server: "a/b", name: "c" }
    ])
  })

  it("treats a call without a response as possibly executed, unless the connection was refused", () => {
    const failed = (code: string) => ({ _tag: "RequestError", reason: "Transport", cause: { code } })
    assert.isFalse(isResponseLost(failed("ECONNREFUSED")))
    assert.isFalse(isResponseLost(failed("ENOENT")))
    assert.isTrue(isResponseLost(failed("ECONNRESET")))
    assert.isTrue(isResponseLost({ _tag: "ResponseError", reason: "Decode" }))
    assert.isTrue(isResponseLost({ _tag: "InvalidResponse" }))
    assert.isFalse(isResponseLost({ _tag: "ToolNotFound" }))
    assert.isFalse(isResponseLost({ _tag: "UnknownError" }))
  })

  it("offers every client that can be imported", () => {
    assert.deepStrictEqual([...clients], [...ConfigFiles.knownClients])
  })

  it("is styled only on terminals without NO_COLOR", () => {
    assert.strictEqual(styleFor(true, {}), coloured)
    assert.strictEqual(styleFor(true, { NO_COLOR: "1" }), plain)
    assert.strictEqual(styleFor(true, { TERM: "dumb" }), plain)
    assert.strictEqual(styleFor(false, {}), plain)
  })
})
