import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { FastCheck as fc, Redacted } from "effect"
import * as StdioCommand from "../../src/connection/stdio/StdioCommand.js"

const canary = "canary-5eb63bbb"

const posix: StdioCommand.Host = {
  platform: "linux",
  env: {
    PATH: "/usr/bin",
    HOME: "/home/ada",
    LC_TIME: "de_AT.UTF-8",
    https_proxy: "http://proxy:3128",
    NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
    XDG_RUNTIME_DIR: "/run/user/1000",
    XDG_SESSION_COOKIE: canary,
    AWS_SECRET_ACCESS_KEY: canary,
    path: canary,
    APPDATA: canary,
    UNSET: undefined
  }
}

const passedOn = {
  PATH: "/usr/bin",
  HOME: "/home/ada",
  LC_TIME: "de_AT.UTF-8",
  https_proxy: "http://proxy:3128",
  NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
  XDG_RUNTIME_DIR: "/run/user/1000",
  MCP_SUPERVISOR_RUN: "run-1",
  MCP_SUPERVISOR_CHILD: "7"
}

const config = (environment: Record<string, string> = {}, inheritEnv = false) => ({
  environment: Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, Redacted.make(value)])),
  inheritEnv
})

const environment = (declared: Record<string, string>, host: StdioCommand.Host, inheritEnv = false) =>
  StdioCommand.environment(config(declared, inheritEnv), host, { run: "run-1", child: "7" })

