/** The state directory decides which programs run: it and its files are used only if no other user could have written them. */
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { basename, dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import * as ControlToken from "../../../src/control/ControlToken.js"
import * as McpSupervisor from "../../../src/McpSupervisor.js"
import { greet, type Place, places } from "../support/cli.js"

const newPlace = places()

const isRoot = process.getuid?.() === 0

/** Another user of this machine. */
const stranger = 65_534

/** A place whose project declares a server that writes a file when it runs, and where that was approved. */
const approvedPlace = async (): Promise<{ readonly here: Place; readonly ran: () => boolean }> => {
  const here = await newPlace()
  const file = join(here.directory, "ran")
  const program = `require("node:fs").writeFileSync(${JSON.stringify(file)}, "")`
  writeFileSync(
    join(here.project, "mcp-supervisor.json"),
    JSON.stringify({ mcp: { own: { command: [process.execPath, "-e", program], restart: { maxRestarts: 1 } } } })
  )
  const trusted = await here.run(["trust", "--yes"])
  assert.strictEqual(trusted.code, 0, trusted.stderr)
  return { here, ran: () => existsSync(file) }
}

describe.concurrent("a state directory that another user can write", () => {
  it("is rejected by every command before anything runs", async () => {
    const { here, ran } = await approvedPlace()
    chmodSync(here.stateDir, 0o770)
    for (const words of [
      ["list"],
      ["list", "--json"],
      ["start", "--port", "0"],
      ["serve", "--port", "0"],
      ["trust", "--yes"]
    ]) {
      const { code, stderr, stdout } = await here.run(words)
      assert.strictEqual(code, 1, `${words}: ${stderr}`)
      assert.strictEqual(stdout, "")
      assert.include(stderr, `the state directory ${here.stateDir} can be written by other users`)
      assert.include(stderr, `chmod go-w ${here.stateDir}`)
    }
    assert.isFalse(ran())
    chmodSync(here.stateDir, 0o700)
    await here.run(["list"])
    assert.isTrue(ran())
  })

  it.runIf(isRoot)("is rejected if it belongs to another user, also behind a link", async () => {
    const { here, ran } = await approvedPlace()
    const elsewhere = join(here.directory, "planted")
    renameSync(here.stateDir, elsewhere)
    chownSync(elsewhere, stranger, stranger)
    const direct = await here.run(["list", "--state-dir", elsewhere])
    assert.strictEqual(direct.code, 1)
    assert.include(direct.stderr, `belongs to user ${stranger}, not to you`)
    symlinkSync(elsewhere, here.stateDir)
    assert.include((await here.run(["list"])).stderr, "belongs to user")
    // The directory belongs to the user again, but the link does not.
    chownSync(elsewhere, 0, 0)
    lchownSync(here.stateDir, stranger, stranger)
    assert.include((await here.run(["list"])).stderr, "belongs to user")
    assert.isFalse(ran())
  })

  it("is rejected if another user can write a directory on the way to it, unless the directory is sticky", async () => {
    const { here, ran } = await approvedPlace()
    const parent = dirname(here.stateDir)
    chmodSync(parent, 0o777)
    const { code, stderr } = await here.run(["list"])
    assert.strictEqual(code, 1)
    assert.include(stderr, `the state directory ${here.stateDir} is not safe: ${parent} can be written by other users`)
    assert.include(stderr, `chmod go-w ${parent}`)
    assert.isFalse(ran())
    chmodSync(parent, 0o1777)
    await here.run(["list"])
    assert.isTrue(ran())
  })

  it("may be below a directory that the user's own group can write", async () => {
    const { here, ran } = await approvedPlace()
    chmodSync(dirname(here.stateDir), 0o775)
    await here.run(["list"])
    assert.isTrue(ran())
  })

  it.runIf(isRoot)("is rejected behind a link or below a directory of another user", async () => {
    const { here, ran } = await approvedPlace()
    const parent = dirname(here.stateDir)
    const link = join(here.directory, "link")
    symlinkSync(parent, link)
    lchownSync(link, stranger, stranger)
    const behindLink = await here.run(["list", "--state-dir", join(link, basename(here.stateDir))])
    assert.include(behindLink.stderr, `${link} belongs to user ${stranger}, not to you`)
    chownSync(parent, stranger, stranger)
    assert.include((await here.run(["list"])).stderr, `${parent} belongs to user ${stranger}, not to you`)
    assert.isFalse(ran())
  })

  it("is rejected if a directory in it is a link, or can be written by other users", async () => {
    const { here, ran } = await approvedPlace()
    const catalog = join(here.stateDir, "catalog")
    rmSync(catalog, { recursive: true, force: true })
    const elsewhere = join(here.directory, "elsewhere")
    mkdirSync(elsewhere)
    symlinkSync(elsewhere, catalog)
    const linked = await here.run(["list"])
    assert.strictEqual(linked.code, 1)
    assert.include(linked.stderr, `${catalog} is a symbolic link`)
    rmSync(catalog)
    mkdirSync(catalog)
    chmodSync(catalog, 0o777)
    assert.include((await here.run(["list"])).stderr, `chmod go-w ${catalog}`)
    assert.isFalse(ran())
  })

  it("is not taken from a relative variable, which would lead into the project", async () => {
    const { here } = await approvedPlace()
    const { stderr } = await here.run(["list"], { env: { MCP_SUPERVISOR_STATE_DIR: ".state" } })
    assert.include(stderr, "MCP_SUPERVISOR_STATE_DIR is ignored because it is not an absolute path")
    assert.isFalse(existsSync(join(here.project, ".state")))
  })

  it.runIf(isRoot)("is rejected by list --json without Effect, also behind a link", async () => {
    const here = await newPlace()
    here.configure({ greet })
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    const elsewhere = join(here.directory, "linked")
    symlinkSync(here.stateDir, elsewhere)
    assert.strictEqual((await here.run(["list", "--json", "--state-dir", elsewhere])).code, 0)
    lchownSync(elsewhere, stranger, stranger)
    const refused = await here.run(["list", "--json", "--state-dir", elsewhere])
    assert.strictEqual(refused.code, 1, refused.stdout)
    assert.strictEqual(refused.stdout, "")
    assert.include(refused.stderr, "belongs to user")
    rmSync(elsewhere)
  })

  it("fails the layer of an embedding program", async () => {
    const here = await newPlace()
    mkdirSync(here.stateDir, { recursive: true })
    chmodSync(here.stateDir, 0o777)
    const layer = McpSupervisor.layerNode({ stateDir: here.stateDir })
    const exit = await Effect.runPromiseExit(Effect.scoped(Layer.build(layer)))
    assert.isTrue(Exit.isFailure(exit))
    assert.include(String(exit), "InvalidConfig")
    assert.include(String(exit), "chmod go-w")
  })
})

describe.concurrent("a file of the state directory", () => {
  it("approves nothing if another user can write it, or if it is a link", async () => {
    const { here, ran } = await approvedPlace()
    for (const name of ["trust.json", "trust.key"]) {
      const file = join(here.stateDir, name)
      chmodSync(file, 0o666)
      assert.include((await here.run(["list"])).stdout, "disabled", name)
      chmodSync(file, 0o600)
      renameSync(file, join(here.directory, name))
      symlinkSync(join(here.directory, name), file)
      assert.include((await here.run(["list"])).stdout, "disabled", name)
      rmSync(file)
      renameSync(join(here.directory, name), file)
    }
    assert.isFalse(ran())
  })

  it("has the mode 0600 after every change, whatever its mode was", async () => {
    const { here } = await approvedPlace()
    const file = join(here.stateDir, "trust.json")
    chmodSync(file, 0o644)
    assert.strictEqual((await here.run(["trust", "--yes"])).code, 0)
    assert.strictEqual(lstatSync(file).mode & 0o777, 0o600)
  })

  it("has the mode 0600 if it is a copy of a config file, and a link in its place is replaced", async () => {
    const here = await newPlace()
    here.configure({ greet: { ...greet, env: { TOKEN: "sk-1234567890abcdef" } } })
    const backups = join(here.stateDir, "backups")
    const changed = async (name: string) => {
      const { code, stderr } = await here.run(["add", name, "--", "true"])
      assert.strictEqual(code, 0, stderr)
      const [file, ...others] = readdirSync(backups)
      assert.deepStrictEqual(others, [])
      const found = lstatSync(join(backups, file!))
      assert.deepStrictEqual([found.isFile(), found.mode & 0o777], [true, 0o600])
      return join(backups, file!)
    }
    const file = await changed("a")
    chmodSync(file, 0o644)
    await changed("b")
    const victim = join(here.directory, "victim")
    writeFileSync(victim, "before", { mode: 0o644 })
    rmSync(file)
    symlinkSync(victim, file)
    await changed("c")
    assert.strictEqual(readFileSync(victim, "utf8"), "before")
  })

  it.runIf(isRoot)("is not used as a token if another user owns it", async () => {
    const here = await newPlace()
    const token = ControlToken.make(here.stateDir)
    const before = Redacted.value(await Effect.runPromise(token))
    chownSync(ControlToken.fileIn(here.stateDir), stranger, stranger)
    const refused = await Effect.runPromise(Effect.flip(ControlToken.read(here.stateDir)))
    assert.include(refused.message, `belongs to user ${stranger}`)
    assert.strictEqual(readFileSync(ControlToken.fileIn(here.stateDir), "utf8").trim(), before)
  })
})

describe.concurrent("a log that is not a regular file", () => {
  const started = async (prepare: (here: Place, log: string) => void) => {
    const here = await newPlace()
    here.configure({ greet })
    mkdirSync(here.stateDir, { recursive: true, mode: 0o700 })
    const log = join(here.stateDir, "supervisor.log")
    prepare(here, log)
    return { here, log, ...(await here.run(["start", "--port", "0"])) }
  }

  it("makes start fail with its name, and does not block it", async () => {
    const { code, log, stderr } = await started((_, log) => execFileSync("mkfifo", [log]))
    assert.strictEqual(code, 1)
    assert.include(stderr, `${log} is not a regular file`)
  })

  it("is not followed if it is a link", async () => {
    const { code, here, log, stderr } = await started((here, log) => {
      writeFileSync(join(here.directory, "victim"), "before")
      symlinkSync(join(here.directory, "victim"), log)
    })
    assert.strictEqual(code, 1)
    assert.include(stderr, `${log} is a symbolic link`)
    assert.strictEqual(readFileSync(join(here.directory, "victim"), "utf8"), "before")
  })

  it("does not block other commands: locks, tokens and daemon.json can be pipes", async () => {
    const here = await newPlace()
    here.configure({ greet })
    mkdirSync(join(here.stateDir, "daemon.lock"), { recursive: true, mode: 0o700 })
    const pipes = ["daemon.json", "control-token", "daemon.lock/1", "trust.json", "mcp-auth.json"]
    for (const name of pipes) execFileSync("mkfifo", [join(here.stateDir, name)])
    const { stdout } = await here.run(["list", "--json"])
    assert.strictEqual(JSON.parse(stdout).greet.status, "connected")
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 1)
    for (const name of pipes) rmSync(join(here.stateDir, name))
  })
})
