/** Runs every command with a supervisor in the background. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { afterAll, beforeAll } from "vitest"
import { greet, notes, type Place, type Ran, place } from "../support/cli.js"

let here: Place

beforeAll(async () => {
  here = await place()
  here.configure({
    greet,
    notes,
    broken: { command: "there-is-no-such-program" },
    off: { ...greet, enabled: false }
  })
  const started = await here.run(["start", "--port", "0"])
  assert.strictEqual(started.code, 0, started.stderr)
  assert.match(started.stdout, /^http:\/\/127\.0\.0\.1:\d+\n$/)
  assert.include(started.stderr, join(here.stateDir, "supervisor.log"))
  // Calls wait for their server, so all servers are connected after these.
  await Promise.all([
    here.run(["call", "greet_greet", '{"name":"Ada"}']),
    here.run(["call", "notes_echo", '{"text":"x"}'])
  ])
}, 180_000)

afterAll(async () => {
  const stopped = await here.run(["stop"])
  here.remove()
  assert.match(stopped.stdout, /^stopped process \d+\n$/)
})

const ok = ({ code, stderr, stdout }: Ran): string => {
  assert.strictEqual(code, 0, stderr)
  return stdout
}

const json = (ran: Ran) => JSON.parse(ok(ran))

describe.concurrent("commands that inspect servers", () => {
  it("list shows all servers", async () => {
    const { code, stderr, stdout } = await here.run(["list"])
    assert.strictEqual(code, 0)
    assert.match(stderr, /^greet, notes, broken run in .* is not trusted; .*mcp-supervisor trust.*\n$/)
    assert.match(stdout, /^SERVER +STATUS/)
    assert.match(stdout, /greet +● connected +1/)
    assert.match(stdout, /broken +✗ failed .*there-is-no-such-program/)
    assert.match(stdout, /off +- disabled/)
    assert.notInclude(stdout, "\u001b")
  })

  it("list --json prints the body of GET /mcp, with and without loading Effect", async () => {
    const daemon = JSON.parse(readFileSync(join(here.stateDir, "daemon.json"), "utf8"))
    const token = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
    const answer = await fetch(`${daemon.address}/mcp`, { headers: { authorization: `Bearer ${token}` } })
    const body = JSON.parse(await answer.text())
    assert.deepStrictEqual(json(await here.run(["list", "--json"])), body)
    assert.deepStrictEqual(json(await here.run(["status", "--json"])), body)
    assert.deepStrictEqual(Object.keys(body), ["greet", "notes", "broken", "off"])
  })

  it("status of one server says whether it is usable", async () => {
    const good = await here.run(["status", "greet"])
    assert.match(ok(good), /^greet ● connected\n[^]*protocol +2025/)
    const bad = await here.run(["status", "broken", "--json"])
    assert.strictEqual(bad.code, 3)
    assert.strictEqual(JSON.parse(bad.stdout).broken.status, "failed")
    const none = await here.run(["status", "gret"])
    assert.strictEqual(none.code, 3)
    assert.include(none.stderr, 'there is no server "gret"; did you mean "greet"?')
  })

  it("status --watch writes a line for each server, then for each change, until it is interrupted", async () => {
    const watch = await here.begin(["status", "--watch"])
    await watch.said("greet: connected")
    await watch.said("broken: failed")
    watch.child.kill("SIGINT")
    assert.strictEqual((await watch.ended).code, 130)
  })

  it("tools, resources and prompts print the catalog", async () => {
    assert.match(ok(await here.run(["tools", "notes"])), /notes_echo +text +Says it again\.\n/)
    const tools = json(await here.run(["tools", "--json"]))
    assert.deepStrictEqual(
      tools.map(({ name }: { name: string }) => name),
      ["greet_greet", "notes_echo", "notes_fail", "notes_slow"]
    )
    assert.include(ok(await here.run(["resources"])), "test://note")
    const [note, template] = json(await here.run(["resources", "notes", "--json"]))
    assert.strictEqual(note.uri, "test://note")
    assert.strictEqual(template.uriTemplate, "test://note/{id}")
    assert.match(ok(await here.run(["prompts"])), /notes +greet +name/)
    assert.strictEqual(json(await here.run(["prompts", "--json"]))[0].name, "greet")
  })

  it("tools, resources and prompts fail for a server that is not usable", async () => {
    for (const kind of ["tools", "resources", "prompts"]) {
      const { code, stderr } = await here.run([kind, "broken"])
      assert.strictEqual(code, 3, kind)
      assert.include(stderr, "mcp-supervisor status broken")
    }
  })

  it("logs and events print what happened, and continue with -f", async () => {
    assert.match(ok(await here.run(["logs", "notes"])), /ready to serve/)
    assert.strictEqual(
      JSON.parse(ok(await here.run(["logs", "notes", "--json"])).split("\n")[0]!).text,
      "ready to serve"
    )
    const events = ok(await here.run(["events", "--json"]))
      .trim()
      .split("\n")
    assert.isAbove(events.length, 5)
    assert.strictEqual(JSON.parse(events[0]!).seq, 1)
    const following = await here.begin(["events", "-f"])
    await following.said("greet")
    await here.run(["call", "notes_echo", '{"text":"x"}'])
    await following.said("echo ended with ok")
    following.child.kill("SIGTERM")
    assert.strictEqual((await following.ended).code, 143)
    const logs = await here.begin(["logs", "notes", "-f"])
    await logs.said("ready to serve")
    logs.child.kill("SIGHUP")
    assert.strictEqual((await logs.ended).code, 129)
    assert.strictEqual((await here.run(["logs", "nobody"])).code, 3)
  })

  it("config prints the source of each value", async () => {
    assert.match(ok(await here.run(["config"])), /greet enabled[^]*config\.json:\d+/)
    const { servers } = json(await here.run(["config", "--json"]))
    assert.deepStrictEqual(
      servers.map(({ name, state }: { name: string; state: string }) => `${name} ${state}`),
      ["greet enabled", "notes enabled", "broken enabled", "off disabled"]
    )
  })
})

describe.concurrent("commands that use servers", () => {
  it("call takes a public name or server/tool, and arguments from stdin", async () => {
    assert.strictEqual(ok(await here.run(["call", "greet_greet", '{"name":"Ada"}'])), "Hello, Ada!\n")
    assert.strictEqual(ok(await here.run(["call", "greet/greet", '{"name":"Bob"}'])), "Hello, Bob!\n")
    assert.strictEqual(ok(await here.run(["call", "notes/echo", "-"], { input: '{"text":"in"}' })), "in\n")
    assert.strictEqual(json(await here.run(["call", "notes/echo", '{"text":"x"}', "--json"])).content[0].text, "x")
  })

  it("call exits with 1, 2 or 3 depending on the failure", async () => {
    const failed = await here.run(["call", "notes_fail"])
    assert.strictEqual(failed.code, 1)
    assert.strictEqual(failed.stdout, "it went wrong\n")
    assert.strictEqual((await here.run(["call", "notes_echo", "{}"])).code, 2)
    assert.strictEqual((await here.run(["call", "notes_echo", "{"])).code, 2)
    assert.strictEqual((await here.run(["call", "notes_echo", "[]"])).code, 2)
    assert.strictEqual((await here.run(["call", "broken/x"])).code, 3)
    assert.strictEqual((await here.run(["call", "nobody/x"])).code, 3)
    const unknown = await here.run(["call", "notes/ecko"])
    assert.strictEqual(unknown.code, 1)
    assert.include(unknown.stderr, 'did you mean "echo"?')
  })

  it("read and prompt print resources and prompts", async () => {
    assert.strictEqual(ok(await here.run(["read", "notes", "test://note"])), "a note\n")
    assert.strictEqual(json(await here.run(["read", "notes", "test://note", "--json"])).contents[0].text, "a note")
    assert.strictEqual((await here.run(["read", "notes", "test://none"])).code, 1)
    assert.strictEqual(ok(await here.run(["prompt", "notes", "greet", "name=Ada"])), "user: Greet Ada\n")
    assert.strictEqual((await here.run(["prompt", "notes", "greet"])).code, 2)
    assert.strictEqual((await here.run(["prompt", "notes", "greet", "Ada"])).code, 2)
    const twice = await here.run(["prompt", "notes", "greet", "name=Ada", "name=Bob"])
    assert.strictEqual(twice.code, 2)
    assert.include(twice.stderr, '"name" is set twice')
  })

  it("test reports each step over a connection of its own", async () => {
    const steps = ok(await here.run(["test", "notes"]))
    for (const step of ["spawn", "handshake", "era", "capabilities", "tools", "resources", "prompts", "ping"]) {
      assert.match(steps, new RegExp(`✓ ${step} `))
    }
    assert.include(steps, "notes works; call a tool with: mcp-supervisor call notes/echo")
    ok(await here.run(["test", "off"]))
    const bad = await here.run(["test", "broken", "--json"])
    assert.strictEqual(bad.code, 3)
    const report = JSON.parse(bad.stdout)
    assert.isFalse(report.usable)
    assert.deepStrictEqual(report.steps.at(-1).phase, "spawn")
    assert.strictEqual((await here.run(["test", "nobody"])).code, 3)
  })

  it("debug hides secrets that the config puts into a URL", async () => {
    const hidden = here.configure({ hidden: { url: "http://127.0.0.1:1/{env:SECRETKEY}/mcp" } }, "hidden.json")
    for (const words of [
      ["debug", "hidden"],
      ["debug", "hidden", "--json"]
    ]) {
      const ran = await here.run([...words, "--config", hidden], { env: { SECRETKEY: "s3cr3t-k3y" } })
      assert.strictEqual(ran.code, 3, ran.stderr)
      assert.include(ran.stdout, "without login")
      assert.include(ran.stdout, "/.well-known/oauth-protected-resource")
      assert.notInclude(ran.stdout + ran.stderr, "s3cr3t-k3y")
    }
  })

  it("debug tests a local server; auth rejects it", async () => {
    assert.include(ok(await here.run(["debug", "greet"])), "greet works")
    assert.strictEqual((await here.run(["auth", "greet"])).code, 1)
    assert.strictEqual((await here.run(["auth"])).code, 2)
    assert.deepStrictEqual(json(await here.run(["auth", "list", "--json"])), [])
    assert.strictEqual((await here.run(["logout", "nobody"])).code, 3)
  })
})

describe("commands that control a running supervisor", () => {
  it("disconnect, connect and restart change the status of a server", async () => {
    assert.strictEqual(ok(await here.run(["disconnect", "greet"])), "greet: disabled\n")
    assert.match(ok(await here.run(["connect", "greet"])), /^greet: connected/)
    assert.strictEqual(json(await here.run(["restart", "greet", "--json"])).greet.status, "connected")
    assert.strictEqual((await here.run(["connect", "broken"])).code, 3)
    assert.strictEqual((await here.run(["restart", "nobody"])).code, 3)
  })

  it("add, disable, enable and remove reach the running supervisor", async () => {
    const added = await here.run(["add", "more", "--env", "A=b", "--", notes.command, ...notes.args])
    assert.match(ok(added), /^added more to .*config\.json\n$/)
    assert.include(added.stderr, "mcp-supervisor test more")
    assert.strictEqual(ok(await here.run(["call", "more/echo", '{"text":"hi"}'])), "hi\n")
    ok(await here.run(["disable", "more"]))
    assert.strictEqual(json(await here.run(["list", "--json"])).more.status, "disabled")
    ok(await here.run(["enable", "more"]))
    assert.strictEqual(ok(await here.run(["call", "more/echo", '{"text":"hi"}'])), "hi\n")
    ok(await here.run(["disconnect", "more"]))
    ok(await here.run(["enable", "more"]))
    assert.strictEqual(json(await here.run(["list", "--json"])).more.status, "connected")
    ok(await here.run(["remove", "more"]))
    assert.isUndefined(json(await here.run(["list", "--json"])).more)
    assert.strictEqual((await here.run(["remove", "more"])).code, 3)
    assert.strictEqual((await here.run(["add", "greet", "--url", "http://localhost:1"])).code, 1)
  })

  it("reload prints the plan", async () => {
    assert.match(ok(await here.run(["reload"])), /no changes/)
    assert.deepStrictEqual(json(await here.run(["reload", "--json"])).restart, [])
  })

  it("a server of a project runs after its approval", async () => {
    const file = join(here.project, "mcp-supervisor.json")
    writeFileSync(file, JSON.stringify({ mcp: { ours: notes } }))
    const before = await here.run(["call", "ours/echo", '{"text":"x"}', "--standalone"])
    assert.strictEqual(before.code, 3, before.stdout)
    assert.include(ok(await here.run(["trust", "--yes"])), "ours")
    assert.strictEqual(ok(await here.run(["call", "ours/echo", '{"text":"x"}', "--standalone"])), "x\n")
    ok(await here.run(["trust", file, "--revoke"]))
    // The revoked approvals existed.
    const again = await here.run(["trust", file, "--revoke"])
    assert.strictEqual(again.code, 1)
    assert.include(again.stderr, "nothing of it was approved")
    assert.strictEqual(again.stdout, "")
    assert.strictEqual((await here.run(["test", "ours"])).code, 3)
    // The directory was approved as well.
    ok(await here.run(["trust", "--revoke"]))
    const text = readFileSync(file, "utf8")
    writeFileSync(file, "{")
    const broken = await here.run(["trust", "--json"])
    assert.strictEqual(broken.code, 2, broken.stdout)
    assert.match(broken.stderr, /mcp-supervisor\.json was not changed: it cannot be read: .*1:2/)
    writeFileSync(file, text)
  })

  it("start reports that a supervisor is already running; serve fails and names it", async () => {
    const again = await here.run(["start"])
    assert.strictEqual(again.code, 0)
    assert.include(again.stderr, "already running")
    const serve = await here.run(["serve", "--port", "0"])
    assert.strictEqual(serve.code, 1)
    assert.match(serve.stderr, /process \d+ supervises .* already at http/)
  })

  it("a supervisor for other config files is not used, with a note", async () => {
    const other = here.configure({ greet: notes }, "other.json")
    const { code, stderr, stdout } = await here.run(["tools", "--config", other, "--json"], { cwd: here.directory })
    assert.strictEqual(code, 0)
    assert.match(stderr, /the running supervisor \(process \d+\) serves other config files; this command runs its own/)
    assert.include(stdout, "greet_echo")
    const connect = await here.run(["connect", "greet", "--config", other])
    assert.strictEqual(connect.code, 1)
    assert.include(connect.stderr, "mcp-supervisor stop")
    assert.include(ok(await here.run(["tools", "--standalone"])), "greet_greet")
  })
})
