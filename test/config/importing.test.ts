import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { type Client, clientFiles, knownClients } from "../../src/config/import/knownClients.js"
import { ConfigFiles } from "../../src/index.js"
import { loadFile, type Machine, onMachine } from "./support.js"

const json = (value: unknown) => JSON.stringify(value, null, 2)

/** A file of each client, as its documentation shows it, and what is to come of it. */
const samples: ReadonlyArray<{
  readonly client: Client
  readonly file: (machine: Machine) => string
  readonly text: string
  readonly add: (machine: Machine) => object
}> = [
  {
    client: "opencode",
    file: () => "opencode.jsonc",
    text: `{ // mine\n "theme": "x", "mcp": { "a": { "type": "local", "command": ["bun", "./a.ts"], "environment": { "K": "{env:K}" } }, "off": { "enabled": false } } }`,
    add: () => ({ a: { type: "local", command: "bun", environment: { K: "{env:K}" }, args: ["./a.ts"] } })
  },
  {
    client: "opencode",
    file: () => ".opencode/config.toml",
    text: '[mcp.a]\nurl = "https://a.example.com"\noauth = true\n',
    add: () => ({ a: { url: "https://a.example.com", oauth: true } })
  },
  {
    client: "claude-desktop",
    file: ({ home }) => join(home, ".config/Claude/claude_desktop_config.json"),
    text: json({ globalShortcut: "", mcpServers: { a: { command: "npx", args: ["-y", "x"], env: { K: "v" } } } }),
    add: () => ({ a: { command: "npx", args: ["-y", "x"], environment: { K: "v" } } })
  },
  {
    client: "claude-code",
    file: () => ".mcp.json",
    text: json({
      mcpServers: {
        a: {
          type: "http",
          url: "${BASE:-https://a.example.com}/mcp",
          headers: { A: "Bearer ${T}" },
          headersHelper: "run me"
        }
      }
    }),
    add: () => ({ a: { type: "http", url: "${BASE:-https://a.example.com}/mcp", headers: { A: "Bearer ${T}" } } })
  },
  {
    client: "cursor",
    file: ({ home }) => join(home, ".cursor/mcp.json"),
    text: json({ mcpServers: { a: { command: "x", envFile: ".env" }, b: { url: "https://b.example.com/sse" } } }),
    add: () => ({ a: { command: "x" }, b: { url: "https://b.example.com/sse" } })
  },
  {
    client: "vscode",
    file: () => ".vscode/mcp.json",
    text: `{\n "inputs": [{ "id": "k", "type": "promptString" }],\n "servers": { "a": { "type": "stdio", "command": "node", "args": ["\${workspaceFolder}/a.js"], "gallery": true } } }`,
    add: () => ({ a: { type: "stdio", command: "node", args: ["${workspaceFolder}/a.js"] } })
  },
  {
    client: "vscode",
    file: ({ home }) => join(home, ".config/Code/User/settings.json"),
    text: '{ "editor.tabSize": 2, "mcp": { "inputs": [], "servers": { "a": { "url": "https://a.example.com" } } }, }',
    add: () => ({ a: { url: "https://a.example.com" } })
  },
  {
    client: "windsurf",
    file: ({ home }) => join(home, ".codeium/windsurf/mcp_config.json"),
    text: json({
      mcpServers: {
        a: { serverUrl: "https://a.example.com", disabled: true, disabledTools: ["x"], alwaysAllow: ["y"] }
      }
    }),
    add: () => ({ a: { url: "https://a.example.com", tools: { x: false }, enabled: false } })
  },
  {
    client: "gemini",
    file: ({ home }) => join(home, ".gemini/settings.json"),
    text: json({
      tools: { core: ["x"], sandbox: "docker" },
      mcp: { allowed: ["a"] },
      mcpServers: {
        a: {
          httpUrl: "https://a.example.com",
          headers: { K: "$TOKEN" },
          trust: true,
          includeTools: ["x", "y(z)"],
          excludeTools: ["w"],
          timeout: 5000
        }
      }
    }),
    add: () => ({
      a: {
        type: "http",
        url: "https://a.example.com",
        headers: { K: "${TOKEN}" },
        timeout: 5000,
        tools: { "*": false, x: true, y: true, w: false }
      }
    })
  },
  {
    client: "codex",
    file: ({ home }) => join(home, ".codex/config.toml"),
    text: `model = "x"\n\n[mcp_servers.a]\ncommand = "npx"\nargs = ["-y", "x"]\nenv_vars = ["HOME_KEY"]\nstartup_timeout_sec = 20\ntool_timeout_sec = 1.5\nenabled_tools = ["t"]\n[mcp_servers.a.env]\nK = "v"\n\n[mcp_servers.b]\nurl = "https://b.example.com"\nbearer_token_env_var = "TOKEN"\nhttp_headers = { "X-A" = "1" }\nenv_http_headers = { "X-B" = "B" }\n`,
    add: () => ({
      a: {
        command: "npx",
        args: ["-y", "x"],
        environment: { HOME_KEY: "{env:HOME_KEY}", K: "v" },
        timeout: { connect: 20_000, call: 1500 },
        tools: { "*": false, t: true }
      },
      b: {
        url: "https://b.example.com",
        headers: { "X-B": "{env:B}", Authorization: "Bearer {env:TOKEN}", "X-A": "1" }
      }
    })
  }
]

