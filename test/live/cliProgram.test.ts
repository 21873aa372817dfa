/** The program where things are not as they should be, on signals, and on a terminal. */
import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll, vi } from "vitest"
import * as ProcessIdentity from "../../src/system/processIdentity.js"
import { bin, greet, notes, type Place, place } from "./support/cli.js"

const places: Array<Place> = []

const newPlace = async (): Promise<Place> => {
  const made = await place()
  places.push(made)
  return made
}

beforeAll(async () => void (await bin()), 60_000)
afterAll(() => {
  for (const each of places) each.remove()
})

/** Ends neither with its input nor when it is asked to, and never says a word. */
const stubborn = {
  command: process.execPath,
  args: ["-e", "process.on('SIGTERM', () => {}); console.error(process.pid); setInterval(() => {}, 1000)"]
}

/** Whether it runs: what is dead and waits to be buried does not. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

describe.concurrent("words", () => {
  it("that make no sense end with 2 and say what would", async () => {
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
    await wrong(["list", "--cwd"], "--cwd needs a value: --cwd DIR")
    for (const command of ["list", "start"])
      await wrong([command, "--cwd", "/nope"], "/nope: there is no such directory")
    await wrong(["list", "--json", "--cwd", "/nope"], "/nope: there is no such directory")
    await wrong(["read", "notes"], "<uri> is missing")
    await wrong(["stop", "now"], '"now" is one word too many')
    await wrong(["serve", "--port", "70000"], "--port has to be a whole number from 0 to 65535")
    await wrong(["import", "emacs"], "one of opencode")
    await wrong(["add", "x"], "--url, --command or -- command… is missing")
    await wrong(["add"], "a name is missing")
    await wrong(["serve", "--host", "0.0.0.0", "--port", "0"], "a token of your own")
  })

  it("that ask for help are answered without anything else", async () => {
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

describe.concurrent("a machine", () => {
  it("without config has no servers, and says how to get some", async () => {
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

  it("with a config that is none ends with 2, and says where", async () => {
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

  it("shows a server whose entry is wrong beside the others, and values of nobody", async () => {
    const here = await newPlace()
    here.configure({ good: { ...greet, env: { TOKEN: "geheim-123" } }, bad: { url: 3 } })
    const { stdout } = await here.run(["list", "--json"])
    assert.strictEqual(JSON.parse(stdout).good.status, "connected")
    assert.strictEqual(JSON.parse(stdout).bad.errorTag, "InvalidConfig")
    assert.strictEqual((await here.run(["test", "bad"])).code, 2)
    assert.notInclude((await here.run(["config"])).stdout, "geheim")
  })

  it("with a project file that is none goes on without it, and says so", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const file = join(here.project, "mcp-supervisor.json")
    writeFileSync(file, '{ "mcp": \n')
    const { code, stderr, stdout } = await here.run(["call", "greet/greet", '{"name":"Ada"}'])
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(stdout, "Hello, Ada!\n")
    assert.include(stderr, file)
  })

  it("takes over what other clients have", async () => {
    const here = await newPlace()
    mkdirSync(join(here.directory, ".cursor"))
    writeFileSync(join(here.directory, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: { one: greet } }))
    assert.strictEqual((await here.run(["import", "cursor", "--dry-run"])).stdout, "would add one\n")
    assert.match((await here.run(["import", "cursor"])).stdout, /^added one to /)
    const again = await here.run(["import", "cursor"])
    assert.include(again.stderr, "skipped one: there is a server of that name already")
    assert.strictEqual((await here.run(["call", "one/greet", '{"name":"Ada"}'])).stdout, "Hello, Ada!\n")
  })

  it("whose state directory is none: commands that need it say so", async () => {
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

  it("whose disk is full: what cannot be written is no success", async () => {
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

  it("with 200 servers lists them, and whoever reads only one line gets it in peace", async () => {
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
    assert.strictEqual(shell.stderr, "")
  })
})

describe("supervisors", () => {
  it("that follow each other: a killed one blocks nobody, a taken port is named, another project has its own", async () => {
    const [here, there] = [await newPlace(), await newPlace()]
    here.configure({ greet, notes })
    there.configure({ notes })
    const serve = await here.begin(["serve", "--port", "0", "--json"])
    await serve.said("greet: connected")
    const broken = join(here.project, "mcp-supervisor.json")
    writeFileSync(broken, '{ "mcp": \n')
    await serve.said(/config rejected, what runs goes on: .*mcp-supervisor\.json/)
    rmSync(broken)
    await serve.said("config applied")
    const { address, pid } = JSON.parse(readFileSync(join(here.stateDir, "daemon.json"), "utf8"))
    const { port } = new URL(address)
    const taken = await there.run(["serve", "--port", port])
    assert.strictEqual(taken.code, 1)
    assert.include(taken.stderr, port)
    // two of them, each with a state directory of its own
    const second = await there.run(["start", "--port", "0", "--json"])
    assert.strictEqual(second.code, 0, second.stderr)
    assert.deepStrictEqual(Object.keys(JSON.parse((await there.run(["list", "--json"])).stdout)), ["notes"])
    assert.deepStrictEqual(Object.keys(JSON.parse((await here.run(["list", "--json"])).stdout)), ["greet", "notes"])
    const call = await here.begin(["call", "notes/slow", '{"ms":60000}'])
    await vi.waitFor(async () => assert.include((await here.run(["logs", "notes"])).stdout, "taking my time"), 10_000)
    assert.strictEqual((await there.run(["stop"])).stdout, `stopped process ${JSON.parse(second.stdout).pid}\n`)
    // no chance to clean up: lock, daemon.json and a child are left
    process.kill(pid, "SIGKILL")
    await serve.ended
    const lost = await call.ended
    assert.strictEqual(lost.code, 1)
    assert.include(lost.stderr, "the call may have been executed; check before you repeat it")
    assert.strictEqual((await here.run(["call", "greet/greet", '{"name":"Ada"}'])).stdout, "Hello, Ada!\n")
    const again = await here.run(["start", "--port", "0"])
    assert.strictEqual(again.code, 0, again.stderr)
    assert.match((await here.run(["stop"])).stdout, /^stopped/)
    assert.throws(() => readFileSync(join(here.stateDir, "daemon.json")))
  })

  it("end in order with a signal, and say what they wait for; at once with the second", async () => {
    const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
    const ends = Object.entries(codes).map(async ([signal, code]) => {
      const here = await newPlace()
      here.configure({ stubborn })
      const serve = await here.begin(["serve", "--port", "0"])
      await serve.said("stubborn: connecting")
      const pid = await pidIn(here)
      serve.child.kill(signal as NodeJS.Signals)
      await serve.said("stopping: waiting for stubborn (again to kill at once)")
      if (signal !== "SIGTERM") serve.child.kill(signal as NodeJS.Signals)
      const ended = await serve.ended
      assert.strictEqual(ended.code, code)
      await vi.waitFor(() => assert.isFalse(isAlive(pid)))
    })
    await Promise.all(ends)
  })
})

describe("stop", () => {
  /** A process of ours, as if it supervised there. */
  const pretender = async (here: Place) => {
    const child = spawn("sleep", ["60"])
    const { startedAt: _, ...self } = await Effect.runPromise(ProcessIdentity.self)
    mkdirSync(here.stateDir, { recursive: true })
    return { child, identity: { ...self, pid: child.pid! } }
  }

  const daemon = (identity: { readonly pid: number }) => ({
    version: 1,
    pid: identity.pid,
    identity,
    address: "http://127.0.0.1:1",
    config: [],
    sources: { cwd: "/", files: [], home: "/", env: {}, digests: {} },
    release: "0.0.0",
    api: 0,
    startedAt: 0
  })

  it("signals nobody of another machine", async () => {
    const here = await newPlace()
    const { child, identity } = await pretender(here)
    const elsewhere = { ...identity, boot: "another", machine: "the-other-one" }
    writeFileSync(join(here.stateDir, "daemon.json"), JSON.stringify(daemon(elsewhere)))
    const { code, stderr } = await here.run(["stop"])
    assert.strictEqual(code, 1)
    assert.include(stderr, `process ${child.pid}`)
    assert.include(stderr, "the-other-one")
    assert.isTrue(isAlive(child.pid!))
    child.kill()
  })

  it("knows nothing of what a later release has left", async () => {
    const here = await newPlace()
    mkdirSync(here.stateDir, { recursive: true })
    writeFileSync(join(here.stateDir, "daemon.json"), '{ "version": 2 }')
    const { code, stderr } = await here.run(["stop"])
    assert.strictEqual(code, 1)
    assert.include(stderr, "a later release")
  })

  it("ends one that has only begun", async () => {
    const here = await newPlace()
    const { child, identity } = await pretender(here)
    mkdirSync(join(here.stateDir, "daemon.lock"))
    writeFileSync(join(here.stateDir, "daemon.lock", "3"), JSON.stringify({ ...identity, nonce: "n" }))
    const { code, stderr, stdout } = await here.run(["stop"])
    assert.strictEqual(code, 0, stderr)
    assert.strictEqual(stdout, `stopped process ${child.pid}\n`)
    assert.isFalse(isAlive(child.pid!))
    assert.strictEqual((await here.run(["stop"])).stderr, "no supervisor is running\n")
  })
})

/** What the stubborn server says of itself. */
const pidIn = async (here: Place): Promise<number> => {
  while (true) {
    const { stdout } = await here.run(["logs", "stubborn", "--json"])
    if (stdout !== "") return Number(JSON.parse(stdout.split("\n")[0]!).text)
  }
}

const hasPython = spawnSync("python3", ["--version"]).status === 0

describe.runIf(hasPython)("on a terminal", () => {
  it("tables have colours and fit, unless nobody wants colours", async () => {
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

  it("add asks for what is missing; a long call shows that it goes on", async () => {
    const here = await newPlace()
    const [program, file] = [notes.command, notes.args[0]!]
    const added = await here.onTerminal(
      ["add"],
      [
        ["Name of the server", "notes\n"],
        ["Its command", `${program} ${file}\n`]
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

  it("serve --demo shows a live table and what to try, and Ctrl-C ends it", async () => {
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
    assert.match(stdout, /mcp-supervisor at http:\/\/127\.0\.0\.1:\d+, process \d+\. Ctrl-C ends it\./)
    assert.include(stdout, "\u001b[J")
    rmSync(here.directory, { recursive: true, force: true })
  })
})
