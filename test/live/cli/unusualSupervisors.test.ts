/** Commands whose running supervisor cannot be used: each message says what to do. */
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { greet, notes, type Place, places } from "../support/cli.js"

const newPlace = places()

const daemonOf = (here: Place): { readonly pid: number; readonly socket: string } =>
  JSON.parse(readFileSync(join(here.stateDir, "daemon.json"), "utf8"))

/** A directory with a running supervisor. */
const supervised = async (servers: Readonly<Record<string, unknown>> = { greet }): Promise<Place> => {
  const here = await newPlace()
  here.configure(servers)
  const started = await here.run(["start", "--port", "0"])
  assert.strictEqual(started.code, 0, started.stderr)
  return here
}

describe.concurrent("a supervisor", () => {
  it("that is suspended makes commands fail after a moment, with the command that resumes it", async () => {
    const here = await supervised()
    const { pid } = daemonOf(here)
    process.kill(pid, "SIGSTOP")
    try {
      const commands = [["list", "--json"], ["tools"], ["connect", "greet"], ["events", "-f"], ["start"]]
      const all = await Promise.all(commands.map((words) => here.run(words)))
      for (const [index, { code, stderr, stdout }] of all.entries()) {
        assert.strictEqual(code, 1, `${commands[index]}`)
        assert.strictEqual(stdout, "")
        assert.include(stderr, `the supervisor (process ${pid}) does not respond`)
        assert.include(stderr, `kill -CONT ${pid}`)
      }
    } finally {
      process.kill(pid, "SIGCONT")
    }
    assert.strictEqual((await here.run(["tools"])).code, 0)
    assert.strictEqual((await here.run(["stop"])).stdout, `stopped process ${pid}\n`)
  })

  it("that serves other config files is named, with the commands that help", async () => {
    const here = await supervised()
    const other = here.configure({ greet }, "other.json")
    for (const words of [["connect", "greet"], ["reload"]]) {
      const { code, stderr } = await here.run([...words, "--config", other])
      assert.strictEqual(code, 1)
      assert.include(stderr, `(process ${daemonOf(here).pid}) serves other config files`)
      assert.include(stderr, "mcp-supervisor stop")
      assert.include(stderr, "--state-dir")
      assert.notInclude(stderr, "no supervisor is running")
    }
  })

  it("whose token was replaced has to be restarted", async () => {
    const here = await supervised()
    const file = join(here.stateDir, "control-token")
    const before = readFileSync(file, "utf8")
    writeFileSync(file, `${"x".repeat(43)}\n`)
    for (const words of [["list", "--json"], ["tools"], ["start"]]) {
      const { code, stderr } = await here.run(words)
      assert.strictEqual(code, 1, stderr)
      assert.match(stderr, /the token .* has changed since .*: mcp-supervisor stop; mcp-supervisor start\n$/)
    }
    writeFileSync(file, before)
    assert.strictEqual((await here.run(["tools"])).code, 0)
  })

  it("that ends while a command follows it ends the command with a note", async () => {
    const here = await supervised({ notes, more: notes })
    const ready = "ready to serve"
    const followers = [
      { words: ["events", "-f"], first: "notes connecting" },
      { words: ["logs", "notes", "-f", "--json"], first: ready },
      { words: ["status", "--watch"], first: "notes: connected" },
      { words: ["status", "--watch", "--json"], first: "connected" }
    ]
    const logs = await here.begin(["logs", "more", "-f"])
    await logs.said(ready)
    const begun = await Promise.all(followers.map(({ words }) => here.begin(words)))
    await Promise.all(begun.map(({ said }, index) => said(followers[index]!.first)))
    assert.strictEqual((await here.run(["remove", "more"])).code, 0)
    const removed = await logs.ended
    assert.deepStrictEqual([removed.code, removed.stderr], [0, "more was removed\n"])
    assert.strictEqual((await here.run(["stop"])).code, 0)
    for (const [index, { ended }] of begun.entries()) {
      const { code, stderr } = await ended
      const { words } = followers[index]!
      assert.deepStrictEqual([code, stderr], [0, "the supervisor ended\n"], words.join(" "))
    }
  })

  it("whose daemon.json was removed is named by other commands and by a second supervisor", async () => {
    const here = await supervised()
    const file = join(here.stateDir, "daemon.json")
    const text = readFileSync(file, "utf8")
    const { pid } = daemonOf(here)
    rmSync(file)
    const list = await here.run(["list"])
    assert.strictEqual(list.code, 0)
    assert.include(list.stderr, `the supervisor (process ${pid}) is still starting, or its daemon.json was removed`)
    assert.include((await here.run(["reload"])).stderr, "mcp-supervisor stop; mcp-supervisor start")
    const second = await here.run(["start", "--port", "0"])
    writeFileSync(file, text)
    assert.strictEqual(second.code, 1)
    assert.include(second.stderr, `process ${pid} supervises`)
    assert.strictEqual((await here.run(["stop"])).stdout, `stopped process ${pid}\n`)
  })

  it("is required by some commands, which reject --standalone", async () => {
    const here = await supervised()
    for (const words of [["connect", "greet"], ["restart", "greet"], ["disconnect", "greet"], ["reload"]]) {
      const { code, stderr } = await here.run([...words, "--standalone"])
      assert.strictEqual(code, 2, words.join(" "))
      assert.include(stderr, "leave out --standalone")
    }
  })

  it("is used for the same config files under every name", async () => {
    const here = await newPlace()
    const file = here.configure({ greet }, "files/own.json")
    const [link, linked, project] = ["link", "files/linked.json", "project-link"].map((name) =>
      join(here.directory, name)
    ) as [string, string, string]
    symlinkSync(join(here.directory, "files"), link)
    symlinkSync(file, linked)
    symlinkSync(here.project, project)
    mkdirSync(join(here.project, ".mcp-supervisor"))
    writeFileSync(join(here.project, ".mcp-supervisor", "config.json"), "{}")
    const started = await here.run(["start", "--port", "0", "--config", file])
    assert.strictEqual(started.code, 0, started.stderr)
    for (const words of [
      ["--config", file, "--config", file],
      ["--config", join(link, "own.json")],
      ["--config", linked],
      ["--config", file, "--cwd", project]
    ]) {
      const { code, stderr } = await here.run(["reload", ...words])
      assert.strictEqual(code, 0, `${words.join(" ")}: ${stderr}`)
    }
    // relative paths in the file are resolved from another directory
    const elsewhere = join(here.directory, "elsewhere.json")
    symlinkSync(file, elsewhere)
    const other = here.configure({ greet }, "files/other.json")
    for (const words of [[], ["--config", elsewhere], ["--config", file, "--config", other]]) {
      assert.include((await here.run(["reload", ...words])).stderr, "serves other config files")
    }
  })
})

