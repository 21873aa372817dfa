import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Effect, Either, Option, Redacted } from "effect"
import { ConfigFiles, ServerConfig } from "../../src/index.js"
import { type Machine, onMachine } from "./support.js"

const examples = fileURLToPath(new URL("../../examples/config/", import.meta.url))

const load = (machine: Machine, example: string) =>
  Effect.gen(function* () {
    const { desired, diagnostics, problems } = yield* ConfigFiles.load({
      ...machine.host,
      files: [join(examples, example)]
    })
    assert.deepStrictEqual(diagnostics, [])
    assert.deepStrictEqual(problems, [])
    assert.deepStrictEqual(desired.untrusted, [])
    const config = (name: string) =>
      Option.getOrThrow(Either.getOrThrow(ServerConfig.decode(name, desired.servers?.[name], desired.defaults)).config)
    const local = (name: string) => {
      const found = config(name)
      if (found._tag !== "Local") return assert.fail(`${name} is ${found._tag}`)
      const environment = Object.entries(found.environment).map(([key, value]) => [key, Redacted.value(value)] as const)
      return { ...found, words: [found.command, ...found.args], environment: Object.fromEntries(environment) }
    }
    const remote = (name: string) => {
      const found = config(name)
      if (found._tag !== "Remote") return assert.fail(`${name} is ${found._tag}`)
      const headers = Object.entries(found.headers).map(([key, value]) => [key, Redacted.value(value)] as const)
      return { ...found, headers: Object.fromEntries(headers) }
    }
    return { desired, names: Object.keys(desired.servers ?? {}), local, remote, unreadable: desired.unreadable ?? {} }
  })

