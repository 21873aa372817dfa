import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { addCommand, withVariables } from "../../src/cli/words/plainSecrets.js"
import { type ProjectFile, relocated } from "../../src/cli/words/relativeWords.js"

describe("the command line of a new server", () => {
  let cwd = ""
  beforeAll(() => {
    cwd = realpathSync(mkdtempSync(join(tmpdir(), "adding-")))
    mkdirSync(join(cwd, "data", "inner"), { recursive: true })
    mkdirSync(join(cwd, "server"))
    for (const file of ["server.mjs", "elsewhere.txt", "data/inner/x.mjs", "data/inner/tool.sh"])
      writeFileSync(join(cwd, file), "")
  })
  afterAll(() => rmSync(cwd, { recursive: true, force: true }))

  const at = (path: string) => join(cwd, path)

  const placed = (line: ReadonlyArray<string>, expected: ReadonlyArray<string>, from = cwd, home?: ProjectFile) => {
    const found = relocated(line, from, home)
    assert.deepStrictEqual(found.line, expected)
    assert.deepStrictEqual(
      found.changes.map(({ to }) => to),
      expected.flatMap((word, index) => (word === line[index] ? [] : [word.replace(/^[\w-]+=/, "")]))
    )
  }

  it.each<[ReadonlyArray<string>, () => ReadonlyArray<string>]>([
    [["npx", "-y", "@m/files", "."], () => ["npx", "-y", "@m/files", cwd]],
    [["node", "./server.mjs", "data"], () => ["node", at("server.mjs"), "data"]],
    [["node", "server.mjs", "--port", "0"], () => ["node", at("server.mjs"), "--port", "0"]],
    [["./server.mjs", "missing", "./missing", "./data"], () => [at("server.mjs"), "missing", "./missing", at("data")]],
    [["node", "/abs/data", ""], () => ["node", "/abs/data", ""]],
    [
      ["x", "--dir=.", "-C=data/", "ROOT=./data", "--mode=server"],
      () => ["x", `--dir=${cwd}`, `-C=${at("data")}`, `ROOT=${at("data")}`, "--mode=server"]
    ],
    [["uv", "run", "server.mjs"], () => ["uv", "run", at("server.mjs")]],
    // These are names of modules, packages and subcommands, and code, although such files exist.
    [["python3", "-m", "server"], () => ["python3", "-m", "server"]],
    [["python3", "-m", "data/inner"], () => ["python3", "-m", "data/inner"]],
    [["mytool", "server"], () => ["mytool", "server"]],
    [["npx", "-y", "data/inner", "data/inner"], () => ["npx", "-y", "data/inner", at("data/inner")]],
    [["npx", "./data"], () => ["npx", at("data")]],
    [["sh", "-c", "server.mjs"], () => ["sh", "-c", "server.mjs"]],
    [["mytool", "-c", "server.mjs"], () => ["mytool", "-c", at("server.mjs")]],
    [["mytool", "-p", "./data"], () => ["mytool", "-p", at("data")]],
    [["npx", "-p", "data/inner", "x"], () => ["npx", "-p", "data/inner", "x"]],
    [["uv", "run", "server"], () => ["uv", "run", "server"]],
    [["docker", "run", "-i", "server", "."], () => ["docker", "run", "-i", "server", "."]]
  ])("%j has the paths that exist made absolute, and nothing else", (line, expected) => {
    placed(line, expected())
  })

  it("stays unchanged in the project file of the same directory", () => {
    const line = ["./server.mjs", "data/inner", ".", "--dir=."]
    placed(line, line, cwd, { directory: cwd, runsIn: cwd })
  })

  it("becomes relative to the directory of the project file", () => {
    const line = ["./tool.sh", "x.mjs", "..", ".", "--dir=..", "../../elsewhere.txt"]
    const inner = at("data/inner")
    placed(
      line,
      ["./data/inner/tool.sh", "data/inner/x.mjs", "data", "data/inner", "--dir=data", "elsewhere.txt"],
      inner,
      {
        directory: cwd,
        runsIn: cwd
      }
    )
  })

  it("becomes relative to the directory of the server if the project file is elsewhere", () => {
    const home = { directory: at("data"), runsIn: cwd }
    placed(["./server.mjs", "./server.mjs", ".", "--dir=."], ["../server.mjs", "server.mjs", ".", "--dir=."], cwd, home)
    placed(["./x.mjs", "../..", "--a=../.."], ["./inner/x.mjs", ".", "--a=."], at("data/inner"), home)
    const deep = { directory: at("data/inner"), runsIn: at("data") }
    placed(["x", ".", "server.mjs", "--a=."], ["x", "../../", "../../server.mjs", "--a=.."], cwd, deep)
  })
})

describe("secrets in the entry of a new server", () => {
  it("are found in variables, headers, logins and arguments, and replaced by variables", () => {
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
