import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import { Either, Schema } from "effect"
import { serverMapKeys } from "../../src/domain/server/serverMapKeys.js"
import { ConfigDocument, ServerConfig } from "../../src/index.js"

const published = JSON.parse(readFileSync(new URL("../../schema/mcp-supervisor.schema.json", import.meta.url), "utf8"))

const validate = new Ajv({ strict: false }).compile(published)

const servers = {
  filesystem: {
    type: "local",
    command: ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/home/user/docs"],
    enabled: true,
    timeout: 30_000,
    environment: { DEBUG: "true" }
  },
  brave_search: {
    command: "npx",
    args: ["-y", "@modelcontextprotocol/server-brave-search"],
    env: { BRAVE_API_KEY: "your-key" }
  },
  context7: {
    type: "remote",
    url: "https://mcp.context7.com/mcp",
    headers: { CONTEXT7_API_KEY: "{env:CONTEXT7_API_KEY}" }
  },
  database: { url: "http://localhost:3000/sse", headers: { Authorization: "Bearer token123" } },
  sentry: { type: "remote", url: "https://mcp.sentry.dev/mcp", oauth: {} },
  github: { url: "https://mcp-github.example.com", oauth: true },
  "github-mcp": {
    type: "remote",
    url: "https://api.github.com/mcp",
    oauth: { clientId: "{env:GITHUB_CLIENT_ID}", clientSecret: "{env:GITHUB_CLIENT_SECRET}", scope: "repo read:user" }
  },
  "api-key-server": { type: "remote", url: "https://mcp.example.com/api", oauth: false },
  jira: { enabled: false }
}

const document = {
  $schema: "https://example.com/config.json",
  mcp: servers,
  tools: { "filesystem_*": true, "sentry_*": false },
  agent: { primary: { tools: { "sentry_*": true }, model: "a key of the host's own" } },
  experimental: { mcp_timeout: 60_000 },
  theme: "a key of the host's own"
}

describe("the schema of config files", () => {
  it("is the published one", () => assert.deepStrictEqual(ConfigDocument.jsonSchema(), published))

  it("accepts common configs under every key that holds servers", () => {
    for (const key of serverMapKeys) {
      const { mcp, ...rest } = document
      const renamed = { ...rest, [key]: mcp }
      assert.isTrue(validate(renamed), JSON.stringify(validate.errors))
      assert.isTrue(Either.isRight(Schema.decodeUnknownEither(ConfigDocument.ConfigDocument)(renamed)))
    }
  })

  it.each(Object.entries(servers))("accepts an entry %s without a diagnostic", (name, entry) => {
    const { warnings } = Either.getOrThrow(ServerConfig.decode(name, entry))
    assert.deepStrictEqual(warnings, [])
  })

  it.each([
    [{ command: ["x"], timeout: 0 }],
    [{ command: ["x"], timeout: "soon" }],
    [{ command: [] }],
    [{ command: "x", tiemout: 5 }],
    [{ url: "http://x", oauth: "yes" }],
    [{ type: "websocket", url: "http://x" }],
    [{}]
  ])("rejects %j", (entry) => {
    assert.isFalse(validate({ mcp: { entry } }))
  })
})
