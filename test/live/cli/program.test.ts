/** Runs the program with invalid input, on full and read-only disks, and on a terminal. */
import { execFile, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { bin, greet, hasTerminal, notes, places } from "../support/cli.js"

const newPlace = places()

/** Whether this process may create a mount namespace. */
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "-o", "ro", "none", "/mnt"]).status === 0

describe.concurrent("the command line", () => {
  it("exits with 2 for invalid usage, and prints the valid one", async () => {
    const here = await newPlace()
    const wrong = async (words: ReadonlyArray<string>, text: string) => {
      const { code, stderr, stdout } = await here.run(words)
      assert.strictEqual(code, 2, words.join(" "))
      assert.strictEqual(stdout, "")
      assert.include(stderr, text)
    }
    await wrong([], "a command is missing")
    await wrong(["lst"], 'did you mean "list"?')
    await wrong(["list", "--jsn"], "did you mean --json?")
    await wrong(["list", "--cwd"], "--cwd requires a value: --cwd DIR")
    for (const command of ["list", "start"]) await wrong([command, "--cwd", "/nope"], "/nope: no such directory")
    await wrong(["list", "--json", "--cwd", "/nope"], "/nope: no such directory")
    await wrong(["read", "notes"], "<uri> is missing")
    await wrong(["stop", "now"], 'unexpected argument "now"')
    await wrong(["serve", "--port", "70000"], "--port must be a whole number from 0 to 65535")
    await wrong(["import", "emacs"], "one of opencode")
    await wrong(["add", "x"], "--url, --command or -- command… is missing")
    await wrong(["add"], "the name is missing")
    await wrong(["serve", "--host", "0.0.0.0", "--port", "0"], "a token of your own")
  })

  it("prints help, the version and completions without a config", async () => {
    const here = await newPlace()
    const overview = await here.run(["--help"])
    assert.strictEqual(overview.code, 0)
    assert.include(overview.stdout, "serve --demo")
    assert.include((await here.run(["add", "--help"])).stdout, "mcp-supervisor add files -- npx")
    assert.strictEqual((await here.run(["help", "add"])).stdout, (await here.run(["add", "-h"])).stdout)
    assert.match((await here.run(["--version"])).stdout, /^\d+\.\d+\.\d+\n$/)
    const script = (await here.run(["completions", "bash"])).stdout
    const typed = `${script}\nCOMP_WORDS=(mcp-supervisor st); COMP_CWORD=1; _mcp_supervisor; echo "\${COMPREPLY[*]}"`
    assert.strictEqual(spawnSync("bash", ["-c", typed], { encoding: "utf8" }).stdout, "status start stop\n")
  })
})