describe("the environment of a process", () => {
  it("has no secret of the host when the config declares no environment", () => {
    assert.deepStrictEqual(environment({}, posix), passedOn)
  })

  it("has no secret of the host when the config declares an environment", () => {
    assert.deepStrictEqual(environment({ API_KEY: "mine", HOME: "/srv" }, posix), {
      ...passedOn,
      HOME: "/srv",
      API_KEY: "mine"
    })
  })

  it("has every variable of the host if the config says so", () => {
    const { UNSET: _, ...all } = posix.env
    assert.deepStrictEqual(environment({ API_KEY: "mine" }, posix, true), {
      ...all,
      API_KEY: "mine",
      MCP_SUPERVISOR_RUN: "run-1",
      MCP_SUPERVISOR_CHILD: "7"
    })
  })

  it("has no other variable of the host, whatever its name", () =>
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), fc.boolean(), (env, declares) => {
        const child = environment(declares ? { A: "1" } : {}, { platform: "linux", env })
        for (const name of Object.keys(child)) {
          assert.isTrue(
            StdioCommand.inherited.has(name) || /^(LC_.*|A|MCP_SUPERVISOR_RUN|MCP_SUPERVISOR_CHILD)$/s.test(name),
            `${name} was passed on`
          )
        }
      })
    ))

  it("never has an exported shell function", () => {
    const env = { "BASH_FUNC_curl%%": "() {  evil\n}", PATH: "() { :; }; evil", HOME: "/home/ada" }
    const expected = { HOME: "/home/ada", MCP_SUPERVISOR_RUN: "run-1", MCP_SUPERVISOR_CHILD: "7" }
    assert.deepStrictEqual(environment({}, { platform: "linux", env }), expected)
    assert.deepStrictEqual(environment({}, { platform: "linux", env }, true), expected)
  })

  it("has variables that configure the supervisor only if the config declares them", () => {
    const env = { MCP_SUPERVISOR_TOKEN: "s3cret", MCP_SUPERVISOR_CONFIG_CONTENT: "s3cret", OTHER: "1" }
    const expected = { OTHER: "1", MCP_SUPERVISOR_RUN: "run-1", MCP_SUPERVISOR_CHILD: "7" }
    assert.deepStrictEqual(environment({}, { platform: "linux", env }, true), expected)
    const odd = { mcp_supervisor_token: "s3cret", OTHER: "1" }
    assert.deepStrictEqual(environment({}, { platform: "win32", env: odd }, true), expected)
    const declared = environment({ MCP_SUPERVISOR_TOKEN: "mine" }, { platform: "linux", env }, true)
    assert.strictEqual(declared.MCP_SUPERVISOR_TOKEN, "mine")
  })

  it("has declared values unchanged", () => {
    assert.strictEqual(environment({ CALLBACK: "() => 1", __proto__x: "" }, posix).CALLBACK, "() => 1")
    const odd = environment(JSON.parse('{"__proto__":"a"}') as Record<string, string>, posix)
    assert.include(Object.keys(odd), "__proto__")
  })

  it("has the tag of the run, whatever the host and the config set", () => {
    const host = { ...posix, env: { MCP_SUPERVISOR_RUN: "outer" } }
    assert.deepStrictEqual(environment({ MCP_SUPERVISOR_RUN: "forged" }, host, true), {
      MCP_SUPERVISOR_RUN: "run-1",
      MCP_SUPERVISOR_CHILD: "7"
    })
  })

  it("has the PATH of the login shell instead of the host's", () => {
    assert.strictEqual(environment({}, { ...posix, path: "/opt/homebrew/bin" }).PATH, "/opt/homebrew/bin")
    assert.strictEqual(environment({}, { ...posix, path: "/opt/homebrew/bin" }, true).PATH, "/opt/homebrew/bin")
    assert.strictEqual(environment({}, { platform: "darwin", env: {}, path: "/opt/bin" }).PATH, "/opt/bin")
  })

  it("has a declared PATH instead of the login shell's", () => {
    assert.strictEqual(environment({ PATH: "/mine" }, { ...posix, path: "/opt/homebrew/bin" }).PATH, "/mine")
  })

  const windows: StdioCommand.Host = {
    platform: "win32",
    env: {
      Path: "C:\\Windows",
      SystemRoot: "C:\\Windows",
      "ProgramFiles(x86)": "C:\\Program Files (x86)",
      PATHEXT: ".COM;.EXE",
      Http_Proxy: "http://proxy:3128",
      Temp: "C:\\Temp",
      GITHUB_TOKEN: canary
    }
  }

  it("on Windows, compares names without case and has no secret of the host", () => {
    const { GITHUB_TOKEN: _, ...expected } = windows.env
    assert.deepStrictEqual(environment({}, windows), {
      ...expected,
      MCP_SUPERVISOR_RUN: "run-1",
      MCP_SUPERVISOR_CHILD: "7"
    } as never)
    assert.notInclude(Object.values(environment({ A: "1" }, windows)), canary)
  })

  it("on Windows, replaces a variable by a declared one that differs only in case", () => {
    const child = environment({ PATH: "C:\\mine", systemroot: "D:\\" }, windows)
    assert.strictEqual(child.PATH, "C:\\mine")
    assert.strictEqual(child.systemroot, "D:\\")
    assert.notProperty(child, "Path")
    assert.notProperty(child, "SystemRoot")
    assert.notProperty(environment({ mcp_supervisor_run: "forged" }, windows), "mcp_supervisor_run")
  })

  it("elsewhere, distinguishes names that differ in case", () => {
    const child = environment({ Path: "/mine" }, posix)
    assert.strictEqual(child.PATH, "/usr/bin")
    assert.strictEqual(child.Path, "/mine")
  })
})

describe("searchedPath", () => {
  it("is the PATH of the child, whatever its case on Windows", () => {
    assert.strictEqual(StdioCommand.searchedPath({ PATH: "/usr/bin" }, "linux"), "/usr/bin")
    assert.strictEqual(StdioCommand.searchedPath({ Path: "C:\\bin" }, "win32"), "C:\\bin")
    assert.isUndefined(StdioCommand.searchedPath({ Path: "/usr/bin" }, "linux"))
    assert.isUndefined(StdioCommand.searchedPath({}, "win32"))
  })
})

