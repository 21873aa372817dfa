/** Runs the built program in unusual directories, and several instances at once. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { spawn } from "node:child_process"
import { assert, describe, it } from "vitest"
import { bin, greet, hasTerminal, notes, places } from "../support/cli.js"

const newPlace = places()

describe("a command", () => {
  it("in a removed directory fails with a message, and works with --cwd", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const gone = mkdtempSync(join(here.directory, "gone-"))
    const program = await bin()
    const inRemoved = (...words: ReadonlyArray<string>) =>
      new Promise<{ code: number | null; text: string }>((resolve) => {
        mkdirSync(gone, { recursive: true })
        const line = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
        const child = spawn("sh", ["-c", line, "sh", gone, process.execPath, program, ...words], { env: here.env })
        let text = ""
        child.stdout.on("data", (chunk) => (text += chunk))
        child.stderr.on("data", (chunk) => (text += chunk))
        child.once("close", (code) => resolve({ code, text }))
      })
    for (const words of [["list"], ["list", "--json"], ["add", "x", "--", "y"]]) {
      const { code, text } = await inRemoved(...words)
      assert.strictEqual(code, 1, text)
      assert.match(text, /^error: the working directory was removed; .*--cwd DIR\n$/)
    }
    const there = await inRemoved("config", "--json", "--cwd", here.project)
    assert.strictEqual(there.code, 0, there.text)
    assert.include(there.text, "greet")
  })

  it("with a relative HOME or XDG directory writes nothing to the current directory, and prints a warning", async () => {
    const here = await newPlace()
    for (const HOME of ["relative/home", "."]) {
      const env = { HOME, XDG_DATA_HOME: "data", XDG_CONFIG_HOME: "config", XDG_STATE_HOME: "state" }
      const { code, stderr } = await here.run(["config", "--json"], { env })
      assert.strictEqual(code, 0, stderr)
      assert.include(stderr, "HOME is ignored because it is not an absolute path")
    }
    assert.deepStrictEqual(readdirSync(here.project), [])
  })

  it("shortens a name of 100 kB in its message", async () => {
    const here = await newPlace()
    const long = "x".repeat(100_000)
    const lines = [
      ["status", long],
      ["call", `${long}/y`],
      [long],
      ["list", `--${long}`],
      ["list", long],
      ["remove", long],
      ["add", long, "--", "y"],
      ["add", "x", "--env", long, "--", "y"],
      ["import", "cursor", long],
      ["trust", long],
      ["list", "--cwd", long],
      ["list", "--config", long]
    ]
    const all = await Promise.all(lines.map((words) => here.run(words)))
    for (const [index, { code, stderr, stdout }] of all.entries()) {
      const words = lines[index]!
      const name = words.map((word) => word.slice(0, 20)).join(" ")
      assert.isAtLeast(code ?? -1, 1, name)
      assert.isBelow(stderr.length + stdout.length, 5000, name)
    }
  })
})

describe("add", () => {
  it("makes the relative paths of existing files absolute, and prints the changes", async () => {
    const here = await newPlace()
    writeFileSync(join(here.project, "server.mjs"), "")
    const { code, stderr } = await here.run(["add", "files", "--", "node", "./server.mjs", "."])
    assert.strictEqual(code, 0, stderr)
    assert.include(stderr, `"./server.mjs" is written as ${join(here.project, "server.mjs")}`)
    const written = readFileSync(join(here.directory, "config/mcp-supervisor/config.json"), "utf8")
    assert.deepStrictEqual(JSON.parse(written).mcp.files.command, [
      "node",
      join(here.project, "server.mjs"),
      here.project
    ])
  })

  it("writes no path of this machine to a project file", async () => {
    const here = await newPlace()
    const tools = join(here.project, "tools")
    mkdirSync(tools)
    writeFileSync(join(tools, "server.mjs"), "")
    const [server] = greet.args
    writeFileSync(join(tools, "greet.mjs"), `import(${JSON.stringify(server)})`)
    const first = await here.run(["add", "one", "--scope", "project", "--", "node", "tools/server.mjs"])
    assert.strictEqual(first.code, 0, first.stderr)
    mkdirSync(join(here.project, ".git"))
    const second = await here.run(["add", "two", "--", process.execPath, "./greet.mjs", "--dir=."], { cwd: tools })
    assert.include(second.stderr, `"./greet.mjs" is written as tools/greet.mjs: the server runs in ${here.project}`)
    const { mcp } = JSON.parse(readFileSync(join(here.project, "mcp-supervisor.json"), "utf8"))
    assert.deepStrictEqual(mcp.one.command, ["node", "tools/server.mjs"])
    assert.deepStrictEqual(mcp.two.command, [process.execPath, "tools/greet.mjs", "--dir=tools"])
    const status = await here.run(["status", "two", "--json"], { cwd: tools })
    assert.strictEqual(JSON.parse(status.stdout).two.status, "connected")
  })

  it("warns about a secret in a project file, and prints the command that uses a variable", async () => {
    const here = await newPlace()
    const words = ["--scope", "project", "--env", "TOKEN=sk-literal", "--env", "LEVEL=debug", "--", "node", "x.mjs"]
    const { code, stderr } = await here.run(["add", "files", ...words])
    assert.strictEqual(code, 0, stderr)
    assert.notInclude(stderr, "sk-literal")
    const command =
      "mcp-supervisor remove files && mcp-supervisor add files --scope project --env 'TOKEN={env:TOKEN}' --env LEVEL=debug -- node x.mjs"
    assert.include(stderr, command)
    const own = await here.run(["add", "own", "--scope", "global", ...words.slice(2)])
    assert.notInclude(own.stderr, "plain text")
  })

  it.runIf(hasTerminal)("offers a variable on a terminal, and writes it", async () => {
    const here = await newPlace()
    const words = [
      "add",
      "api",
      "--scope",
      "project",
      "--url",
      "https://a.invalid/",
      "--header",
      "Authorization=Bearer abc"
    ]
    const { code, stdout } = await here.onTerminal(words, [["instead of the value", "\r"]])
    assert.strictEqual(code, 0, stdout)
    const { mcp } = JSON.parse(readFileSync(join(here.project, "mcp-supervisor.json"), "utf8"))
    assert.deepStrictEqual(mcp.api.headers, { Authorization: "Bearer {env:API_TOKEN}" })
  })
})

describe("start", () => {
  it("run several times at once finds one supervisor each time, and prints no line of its log", async () => {
    const here = await newPlace()
    here.configure({ greet, notes })
    const all = await Promise.all(Array.from({ length: 8 }, () => here.run(["start", "--port", "0"])))
    for (const { code, stderr } of all) {
      assert.strictEqual(code, 0, stderr)
      assert.notMatch(stderr, /connecting|connected|supervises/)
    }
    assert.strictEqual(new Set(all.map(({ stdout }) => stdout)).size, 1)
  }, 180_000)

  it("that fails prints its own reason and nothing that other runs wrote to the log", async () => {
    const here = await newPlace()
    here.configure({ greet })
    mkdirSync(here.stateDir, { recursive: true, mode: 0o700 })
    const log = join(here.stateDir, "supervisor.log")
    const busy = await newPlace()
    const { stdout } = await busy.run(["start", "--port", "0"])
    const port = new URL(stdout.trim()).port
    // Another process writes to the same log.
    const writer = spawn("sh", ["-c", 'while :; do echo "other: connecting (spawn)" >> "$1"; done', "sh", log])
    try {
      const { code, stderr } = await here.run(["start", "--port", port])
      assert.strictEqual(code, 1, stderr)
      assert.include(stderr, port)
      assert.notInclude(stderr, "other: connecting")
    } finally {
      writer.kill("SIGKILL")
    }
    assert.isTrue(existsSync(log))
    rmSync(log)
  }, 180_000)
})
