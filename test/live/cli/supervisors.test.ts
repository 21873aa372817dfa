/** `serve`, `start` and `stop`: supervisors that are started, stopped and killed. */
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import * as ProcessIdentity from "../../../src/system/processIdentity.js"
import { greet, notes, type Place, places } from "../support/cli.js"

const newPlace = places()

/** A server that ignores the end of its input and SIGTERM, and never responds. */
const stubborn = {
  command: process.execPath,
  args: ["-e", "process.on('SIGTERM', () => {}); console.error(process.pid); setTimeout(() => {}, 60_000)"]
}

/** Whether the process runs. A zombie does not. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

describe("supervisors", () => {
  it("run side by side with own state directories, name a used port, and can be replaced after a kill", async () => {
    const [here, there] = [await newPlace(), await newPlace()]
    here.configure({ greet, notes })
    there.configure({ notes })
    const serve = await here.begin(["serve", "--port", "0", "--json"])
    await serve.said("greet: connected")
    const broken = join(here.project, "mcp-supervisor.json")
    writeFileSync(broken, '{ "mcp": \n')
    await serve.said(/config rejected, nothing changes: .*mcp-supervisor\.json/)
    rmSync(broken)
    await serve.said("config applied")
    const { address, pid } = JSON.parse(readFileSync(join(here.stateDir, "daemon.json"), "utf8"))
    const { port } = new URL(address)
    const taken = await there.run(["serve", "--port", port])
    assert.strictEqual(taken.code, 1)
    assert.include(taken.stderr, port)
    // two supervisors, each with its own state directory
    const second = await there.run(["start", "--port", "0", "--json"])
    assert.strictEqual(second.code, 0, second.stderr)
    assert.deepStrictEqual(Object.keys(JSON.parse((await there.run(["list", "--json"])).stdout)), ["notes"])
    assert.deepStrictEqual(Object.keys(JSON.parse((await here.run(["list", "--json"])).stdout)), ["greet", "notes"])
    const call = await here.begin(["call", "notes/slow", '{"ms":60000}'])
    await vi.waitFor(async () => assert.include((await here.run(["logs", "notes"])).stdout, "taking my time"), 10_000)
    assert.strictEqual((await there.run(["stop"])).stdout, `stopped process ${JSON.parse(second.stdout).pid}\n`)
    // the supervisor cannot clean up: lock, daemon.json and a child process remain
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

  it("shut down in order after a signal and name the servers they wait for; a second signal kills at once", async () => {
    const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const
    const ends = Object.entries(codes).map(async ([signal, code]) => {
      const here = await newPlace()
      here.configure({ stubborn })
      const serve = await here.begin(["serve", "--port", "0"])
      await serve.said("stubborn: connecting")
      const pid = await pidIn(here)
      serve.child.kill(signal as NodeJS.Signals)
      await serve.said("stopping: waiting for stubborn (repeat to kill the processes now)")
      if (signal !== "SIGTERM") serve.child.kill(signal as NodeJS.Signals)
      const ended = await serve.ended
      assert.strictEqual(ended.code, code)
      await vi.waitFor(() => assert.isFalse(isAlive(pid)))
    })
    await Promise.all(ends)
  })
})

describe.concurrent("a command that runs its own servers", () => {
  it("shuts down in order after a signal, and names the servers it waits for", async () => {
    const here = await newPlace()
    here.configure({ stubborn, greet })
    const logs = await here.begin(["logs", "stubborn", "-f"])
    const pid = Number(await logs.said(/\d+(?=\n)/))
    logs.child.kill("SIGTERM")
    await logs.said("stopping: waiting for stubborn (repeat to kill the processes now)")
    assert.strictEqual((await logs.ended).code, 143)
    assert.isFalse(isAlive(pid))
  })
})

describe.concurrent("start", () => {
  it("run several times at once starts one supervisor, and every run prints its address", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const all = await Promise.all(Array.from({ length: 4 }, () => here.run(["start", "--port", "0", "--json"])))
    assert.deepStrictEqual(
      all.map(({ code }) => code),
      [0, 0, 0, 0],
      all.map(({ stderr }) => stderr).join("")
    )
    assert.strictEqual(new Set(all.map(({ stdout }) => stdout)).size, 1)
    assert.strictEqual(all.filter(({ stderr }) => stderr.includes("supervising in the background")).length, 1)
    const { pid } = JSON.parse(all[0]!.stdout)
    assert.strictEqual((await here.run(["stop"])).stdout, `stopped process ${pid}\n`)
  })

  it("starts a supervisor with 200 servers, half of them invalid, that lists all of them", async () => {
    const here = await newPlace()
    const servers = Array.from({ length: 200 }, (_, index) => [
      `server-${index}`,
      index % 2 === 0 ? { ...greet, lazy: true } : { url: 3 }
    ])
    here.configure(Object.fromEntries(servers))
    const started = await here.run(["start", "--port", "0"])
    assert.strictEqual(started.code, 0, started.stderr)
    const statuses = Object.values(JSON.parse((await here.run(["list", "--json"])).stdout)) as Array<{ status: string }>
    assert.strictEqual(statuses.length, 200)
    assert.strictEqual(statuses.filter(({ status }) => status === "failed").length, 100)
    assert.strictEqual((await here.run(["call", "server-198/greet", '{"name":"Ada"}'])).stdout, "Hello, Ada!\n")
    assert.match((await here.run(["stop"])).stdout, /^stopped/)
  })
})

describe.concurrent("a supervisor with another API revision", () => {
  it("is rejected by every command, and not used with --standalone", async () => {
    const here = await newPlace()
    here.configure({ greet })
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    const file = join(here.stateDir, "daemon.json")
    const own = readFileSync(file, "utf8")
    writeFileSync(file, JSON.stringify({ ...JSON.parse(own), api: 2, release: "9.8.7" }))
    for (const words of [
      ["list"],
      ["list", "--json"],
      ["tools"],
      ["call", "greet/greet", '{"name":"Ada"}'],
      ["connect", "greet"],
      ["reload"],
      ["events"]
    ]) {
      const { code, stderr, stdout } = await here.run(words)
      assert.strictEqual(code, 1, words.join(" "))
      assert.strictEqual(stdout, "")
      assert.match(
        stderr,
        /the running supervisor \(process \d+\) has release 9\.8\.7, whose control API this release does not support/
      )
    }
    const alone = await here.run(["call", "greet/greet", '{"name":"Ada"}', "--standalone"])
    assert.strictEqual(alone.stdout, "Hello, Ada!\n")
    assert.match((await here.run(["start", "--port", "0"])).stderr, /process \d+ supervises/)
    assert.match((await here.run(["stop"])).stdout, /^stopped/)
  })
})

describe("stop", () => {
  /** A process that pretends to supervise the directory. */
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

  it("does not signal a process of another machine", async () => {
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
    here.remove()
  })

  it("fails if a later release wrote daemon.json", async () => {
    const here = await newPlace()
    mkdirSync(here.stateDir, { recursive: true })
    writeFileSync(join(here.stateDir, "daemon.json"), '{ "version": 2 }')
    const { code, stderr } = await here.run(["stop"])
    assert.strictEqual(code, 1)
    assert.include(stderr, "a later release")
    here.remove()
  })

  it("fails if the state directory cannot be read", async () => {
    const here = await newPlace()
    const file = join(here.directory, "file")
    writeFileSync(file, "")
    const { code, stderr, stdout } = await here.run(["stop", "--state-dir", join(file, "state")])
    assert.strictEqual(code, 1)
    assert.strictEqual(stdout, "")
    assert.match(stderr, /state cannot be read \(ENOTDIR\)/)
    assert.notInclude(stderr, "no supervisor is running")
  })

  it("lets servers end in order, however often it is run", async () => {
    const here = await newPlace()
    const file = join(here.directory, "ended")
    const end = `setTimeout(() => { require("fs").appendFileSync(${JSON.stringify(file)}, "done "); process.exit() }, 1000)`
    const script = `process.on("SIGTERM", () => {}); process.stdin.on("end", () => ${end}).resume()`
    here.configure({ slow: { command: process.execPath, args: ["-e", script] } })
    const started = await here.run(["start", "--port", "0", "--json"])
    assert.strictEqual(started.code, 0, started.stderr)
    const { pid } = JSON.parse(started.stdout)
    const first = here.run(["stop"])
    const ending = () => JSON.parse(readFileSync(join(here.stateDir, "daemon.json"), "utf8")).isEnding
    await vi.waitFor(() => assert.isTrue(ending()), 5000)
    for (const { code } of await Promise.all([first, here.run(["stop"]), here.run(["stop"])])) {
      assert.strictEqual(code, 0)
    }
    assert.strictEqual((await first).stdout, `stopped process ${pid}\n`)
    assert.strictEqual(readFileSync(file, "utf8"), "done ")
  })

  it("makes start wait for the end; other commands do not use a supervisor that is shutting down", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const { child, identity } = await pretender(here)
    const { pid } = identity
    writeFileSync(join(here.stateDir, "daemon.json"), JSON.stringify({ ...daemon(identity), isEnding: true }))
    const start = here.run(["start", "--port", "0", "--json"])
    const call = await here.run(["call", "greet/greet", '{"name":"Ada"}'])
    assert.strictEqual(call.stdout, "Hello, Ada!\n")
    assert.include(call.stderr, `the supervisor (process ${pid}) is shutting down; this command runs its own`)
    const connect = await here.run(["connect", "greet"])
    assert.strictEqual(connect.code, 1)
    assert.include(connect.stderr, "mcp-supervisor start")
    child.kill()
    const started = await start
    assert.strictEqual(started.code, 0, started.stderr)
    assert.notStrictEqual(JSON.parse(started.stdout).pid, pid)
    assert.match((await here.run(["stop"])).stdout, /^stopped/)
  })

  it("ends the servers of a supervisor that was killed, also while it was shutting down", async () => {
    const here = await newPlace()
    here.configure({ stubborn })
    const left = async () => {
      const started = await here.run(["start", "--port", "0", "--json"])
      assert.strictEqual(started.code, 0, started.stderr)
      return { pid: Number(JSON.parse(started.stdout).pid), child: await pidIn(here) }
    }
    const first = await left()
    process.kill(first.pid, "SIGKILL")
    await vi.waitFor(() => assert.isFalse(isAlive(first.pid)))
    assert.isTrue(isAlive(first.child))
    assert.strictEqual((await here.run(["stop"])).stderr, "no supervisor is running\n")
    assert.isFalse(isAlive(first.child))

    const second = await left()
    const stop = here.run(["stop"])
    const ending = () => JSON.parse(readFileSync(join(here.stateDir, "daemon.json"), "utf8")).isEnding
    await vi.waitFor(() => assert.isTrue(ending()), 5000)
    process.kill(second.pid, "SIGKILL")
    assert.strictEqual((await stop).stdout, `stopped process ${second.pid}\n`)
    assert.isFalse(isAlive(second.child))
  })

  it("is not needed if the state directory is removed: the supervisor shuts down and says why", async () => {
    const here = await newPlace()
    here.configure({ greet })
    const serve = await here.begin(["serve", "--port", "0"])
    await serve.said("greet: connected")
    rmSync(here.stateDir, { recursive: true, force: true })
    const { code, stderr } = await serve.ended
    assert.strictEqual(code, 1)
    assert.include(stderr, `${here.stateDir} was removed`)
  })

  it("ends a supervisor that is still starting", async () => {
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

/** The process id that the stubborn server logs. */
const pidIn = async (here: Place): Promise<number> => {
  while (true) {
    const { stdout } = await here.run(["logs", "stubborn", "--json"])
    if (stdout !== "") return Number(JSON.parse(stdout.split("\n")[0]!).text)
  }
}
