import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { addCommand, withVariables } from "../../src/cli/plainSecrets.js"
import { absoluteLine } from "../../src/cli/relativeWords.js"

describe("the command line of a new server", () => {
  let cwd = ""
  beforeAll(() => {
    cwd = mkdtempSync(join(tmpdir(), "adding-"))
    mkdirSync(join(cwd, "data"))
    mkdirSync(join(cwd, "server"))
    writeFileSync(join(cwd, "server.mjs"), "")
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  const at = (path: string) => join(cwd, path)

  it.each<[ReadonlyArray<string>, () => ReadonlyArray<string>]>([
    [["npx", "-y", "@m/files", "."], () => ["npx", "-y", "@m/files", at("")]],
    [["node", "./server.mjs", "data"], () => ["node", at("server.mjs"), at("data")]],
    [["node", "server.mjs", "--port", "0"], () => ["node", at("server.mjs"), "--port", "0"]],
    [["./server.mjs", "missing", "./missing"], () => [at("server.mjs"), "missing", "./missing"]],
    [["node", "/abs/data", ""], () => ["node", "/abs/data", ""]],
    // names of packages and subcommands, not of the directories beside them
    [["npx", "-y", "server", "data"], () => ["npx", "-y", "server", at("data")]],
    [["uv", "run", "server"], () => ["uv", "run", "server"]],
    [["docker", "run", "-i", "server", "."], () => ["docker", "run", "-i", "server", "."]]
  ])("%j has the paths that exist made absolute (security H2)", (line, expected) => {
    const found = absoluteLine(line, cwd)
    const want = expected().map((word) => word.replace(/\/$/, ""))
    assert.deepStrictEqual(found.line, line.includes("/abs/data") ? [...expected()] : want)
    assert.strictEqual(found.changes.length, line.filter((word, index) => word !== found.line[index]).length)
  })
})

describe("secrets in the entry of a new server", () => {
  it("are found in variables, headers, logins and arguments, and named instead (security L4)", () => {
    const local = withVariables("x", {
      type: "local",
      command: ["x", "--api-key", "abc", "--token=def", "--port", "1"],
      environment: { TOKEN: "literal", LEVEL: "debug", NAMED: "{env:NAMED}", OTHER: "kJ8sdf72hskdf99asdKJHsd" }
    })
    assert.deepStrictEqual(local.entry, {
      type: "local",
      command: ["x", "--api-key", "{env:X_API_KEY}", "--token={env:X_TOKEN}", "--port", "1"],
      environment: { TOKEN: "{env:TOKEN}", LEVEL: "debug", NAMED: "{env:NAMED}", OTHER: "{env:OTHER}" }
    } as never)
    const remote = withVariables("my.api", {
      type: "remote",
      url: "https://a.example.com",
      headers: { Authorization: "Bearer abc", "X-Api-Key": "abc", Accept: "text" },
      oauth: { clientId: "id", clientSecret: "abc" }
    })
    assert.deepStrictEqual(remote.entry, {
      type: "remote",
      url: "https://a.example.com",
      headers: { Authorization: "Bearer {env:MY_API_TOKEN}", "X-Api-Key": "{env:MY_API_X_API_KEY}", Accept: "text" },
      oauth: { clientId: "id", clientSecret: "{env:MY_API_CLIENT_SECRET}" }
    } as never)
    assert.strictEqual(
      addCommand("my.api", remote.entry),
      "mcp-supervisor add my.api --scope project --url https://a.example.com --header 'Authorization=Bearer {env:MY_API_TOKEN}' --header 'X-Api-Key={env:MY_API_X_API_KEY}' --header Accept=text --oauth --oauth-client-id id --oauth-client-secret '{env:MY_API_CLIENT_SECRET}'"
    )
    assert.notInclude(addCommand("x", local.entry), "abc")
  })
})