/** What may be secret comes redacted. */
const revealed = (value: unknown): unknown => {
  if (Redacted.isRedacted(value)) return Redacted.value(value)
  if (Array.isArray(value)) return value.map(revealed)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revealed(item)]))
}

describe("importing", () => {
  for (const { add, client, file, text } of samples) {
    onMachine(`${client}: ${text.slice(0, 60)}`, (machine) =>
      Effect.gen(function* () {
        const path = machine.write(file(machine), text)
        const imported = yield* ConfigFiles.importFrom(client, machine.host)
        assert.deepStrictEqual(imported.problems, [])
        const entries = Object.fromEntries(imported.servers.map(({ entry, name }) => [name, revealed(entry)]))
        assert.deepStrictEqual(entries, add(machine) as never)
        assert.deepInclude(
          imported.files.map((each) => each.file),
          path
        )
        assert.strictEqual(machine.read(path), text)
        // what is shown is what is added
        for (const server of imported.servers) yield* ConfigFiles.addImported(server, machine.host)
        const again = yield* ConfigFiles.importFrom(client, machine.host)
        assert.deepStrictEqual(again.servers, [])
        assert.sameMembers(Object.keys(again.skip), Object.keys(entries))
      })
    )

    onMachine(`${client}: the client's file is a valid config file: ${text.slice(0, 40)}`, (machine) =>
      Effect.gen(function* () {
        Object.assign(machine.env, { K: "kkkk", T: "tttt", TOKEN: "token", B: "bbbb", HOME_KEY: "hhhh" })
        const { desired } = yield* loadFile(machine, file(machine), text)
        assert.deepStrictEqual(desired.unreadable, {})
        assert.sameMembers(Object.keys(desired.servers ?? {}), Object.keys(add(machine)))
      })
    )
  }

  onMachine("claude-code: servers of one project apply only there", (machine) =>
    Effect.gen(function* () {
      const own = { mcpServers: { local: { command: "x" } } }
      machine.write(
        join(machine.home, ".claude.json"),
        json({
          mcpServers: { user: { command: "u" } },
          projects: { [machine.cwd]: own, "/elsewhere": { mcpServers: { other: { command: "o" } } } }
        })
      )
      const { servers } = yield* ConfigFiles.importFrom("claude-code", machine.host)
      assert.deepStrictEqual(
        servers.map(({ name, owner, project }) => ({ name, owner, project })),
        [
          { name: "user", owner: "user", project: undefined },
          { name: "local", owner: "private", project: machine.cwd }
        ]
      )
    })
  )

  onMachine("reports invalid entries without an effect on others", (machine) =>
    Effect.gen(function* () {
      machine.write(
        join(machine.home, ".cursor/mcp.json"),
        json({ mcpServers: { a: { command: "x" }, b: { command: 3 } } })
      )
      machine.write(".cursor/mcp.json", "{")
      const { problems, servers, skip } = yield* ConfigFiles.importFrom("cursor", machine.host)
      assert.deepStrictEqual(
        servers.map(({ name }) => name),
        ["a"]
      )
      assert.deepStrictEqual(skip, { b: "its entry is wrong" })
      assert.deepStrictEqual(
        problems.map(({ issues }) => issues[0]?.line),
        [1, 7]
      )
    })
  )

  onMachine("returns nothing for a client that is not installed", (machine) =>
    Effect.forEach(knownClients, (client) =>
      Effect.map(ConfigFiles.importFrom(client, machine.host), ({ files, servers }) =>
        assert.deepStrictEqual([servers, files], [[], []])
      )
    )
  )

  it.each<[Client, NodeJS.Platform, string]>([
    ["claude-desktop", "darwin", "/home/ada/Library/Application Support/Claude/claude_desktop_config.json"],
    ["claude-desktop", "win32", "C:\\Data\\Claude\\claude_desktop_config.json"],
    ["claude-desktop", "linux", "/home/ada/.config/Claude/claude_desktop_config.json"],
    ["vscode", "darwin", "/home/ada/Library/Application Support/Code/User/mcp.json"],
    ["vscode", "win32", "C:\\Data\\Code\\User\\mcp.json"],
    ["vscode", "linux", "/home/ada/.config/Code/User/mcp.json"],
    ["opencode", "darwin", "/home/ada/.config/opencode/opencode.json"],
    ["opencode", "win32", "C:\\Users\\ada\\.config\\opencode\\opencode.json"],
    ["claude-code", "win32", "C:\\Users\\ada\\.claude.json"],
    ["cursor", "win32", "C:\\Users\\ada\\.cursor\\mcp.json"],
    ["windsurf", "darwin", "/home/ada/.codeium/windsurf/mcp_config.json"],
    ["gemini", "win32", "C:\\Users\\ada\\.gemini\\settings.json"],
    ["codex", "darwin", "/home/ada/.codex/config.toml"]
  ])("%s on %s looks at %s", (client, platform, path) => {
    const where = {
      platform,
      home: platform === "win32" ? "C:\\Users\\ada" : "/home/ada",
      env: { APPDATA: "C:\\Data" }
    }
    assert.include(
      clientFiles(client, where, []).map((file) => file.path),
      path
    )
  })
})
