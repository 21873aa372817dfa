/** Checks what the commands write to config files, and the output of all commands with --json. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { greet, notes, type Place, type Ran, places } from "../support/cli.js"

const newPlace = places()

const globalFile = (here: Place) => join(here.directory, "config", "mcp-supervisor", "config.json")

const ok = ({ code, stderr, stdout }: Ran): string => {
  assert.strictEqual(code, 0, stderr)
  return stdout
}

/** Exactly one line, and that is JSON. */
const json = (ran: Ran) => {
  const stdout = ok(ran)
  assert.match(stdout, /^[^\n]+\n$/)
  return JSON.parse(stdout)
}

describe.concurrent("add", () => {
  it("writes the entry that its options describe", async () => {
    const here = await newPlace()
    const remote = { type: "remote", url: "https://example.com/mcp" }
    const url = ["--url", remote.url]
    const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>, unknown]> = [
      ["plain", url, remote],
      ["oauth", [...url, "--oauth"], { ...remote, oauth: {} }],
      ["none", [...url, "--no-oauth"], { ...remote, oauth: false }],
      ["known", [...url, "--oauth-client-id", "us"], { ...remote, oauth: { clientId: "us" } }],
      [
        "secret",
        [...url, "--oauth-client-id=us", "--oauth-client-secret={env:S}", "--oauth-scope", "a b"],
        { ...remote, oauth: { clientId: "us", clientSecret: "{env:S}", scope: "a b" } }
      ],
      [
        "headers",
        [...url, "--header", "X-Key={env:KEY}", "--header", "Accept-Language: de"],
        { ...remote, headers: { "X-Key": "{env:KEY}", "Accept-Language": "de" } }
      ],
      ["sse", [...url, "--transport", "sse"], { ...remote, type: "sse" }],
      [
        "program",
        ["--command", "node", "--args", "server.mjs", "--port", "1", "--env", "A=1", "--env", "B=c=d"],
        { type: "local", command: ["node", "server.mjs", "--port", "1"], environment: { A: "1", B: "c=d" } }
      ],
      ["line", ["--", "npx", "-y", "thing", "--json"], { type: "local", command: ["npx", "-y", "thing", "--json"] }]
    ]
    for (const [name, words] of cases) ok(await here.run(["add", name, ...words]))
    const written = JSON.parse(readFileSync(globalFile(here), "utf8")).mcp
    assert.deepStrictEqual(written, Object.fromEntries(cases.map(([name, , entry]) => [name, entry])))
  })

  it("rejects options that contradict each other, and changes nothing", async () => {
    const here = await newPlace()
    const wrong = async (words: ReadonlyArray<string>, text: string) => {
      const { code, stderr } = await here.run(["add", "x", ...words])
      assert.strictEqual(code, 2, words.join(" "))
      assert.include(stderr, text)
    }
    await wrong(["--url", "https://a", "--", "node"], "use only one of --url, --command and -- command…")
    await wrong(["--url", "https://a", "--oauth", "--no-oauth"], "use only one of --oauth and --no-oauth")
    await wrong(["--oauth", "--", "node"], "--oauth requires --url")
    await wrong(["--env", "A", "--", "node"], "write KEY=VALUE")
    await wrong(["--url", "no address"], "url")
    assert.throws(() => readFileSync(globalFile(here)))
  })

  it("writes to the file that --scope selects, and keeps its comments", async () => {
    const here = await newPlace()
    const file = join(here.project, "mcp-supervisor.jsonc")
    const before = `// ours
{
  // the one we like
  "mcp": {
    "first": { "command": "one" } /* and only */
  },
}
`
    writeFileSync(file, before)
    // The project file, because it exists.
    assert.strictEqual(json(await here.run(["add", "second", "--json", "--", "two"])).file, file)
    assert.strictEqual(
      json(await here.run(["add", "third", "--json", "--scope", "global", "--", "three"])).file,
      globalFile(here)
    )
    assert.strictEqual(json(await here.run(["add", "fourth", "--json", "--scope", "project", "--", "four"])).file, file)
    const after = readFileSync(file, "utf8")
    for (const comment of ["// ours", "// the one we like", "/* and only */"]) assert.include(after, comment)
    assert.include(after, '"first": { "command": "one" }')
    assert.match(after, /"second"[^]*"fourth"/)
    assert.notInclude(after, '"third"')
    // The command approves the entry that it writes, but not the entries that existed.
    const { servers } = json(await here.run(["config", "--json"]))
    assert.deepStrictEqual(
      servers.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`).toSorted(),
      ["first untrusted", "fourth enabled", "second enabled", "third enabled"]
    )
    const other = await newPlace()
    const made = json(await other.run(["add", "x", "--json", "--scope", "project", "--", "y"]))
    assert.strictEqual(made.file, join(other.project, "mcp-supervisor.json"))
  })
})

describe("with --json", () => {
  it("every command prints its result on one line", async () => {
    const here = await newPlace()
    const file = globalFile(here)
    const run = (...words: ReadonlyArray<string>) => here.run([...words, "--json"])
    const edited = { file, changed: true, alsoIn: [] }
    here.configure({ greet })
    const started = json(await run("start", "--port", "0"))
    assert.hasAllKeys(started, ["address", "socket", "pid", "stateDir"])
    assert.deepStrictEqual(json(await run("start")), started)

    assert.deepInclude(json(await here.run(["add", "notes", "--json", "--", notes.command, ...notes.args])), edited)
    assert.deepInclude(json(await run("disable", "notes")), edited)
    assert.deepInclude(json(await run("disable", "notes")), { ...edited, changed: false })
    assert.deepInclude(json(await run("enable", "notes")), edited)
    assert.strictEqual(json(await run("connect", "notes")).notes.status, "connected")
    assert.deepInclude(json(await run("disconnect", "notes")).notes, { status: "disabled", by: "command" })
    assert.strictEqual(json(await run("restart", "notes")).notes.status, "connected")
    assert.strictEqual(json(await run("status", "notes")).notes.status, "connected")
    assert.strictEqual(json(await run("prompt", "notes", "greet", "name=Ada")).messages[0].content.text, "Greet Ada")
    assert.isTrue(json(await run("test", "notes")).usable)
    assert.isTrue(json(await run("debug", "notes")).usable)
    assert.deepInclude(json(await run("remove", "notes")), edited)
    assert.hasAnyKeys(json(await run("reload")), ["add", "remove", "restart"])

    mkdirSync(join(here.directory, ".cursor"))
    const cursor = join(here.directory, ".cursor", "mcp.json")
    writeFileSync(cursor, JSON.stringify({ mcpServers: { one: greet, greet } }))
    const imported = json(await run("import", "cursor"))
    assert.deepInclude(imported, {
      client: "cursor",
      files: [{ file: cursor, servers: ["one", "greet"] }],
      added: [{ name: "one", from: cursor, file, trusted: true }],
      failed: []
    })
    assert.hasAllKeys(imported.skip, ["greet"])

    const project = join(here.project, "mcp-supervisor.json")
    writeFileSync(project, JSON.stringify({ mcp: { ours: greet } }))
    const trusted = json(await run("trust", "--yes"))
    assert.deepStrictEqual(trusted.directory, { path: here.project, isTrusted: false })
    assert.deepInclude(trusted.files[0], { file: project, servers: ["ours"] })
    assert.deepStrictEqual(json(await run("trust", project, "--revoke")), { revoked: [project] })

    const { script, shell } = json(await run("completions", "zsh"))
    assert.strictEqual(shell, "zsh")
    assert.strictEqual(script, ok(await here.run(["completions", "zsh"])))

    assert.deepStrictEqual(json(await run("stop")), { stopped: started.pid })
    assert.deepStrictEqual(json(await run("stop")), { stopped: null })
  }, 180_000)

  it("stdout contains only data, also without any", async () => {
    const here = await newPlace()
    here.configure({ broken: { command: "there-is-no-such-program" } })
    const failing: ReadonlyArray<readonly [number, ReadonlyArray<string>]> = [
      [3, ["call", "nobody/x"]],
      [3, ["call", "broken/x"]],
      [3, ["read", "nobody", "x://y"]],
      [3, ["prompt", "nobody", "x"]],
      [3, ["status", "nobody"]],
      [3, ["tools", "nobody"]],
      [3, ["remove", "nobody"]],
      [3, ["enable", "nobody"]],
      [3, ["logs", "nobody"]],
      [3, ["auth", "nobody"]],
      [3, ["debug", "nobody"]],
      [2, ["call"]],
      [1, ["connect", "broken"]],
      [1, ["reload"]]
    ]
    for (const [code, words] of failing) {
      const ran = await here.run([...words, "--json"])
      assert.strictEqual(ran.code, code, `${words.join(" ")}: ${ran.stderr}`)
      assert.strictEqual(ran.stdout, "", words.join(" "))
      assert.match(ran.stderr, /error: /)
    }
  }, 180_000)
})