describe.concurrent("the program", () => {
  it("lists no servers without a config, and prints how to add some", async () => {
    const here = await newPlace()
    const { code, stderr, stdout } = await here.run(["list"])
    assert.strictEqual(code, 0)
    assert.strictEqual(stdout, "")
    assert.include(stderr, "mcp-supervisor add NAME")
    assert.strictEqual((await here.run(["list", "--json"])).stdout, "{}\n")
    for (const words of [["connect", "x"], ["disconnect", "x"], ["restart", "x"], ["reload"]]) {
      const none = await here.run(words)
      assert.strictEqual(none.code, 1)
      assert.include(none.stderr, "no supervisor is running; start one: mcp-supervisor start")
    }
    assert.strictEqual((await here.run(["stop"])).stderr, "no supervisor is running\n")
    assert.strictEqual((await here.run(["import", "cursor"])).code, 1)
  })

  it("exits with 2 for an invalid config, and prints the place", async () => {
    const here = await newPlace()
    const file = here.configure({})
    writeFileSync(file, '{ "mcp": { "a": \n')
    for (const words of [["list"], ["serve", "--port", "0"], ["start", "--port", "0"], ["config"]]) {
      const { code, stderr } = await here.run(words)
      assert.strictEqual(code, 2, stderr)
      assert.include(stderr, `${file}:2:`)
    }
    assert.strictEqual((await here.run(["list", "--config", "missing.json"])).code, 2)
  })

  it("shows a server with an invalid entry beside the others, without its values", async () => {
    const here = await newPlace()
    here.configure({ good: { ...greet, env: { TOKEN: "geheim-123" } }, bad: { url: 3 } })
    const { stdout } = await here.run(["list", "--json"])
    assert.strictEqual(JSON.parse(stdout).good.status, "connected")
    assert.strictEqual(JSON.parse(stdout).bad.errorTag, "InvalidConfig")
    assert.strictEqual((await here.run(["test", "bad"])).code, 2)
    assert.notInclude((await here.run(["config"])).stdout, "geheim")
  })

  it("ignores an invalid project file with a message", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const file = join(here.project, "mcp-supervisor.json")
    writeFileSync(file, '{ "mcp": \n')
    const { code, stderr, stdout } = await here.run(["call", "greet/greet", '{"name":"Ada"}'])
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(stdout, "Hello, Ada!\n")
    assert.include(stderr, file)
  })

  it("imports the servers of other clients", async () => {
    const here = await newPlace()
    mkdirSync(join(here.directory, ".cursor"))
    const source = join(here.directory, ".cursor", "mcp.json")
    writeFileSync(source, JSON.stringify({ mcpServers: { one: greet } }))
    const destination = join(here.directory, "config", "mcp-supervisor", "config.json")
    const said = `one from ${source} to ${destination}\n`
    assert.strictEqual((await here.run(["import", "cursor", "--dry-run"])).stdout, `would add ${said}`)
    assert.strictEqual((await here.run(["import", "cursor"])).stdout, `added ${said}`)
    const again = await here.run(["import", "cursor"])
    assert.include(again.stderr, "skipped one: there is a server of that name already")
    assert.strictEqual((await here.run(["call", "one/greet", '{"name":"Ada"}'])).stdout, "Hello, Ada!\n")
  })

  it("reports a state directory that is not a directory, in commands that need it", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const file = join(here.directory, "file")
    writeFileSync(file, "")
    for (const words of [
      ["serve", "--port", "0"],
      ["start", "--port", "0"]
    ]) {
      const { code, stderr } = await here.run([...words, "--state-dir", join(file, "state")])
      assert.strictEqual(code, 1, stderr)
      assert.include(stderr, "choose another")
    }
  })

  it("fails on a full disk if its output cannot be written", async () => {
    const here = await newPlace()
    const program = await bin()
    for (const words of ["list --json", "--help", "completions bash"]) {
      const shell = spawnSync("sh", ["-c", `exec "$0" "$1" ${words} > /dev/full`, process.execPath, program], {
        env: here.env,
        cwd: here.project,
        encoding: "utf8"
      })
      assert.strictEqual(shell.status, 1, words)
      assert.include(shell.stderr, "ENOSPC")
    }
  })

  it("writes no partial file to a full disk, and runs commands that write none", async () => {
    const here = await newPlace()
    const file = here.configure({ greet })
    const before = readFileSync(file, "utf8")
    const program = await bin()
    // A file size limit of 0 acts like a full disk.
    const full = (words: string) =>
      spawnSync("sh", ["-c", `ulimit -f 0; exec "$0" "$1" ${words}`, process.execPath, program], {
        env: here.env,
        cwd: here.project,
        encoding: "utf8"
      })
    for (const words of ["add more -- x", "remove greet", "disable greet", "serve --port 0", "start --port 0"]) {
      const { status, stderr, stdout } = full(words)
      assert.strictEqual(status, 1, words)
      assert.strictEqual(stdout, "")
      assert.match(stderr, /^error: \/\S+ (was not changed|cannot be (written|used)).*EFBIG/, words)
    }
    assert.strictEqual(readFileSync(file, "utf8"), before)
    assert.strictEqual(full(`call greet/greet '{"name":"Ada"}'`).stdout, "Hello, Ada!\n")
  })

  it("reports a read-only state directory in commands that write to it; others work", async () => {
    const here = await newPlace()
    here.configure({ greet })
    // Not even root can create a directory here.
    const nowhere = ["--state-dir", "/sys/mcp-supervisor"]
    for (const words of [
      ["serve", "--port", "0"],
      ["start", "--port", "0"]
    ]) {
      const { code, stderr } = await here.run([...words, ...nowhere])
      assert.strictEqual(code, 1, stderr)
      assert.match(
        stderr,
        /\/sys\/mcp-supervisor cannot be (used|written).*(EPERM|EACCES|EROFS|ENOENT).*choose another/
      )
    }
    const call = await here.run(["call", "greet/greet", '{"name":"Ada"}', ...nowhere])
    assert.strictEqual(call.stdout, "Hello, Ada!\n")
    assert.strictEqual((await here.run(["list", "--json", ...nowhere])).code, 0)
  })

  it.runIf(canMount)("reports a read-only disk, not a missing file", async () => {
    const here = await newPlace()
    const program = await bin()
    for (const words of ["serve --port 0", "start --port 0", "add more -- x"]) {
      const mounted = 'mount -t tmpfs -o ro none "$2" && exec "$0" "$1"'
      const { status, stderr } = spawnSync(
        "unshare",
        ["-rm", "sh", "-c", `${mounted} ${words} --state-dir "$2/deep/down"`, process.execPath, program, here.project],
        { env: { ...here.env, XDG_CONFIG_HOME: join(here.project, "config") }, encoding: "utf8" }
      )
      assert.strictEqual(status, 1, stderr)
      assert.include(stderr, "EROFS")
    }
  })

  it("stops writing to a closed pipe without a message", async () => {
    const here = await newPlace()
    here.configure({ notes })
    writeFileSync(join(here.project, "much.json"), JSON.stringify({ text: "line\n".repeat(100_000) }))
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    const program = await bin()
    for (const words of ["call notes/echo - < much.json", "events -f"]) {
      const shell = execFile(
        "bash",
        ["-c", `"$0" "$1" ${words} | head -1; echo "\${PIPESTATUS[0]}"`, process.execPath, program],
        { env: here.env, cwd: here.project }
      )
      const said = { stdout: "", stderr: "" }
      shell.stdout?.on("data", (text) => (said.stdout += text))
      shell.stderr?.on("data", (text) => (said.stderr += text))
      const over = new Promise((resolve) => shell.once("close", resolve))
      // A closed pipe is noticed at the next write.
      while (shell.exitCode === null) {
        await Promise.race([over, here.run(["call", "notes/echo", '{"text":"x"}'])])
      }
      await over
      assert.match(said.stdout, /^.+\n0\n$/, words)
      assert.strictEqual(said.stderr, "")
    }
  })

  it("prints large results completely, and finds the server of a shortened public name", async () => {
    const here = await newPlace()
    const long = "n".repeat(70)
    here.configure({ [long]: notes })
    const text = "x".repeat(300_000)
    const input = JSON.stringify({ text })
    assert.strictEqual((await here.run(["call", `${long}/echo`, "-"], { input })).stdout, `${text}\n`)
    const tools = JSON.parse((await here.run(["tools", "--json"])).stdout) as Array<{ name: string; rawName: string }>
    const { name } = tools.find(({ rawName }) => rawName === "echo")!
    assert.isAtMost(name.length, 64)
    assert.strictEqual((await here.run(["call", name, '{"text":"hi"}'])).stdout, "hi\n")
  })

  it("lists 200 servers, also for a reader of only one line", async () => {
    const here = await newPlace()
    const names = Array.from({ length: 200 }, (_, index) => `server-${index}`)
    here.configure(Object.fromEntries(names.map((name) => [name, { ...greet, lazy: true }])))
    const { stdout } = await here.run(["list"])
    assert.strictEqual(stdout.trim().split("\n").length, 201)
    const program = await bin()
    const shell = spawnSync(
      "bash",
      ["-c", `"$0" "$1" list | head -1; echo "\${PIPESTATUS[0]}"`, process.execPath, program],
      {
        env: here.env,
        cwd: here.project,
        encoding: "utf8"
      }
    )
    assert.match(shell.stdout, /^SERVER .*\n0\n$/)
    // At most the note about the working directory is printed after the reader has left.
    assert.match(shell.stderr, /^(?:server-0, .* and 195 more run in [^\n]*\n)?$/)
  })
})