describe.concurrent("names", () => {
  it("of servers can contain slashes, with a running supervisor and without", async () => {
    const here = await supervised({ "io.test/notes": notes, io: greet })
    for (const more of [[], ["--standalone"]]) {
      const { code, stderr, stdout } = await here.run(["call", "io.test/notes/echo", '{"text":"hi"}', ...more])
      assert.strictEqual(code, 0, stderr)
      assert.include(stdout, "hi")
      assert.include((await here.run(["call", "io.test/nobody/echo", ...more])).stderr, '"io.test"')
    }
  })

  it("that are . or .. are reported as unknown servers", async () => {
    const here = await supervised()
    for (const name of [".", ".."]) {
      for (const words of [["status"], ["restart"], ["disconnect"], ["logs"], ["logs", "-f"], ["logout"]]) {
        const { code, stderr } = await here.run([...words, name])
        assert.strictEqual(code, 3, `${words} ${name}: ${stderr}`)
        assert.include(stderr, `there is no server "${name}"`)
      }
    }
  })
})

describe.concurrent("arguments of a call", () => {
  it("that are larger than the limit of a running supervisor work with --standalone", async () => {
    const here = await supervised({ notes })
    const input = JSON.stringify({ text: "x".repeat(5 * 1024 * 1024) })
    const { code, stderr } = await here.run(["call", "notes/echo", "-"], { input })
    assert.strictEqual(code, 1)
    assert.match(stderr, /at most \d+ bytes.*--standalone has no such limit/)
    const alone = await here.run(["call", "notes/echo", "-", "--standalone"], { input })
    assert.strictEqual(alone.code, 0, alone.stderr)
  })

  it("that are nested too deeply are rejected, with a running supervisor and without", async () => {
    const here = await supervised({ notes })
    const nested = (levels: number) => `{"text":"x","more":${"[".repeat(levels)}${"]".repeat(levels)}}`
    for (const levels of [255, 5000, 100_000]) {
      for (const more of [[], ["--standalone"]]) {
        const { code, stderr } = await here.run(["call", "notes/echo", "-", ...more], { input: nested(levels) })
        assert.strictEqual(code, 2, stderr)
        assert.include(stderr, "the arguments are nested too deeply")
      }
    }
    for (const more of [[], ["--standalone"]]) {
      const { code, stderr } = await here.run(["call", "notes/echo", "-", ...more], { input: nested(254) })
      assert.strictEqual(code, 0, stderr)
    }
  })
})