const platforms = ["aix", "android", "darwin", "freebsd", "linux", "openbsd", "sunos", "win32"] as const

describe("spawnOptions", () => {
  it("detach no process on Windows and hide every window", () => {
    for (const platform of platforms) {
      assert.deepStrictEqual(StdioCommand.spawnOptions(platform), {
        detached: platform !== "win32",
        windowsHide: true,
        shell: false,
        stdio: ["pipe", "pipe", "pipe"]
      })
    }
  })

  it("hide the window wherever src/ starts a process", () => {
    const root = fileURLToPath(new URL("../../src/", import.meta.url))
    const careless = readdirSync(root, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .filter((file) => {
        const text = readFileSync(join(root, file), "utf8")
        const spawns = /^import (?!type\b).* from "(?:node:child_process|cross-spawn)"$/m.test(text)
        return spawns && !/windowsHide: true|spawnOptions\(/.test(text)
      })
    assert.deepStrictEqual(careless, [])
  })
})

describe("killTree", () => {
  it("uses taskkill without a shell on Windows, and signals elsewhere", () => {
    for (const platform of platforms) {
      assert.deepStrictEqual(
        StdioCommand.killTree(platform, 4711),
        platform === "win32" ? { command: "taskkill", args: ["/pid", "4711", "/T", "/F"] } : undefined
      )
    }
  })
})

describe("spawnReason", () => {
  it.each([
    ["ENOENT", "not_found"],
    ["ENOTDIR", "not_found"],
    ["EACCES", "not_permitted"],
    ["EPERM", "not_permitted"],
    ["E2BIG", "bad_arguments"],
    ["EINVAL", "bad_arguments"],
    ["ENAMETOOLONG", "bad_arguments"],
    ["ERR_INVALID_ARG_VALUE", "bad_arguments"],
    ["EAGAIN", "no_resources"],
    ["EMFILE", "no_resources"],
    ["ENFILE", "no_resources"],
    ["ENOMEM", "no_resources"],
    ["UNKNOWN", undefined],
    ["", undefined]
  ])("%s is %s", (code, reason) => {
    assert.strictEqual(StdioCommand.spawnReason(code), reason)
  })

  it("distinguishes a missing directory from a missing command", () => {
    const directoryExists = false
    assert.strictEqual(StdioCommand.spawnReason("ENOENT", { directoryExists }), "bad_directory")
    assert.strictEqual(StdioCommand.spawnReason("ENOTDIR", { directoryExists }), "bad_directory")
    assert.strictEqual(StdioCommand.spawnReason("EMFILE", { directoryExists }), "no_resources")
    assert.strictEqual(StdioCommand.spawnReason("ENOENT", { directoryExists: true }), "not_found")
  })
})

interface Parsed {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly options: { readonly windowsVerbatimArguments?: boolean }
}

type Parse = (command: string, args: ReadonlyArray<string>, options: object) => Parsed

const onWindows = <A>(body: () => A): A => {
  const platform = Object.getOwnPropertyDescriptor(process, "platform")!
  Object.defineProperty(process, "platform", { ...platform, value: "win32" })
  try {
    return body()
  } finally {
    Object.defineProperty(process, "platform", platform)
  }
}

/** A separate instance, because cross-spawn checks for Windows when it is loaded. */
const parserOnWindows = (): Parse => {
  const require = createRequire(import.meta.url)
  const forget = () => {
    for (const file of Object.keys(require.cache)) {
      if (/node_modules\/(cross-spawn|which|isexe|path-key)\//.test(file)) delete require.cache[file]
    }
  }
  forget()
  const { _parse } = onWindows(() => require("cross-spawn") as { readonly _parse: Parse })
  forget()
  return (...call) => onWindows(() => _parse(...call))
}

/** Parses a command line as a program on Windows does: backslashes count only before a quote. */
const readArguments = (line: string): ReadonlyArray<string> => {
  const args: Array<string> = []
  let arg: string | undefined
  let quoted = false
  for (const [token, backslashes = ""] of line.matchAll(/(\\*)"|[^]/g)) {
    if (token === " " && !quoted) {
      if (arg !== undefined) args.push(arg)
      arg = undefined
    } else if (token.endsWith('"')) {
      const literal = backslashes.length % 2 === 1
      if (!literal) quoted = !quoted
      arg = (arg ?? "") + "\\".repeat(Math.floor(backslashes.length / 2)) + (literal ? '"' : "")
    } else {
      arg = (arg ?? "") + token
    }
  }
  return arg === undefined ? args : [...args, arg]
}

/** Parses a line as cmd.exe does, in which a caret escapes every special character. */
const readCarets = (line: string): string => line.replace(/\^(.)/gs, "$1")

const special = /[()\][%!^"`<>&|;, *?]/g

describe("cross-spawn on Windows (unit-tested, best effort)", () => {
  const nasty = ["two words", 'say "hi"', "a&b", "%PATH%", "back\\slash\\", "^|<>", "", "!x!", "plain"]
  let directory: string
  let parse: ReturnType<typeof parserOnWindows>

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "mcp-windows-"))
    mkdirSync(join(directory, "node_modules/.bin"), { recursive: true })
    for (const file of ["npx.CMD", "uvx.EXE", "node_modules/.bin/server.CMD"]) writeFileSync(join(directory, file), "")
    parse = parserOnWindows()
  })

  afterAll(() => rmSync(directory, { recursive: true }))

  const env = () => ({ Path: directory })

  /** The arguments that the program behind the shim receives, and the line that cmd.exe receives. */
  const throughCmd = (command: string, args: ReadonlyArray<string>, readings: number) => {
    const parsed = parse(command, args, { env: env() })
    assert.deepStrictEqual(parsed.args.slice(0, 3), ["/d", "/s", "/c"])
    assert.strictEqual(parsed.args.length, 4)
    assert.isTrue(parsed.options.windowsVerbatimArguments)
    const line = parsed.args[3]!.slice(1, -1)
    let read = line
    for (let reading = 0; reading < readings; reading++) read = readCarets(read)
    return { line, args: readArguments(read).slice(1) }
  }

  it("finds a bare npx as a .cmd shim, which receives its arguments unchanged", () => {
    assert.deepStrictEqual(throughCmd("npx", nasty, 1).args, nasty)
  })

  it("escapes everything in the arguments of a .cmd shim that cmd.exe would interpret", () => {
    const { line } = throughCmd("npx", nasty, 1)
    const args = line.slice(line.indexOf(" ") + 1).replace(/ (?=\^")/g, "")
    assert.deepStrictEqual(args.replace(/\^./gs, "").match(special), null)
  })

  it("escapes the arguments of a package's shim twice, because cmd.exe reads them twice", () => {
    const shim = join(directory, "node_modules/.bin/server.CMD")
    assert.deepStrictEqual(throughCmd(shim, nasty, 2).args, nasty)
  })

  it("starts an .exe directly with unchanged arguments", () => {
    for (const command of ["uvx", join(directory, "uvx.EXE")]) {
      const parsed = parse(command, nasty, { env: env() })
      assert.strictEqual(parsed.command, command)
      assert.deepStrictEqual(parsed.args, nasty)
      assert.isUndefined(parsed.options.windowsVerbatimArguments)
    }
  })

  it("passes any arguments through a .cmd shim, except several backslashes before a quote or the end", () => {
    // cross-spawn 7.0.6 doubles only the last of them
    const arg = fc.string({ unit: fc.constantFrom(..."ab \\\"&%^!|<>()=;,'é") }).filter((arg) => !/\\\\("|$)/.test(arg))
    fc.assert(fc.property(fc.array(arg), (args) => assert.deepStrictEqual(throughCmd("npx", args, 1).args, args)))
  })
})