describe.runIf(hasTerminal)("on a terminal", () => {
  it("tables fit the width, and have colours without NO_COLOR", async () => {
    const here = await newPlace()
    here.configure({ "a-server-with-a-name": { command: "there-is-no-such-program-anywhere-on-this-machine" } })
    const size = { columns: 60, rows: 24 }
    const { code, stdout } = await here.onTerminal(["list"], [], size)
    assert.strictEqual(code, 0)
    assert.include(stdout, "\u001b[31m✗ failed")
    const plain = await here.onTerminal(["list"], [], { ...size, env: { NO_COLOR: "1" } })
    assert.notInclude(plain.stdout, "\u001b[3")
    const lines = plain.stdout.split("\n").filter((line) => line.includes("failed"))
    for (const line of lines) assert.isAtMost(line.trimEnd().length, 60)
    assert.include(plain.stdout, "…")
  })

  it("a terminal that reports no size gets 80 columns", async () => {
    const here = await newPlace()
    here.configure({ "a-server-with-a-name": { command: "there-is-no-such-program" } })
    const listed = await here.onTerminal(["list"], [], { columns: 0, rows: 0, env: { NO_COLOR: "1" } })
    assert.match(listed.stdout, /a-server-with-a-name +✗ failed /)
    const help = await here.onTerminal(["list", "--help"], [], { columns: 0, rows: 0 })
    assert.include(help.stdout, "Do not use a running supervisor")
    const watch = here.beginOnTerminal(["status", "--watch"], [], { columns: 0, rows: 0, env: { NO_COLOR: "1" } })
    await watch.said(/a-server-with-a-name +✗ failed /)
    watch.child.stdin.write("\u0003")
    assert.strictEqual((await watch.ended).code, 130)
  })

  it("add asks for missing values; a long call shows a spinner", async () => {
    const here = await newPlace()
    const [program, file] = [notes.command, notes.args[0]!]
    const added = await here.onTerminal(
      ["add"],
      [
        ["Name of the server", "notes\n"],
        ["Command of the server", `${program} ${file}\n`]
      ]
    )
    assert.strictEqual(added.code, 0, added.stdout)
    assert.include(added.stdout, "added notes to")
    const called = await here.onTerminal(["call", "notes/slow", '{"ms":900}'])
    assert.strictEqual(called.code, 0, called.stdout)
    assert.include(called.stdout, "calling notes/slow")
    assert.include(called.stdout, "done")
    const refused = await here.onTerminal(["add"], [["Name of the server", "\u0003"]])
    assert.strictEqual(refused.code, 130)
  })

  it("status --watch redraws one table in place until Ctrl-C", async () => {
    const here = await newPlace()
    here.configure({ greet })
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    const watch = here.beginOnTerminal(["status", "--watch"])
    await watch.said("● connected")
    await here.run(["disconnect", "greet"])
    await watch.said("- disabled")
    watch.child.stdin.write("\u0003")
    const { code, stdout } = await watch.ended
    assert.strictEqual(code, 130, stdout)
    const pictures = stdout.split("SERVER").length - 1
    assert.isAtLeast(pictures, 2)
    // Each table replaces the one before.
    assert.isAtLeast(stdout.split("\u001b[J").length, pictures)
  })

  it("a closed terminal shuts down everything with the exit status that a shell expects", async () => {
    const here = await newPlace()
    const stubborn = `process.on("SIGTERM", () => {}); setTimeout(() => {}, 60_000)`
    here.configure({ greet, stubborn: { command: process.execPath, args: ["-e", stubborn] } })
    const ends = [
      ["status", "--watch"],
      ["serve", "--port", "0"],
      ["call", "stubborn/x"]
    ].map(async (words, index) => {
      const { code, stdout } = await here.onTerminal(
        [...words, "--state-dir", join(here.directory, `state-${index}`)],
        [["stubborn", "close:"]]
      )
      assert.strictEqual(code, 129, `${words}: ${stdout}`)
    })
    await Promise.all(ends)
    assert.isFalse(existsSync(join(here.directory, "state-1", "daemon.json")))
  })

  it("serve --demo shows a live table and commands to try, until Ctrl-C", async () => {
    const here = await newPlace()
    const { code, stdout } = await here.onTerminal(
      ["serve", "--demo", "--port", "0"],
      [
        ["todo", ""],
        ["● connected", "\u0003"]
      ]
    )
    assert.strictEqual(code, 130, stdout)
    assert.include(stdout, "Try this in a second terminal")
    assert.match(stdout, /mcp-supervisor at http:\/\/127\.0\.0\.1:\d+, process \d+\. Ctrl-C stops it\./)
    assert.include(stdout, "\u001b[J")
    rmSync(here.directory, { recursive: true, force: true })
  })
})