describe("the first example documents", () => {
  onMachine("opencode.jsonc: all kinds of servers, filters, agents and a timeout", (machine) =>
    Effect.gen(function* () {
      Object.assign(machine.env, {
        CONTEXT7_API_KEY: "ctx-secret",
        GITHUB_CLIENT_ID: "id-secret",
        GITHUB_CLIENT_SECRET: "client-secret",
        MCP_API_KEY: "api-secret"
      })
      const { desired, local, names, remote, unreadable } = yield* load(machine, "opencode.jsonc")
      assert.deepStrictEqual(unreadable, {})
      assert.deepStrictEqual(names, ["filesystem", "everything", "context7", "sentry", "github-mcp", "api-key-server"])
      const filesystem = local("filesystem")
      assert.deepStrictEqual(filesystem.words, [
        "npx",
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/home/user/docs"
      ])
      assert.deepStrictEqual(filesystem.environment, { DEBUG: "true" })
      assert.deepInclude(filesystem.timeout, { connect: 30_000, list: 30_000, call: 30_000 })
      assert.deepStrictEqual(local("everything").words, ["bun", "x", "@modelcontextprotocol/server-everything"])
      // experimental.mcp_timeout is for those who set none
      assert.deepInclude(local("everything").timeout, { connect: 60_000, list: 60_000, call: 60_000 })
      assert.deepStrictEqual(remote("context7").headers, { CONTEXT7_API_KEY: "ctx-secret" })
      assert.strictEqual(remote("sentry").url, "https://mcp.sentry.dev/mcp")
      assert.strictEqual(remote("sentry").transport, "auto")
      assert.notStrictEqual(remote("sentry").oauth, false)
      const github = remote("github-mcp").oauth
      if (github === false) return assert.fail("it logs in")
      assert.strictEqual(Redacted.value(github.clientSecret!), "client-secret")
      assert.strictEqual(github.scope, "repo read:user")
      assert.strictEqual(remote("api-key-server").oauth, false)
      assert.deepStrictEqual(remote("api-key-server").headers, { Authorization: "Bearer api-secret" })
      assert.deepStrictEqual(desired.tools, {
        "filesystem_*": true,
        "context7_*": true,
        "sentry_*": false,
        "github-mcp_*": true
      })
      assert.deepStrictEqual(desired.agents, { primary: { tools: { "sentry_*": true } } })
    })
  )

  onMachine("opencode.jsonc without its variables: only the servers that use them fail", (machine) =>
    Effect.gen(function* () {
      const { names, unreadable } = yield* load(machine, "opencode.jsonc")
      assert.deepStrictEqual(names, ["filesystem", "everything", "sentry"])
      assert.deepStrictEqual(Object.keys(unreadable), ["context7", "github-mcp", "api-key-server"])
      const [issue] = unreadable.context7!.issues
      assert.deepInclude(issue, { line: 27, column: 29, path: ["mcp", "context7", "headers", "CONTEXT7_API_KEY"] })
    })
  )

  onMachine("a file that disables a server of the organisation", (machine) =>
    Effect.gen(function* () {
      machine.write(machine.globalFile(), '{ "mcp": { "jira": { "url": "https://jira.example.com/mcp" } } }')
      const { local: _, names, remote } = yield* load(machine, "opencode.jsonc")
      assert.include(names, "jira")
      assert.strictEqual(remote("jira").enabled, false)
    })
  )

  onMachine("local.json", (machine) =>
    Effect.gen(function* () {
      const { local } = yield* load(machine, "local.json")
      const { enabled, timeout, words } = local("my-server")
      // a path that begins with a dot is seen from the file that says it
      assert.deepStrictEqual(words, ["npx", "-y", "@modelcontextprotocol/server-filesystem", join(examples, "src")])
      assert.isTrue(enabled)
      assert.strictEqual(timeout.call, 30_000)
    })
  )

  onMachine("remote.json", (machine) =>
    Effect.gen(function* () {
      const { remote } = yield* load(machine, "remote.json")
      assert.deepInclude(remote("context7"), { url: "https://mcp.context7.com/mcp", enabled: true, headers: {} })
    })
  )

  onMachine("greet.json, greet-bun.json, todo.json: scripts beside the file", (machine) =>
    Effect.gen(function* () {
      const script = (name: string) => join(dirname(`${examples}x`), "mcp-servers", name)
      const greet = (yield* load(machine, "greet.json")).local("my-greet")
      assert.deepStrictEqual(greet.words, ["node", script("my-greet.mjs")])
      assert.deepStrictEqual(greet.environment, { NODE_ENV: "development" })
      assert.strictEqual(greet.cwd, dirname(`${examples}x`))
      const bun = (yield* load(machine, "greet-bun.json")).local("my-greet")
      assert.deepStrictEqual(bun.words, ["bun", "run", script("my-greet.mjs")])
      const todo = (yield* load(machine, "todo.json")).local("todo")
      assert.deepStrictEqual(todo.words, ["bun", "run", script("todo-server.mjs")])
    })
  )

  onMachine("opencode.toml: inline tables, and oauth = true", (machine) =>
    Effect.gen(function* () {
      const { local, names, remote } = yield* load(machine, "opencode.toml")
      assert.deepStrictEqual(names, ["filesystem", "database", "web_api", "github"])
      assert.deepStrictEqual(local("filesystem").words, [
        "npx",
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/path/to/project"
      ])
      assert.deepInclude(remote("database"), {
        url: "http://localhost:3000/sse",
        headers: { Authorization: "Bearer token123" }
      })
      assert.deepInclude(remote("web_api"), { url: "http://localhost:8080", headers: { "X-API-Key": "key123" } })
      assert.deepInclude(remote("github").oauth, { grant: "authorization_code" })
    })
  )

  onMachine("filesystem.toml, git.toml, brave-search.toml", (machine) =>
    Effect.gen(function* () {
      const words = (name: string) => ["npx", "-y", `@modelcontextprotocol/server-${name}`]
      assert.deepStrictEqual((yield* load(machine, "filesystem.toml")).local("filesystem").words, [
        ...words("filesystem"),
        "/path"
      ])
      assert.deepStrictEqual((yield* load(machine, "git.toml")).local("git").words, words("git"))
      const brave = (yield* load(machine, "brave-search.toml")).local("brave_search")
      assert.deepStrictEqual(brave.words, words("brave-search"))
      assert.deepStrictEqual(brave.environment, { BRAVE_API_KEY: "your-key" })
    })
  )

  onMachine("slow-server.toml: a timeout for all", (machine) =>
    Effect.gen(function* () {
      const { local } = yield* load(machine, "slow-server.toml")
      assert.deepStrictEqual(local("slow_server").words, ["python", "server.py"])
      assert.deepInclude(local("slow_server").timeout, { connect: 60_000, list: 60_000, call: 60_000 })
    })
  )

  onMachine("mcp-servers.json: the spelling `mcpServers`", (machine) =>
    Effect.gen(function* () {
      const { local, names } = yield* load(machine, "mcp-servers.json")
      assert.deepStrictEqual(names, ["web-search", "filesystem"])
      assert.deepStrictEqual(local("web-search").words, ["python", "-m", "mcp_server_websearch"])
      assert.deepStrictEqual(local("web-search").environment, { SEARCH_API_KEY: "..." })
      assert.deepStrictEqual(local("filesystem").words.slice(-1), ["/home/user"])
    })
  )

  onMachine("are complete, and each has a test", (_machine) =>
    Effect.sync(() => {
      const tested = readFileSync(fileURLToPath(import.meta.url), "utf8")
      for (const file of readdirSync(examples)) {
        if (file !== "README.md") assert.include(tested, `"${file}"`)
      }
    })
  )
})
