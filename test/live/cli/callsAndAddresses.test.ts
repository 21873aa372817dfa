/** Runs calls with progress, and supervisors on other addresses than 127.0.0.1. */
import { readFileSync } from "node:fs"
import { networkInterfaces } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { vi } from "vitest"
import { hasTerminal, places, server } from "../support/cli.js"
import { ask } from "../support/control.js"

const clock = server("../../../examples/servers/clock.mjs")

const newPlace = places()

/** A call that lasts long enough for its progress to be drawn. */
const countdown = (steps: number) => ["call", "clock/countdown", JSON.stringify({ steps, intervalMs: 200 })]

describe.runIf(hasTerminal)("a call that reports progress", () => {
  it("shows it with a running supervisor and without one", async () => {
    const here = await newPlace()
    here.configure({ clock })
    const alone = await here.onTerminal(countdown(6))
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    const running = await here.onTerminal(countdown(6))
    for (const { code, stdout } of [alone, running]) {
      assert.strictEqual(code, 0, stdout)
      assert.match(stdout, /clock\/countdown: \d… \d+ %/)
      assert.include(stdout, "Countdown finished after 6 steps")
    }
  })

  it("is cancelled in the running supervisor by Ctrl-C", async () => {
    const here = await newPlace()
    here.configure({ clock })
    assert.strictEqual((await here.run(["start", "--port", "0"])).code, 0)
    const { code, stdout } = await here.onTerminal(countdown(100), [["%", "\u0003"]])
    assert.strictEqual(code, 130, stdout)
    await vi.waitFor(async () => {
      const events = (await here.run(["events", "--json"])).stdout.trim().split("\n")
      const settled = events.map((line) => JSON.parse(line)).find(({ type }) => type === "CallSettled")
      assert.deepInclude(settled, { server: "clock", tool: "countdown", outcome: "interrupted" })
    }, 180_000)
  })
})

const hasIPv6 = networkInterfaces().lo?.some(({ address }) => address === "::1") ?? false

describe.runIf(hasIPv6)("a supervisor on an IPv6 address", () => {
  it("accepts the address with brackets and without", async () => {
    for (const host of ["[::1]", "::1"]) {
      const here = await newPlace()
      const serving = await here.begin(["serve", "--host", host, "--port", "0", "--json"])
      assert.match(JSON.parse(await serving.said(/^\{.*\}$/m)).address, /^http:\/\/\[::1\]:\d+$/)
      assert.strictEqual((await here.run(["list", "--json"])).stdout, "{}\n")
      serving.child.kill("SIGTERM")
      assert.strictEqual((await serving.ended).code, 143)
    }
  })
})

describe("a supervisor that other machines can reach", () => {
  const own = "a-token-of-my-own-choice"
  const words = ["serve", "--host", "0.0.0.0", "--port", "0", "--json"]

  it("does not start without a token of the user's own, or with a weak one", async () => {
    const here = await newPlace()
    for (const token of ["", "short", "with a space in between"]) {
      const { code, stderr, stdout } = await here.run(words, { env: { MCP_SUPERVISOR_TOKEN: token } })
      assert.strictEqual(code, 2, token)
      assert.strictEqual(stdout, "")
      assert.include(stderr, "MCP_SUPERVISOR_TOKEN")
      if (token !== "") assert.notInclude(stderr, token)
    }
  })

  it("accepts exactly that token, or the one in the state directory", async () => {
    const here = await newPlace()
    const serving = await here.begin(words, { env: { MCP_SUPERVISOR_TOKEN: own } })
    const { address } = JSON.parse(await serving.said(/^\{.*\}$/m))
    assert.match(address, /^http:\/\/0\.0\.0\.0:\d+$/)
    const status = (authorization: string | undefined, host = "192.0.2.7") =>
      Effect.runPromise(
        Effect.map(ask({ address }, "/mcp", { headers: { authorization, host } }), (answer) => answer.status)
      )
    assert.strictEqual(await status(`Bearer ${own}`), 200)
    const wrong = [undefined, "", "Bearer", own, `Bearer ${own}x`, `Bearer ${own.slice(0, -1)}`, `Basic ${own}`]
    for (const each of wrong) assert.strictEqual(await status(each), 401, each)
    assert.strictEqual(await status(`Bearer ${own}`, "evil.test"), 403)
    // commands of the same user do not need the variable
    const made = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
    assert.notStrictEqual(made, own)
    assert.strictEqual(await status(`Bearer ${made}`), 200)
    const listed = await here.run(["list", "--json"])
    assert.deepStrictEqual([listed.code, listed.stdout], [0, "{}\n"], listed.stderr)
    serving.child.kill("SIGTERM")
    assert.strictEqual((await serving.ended).code, 143)
  })
})

describe("status --watch", () => {
  it("shows changes during a continuous series of changes", async () => {
    const here = await newPlace()
    here.configure({ clock: { ...clock, lazy: true } })
    const started = await here.run(["start", "--port", "0", "--json"])
    const { address } = JSON.parse(started.stdout)
    const token = readFileSync(join(here.stateDir, "control-token"), "utf8").trim()
    const watch = await here.begin(["status", "--watch", "--json"])
    await watch.said('"idle"')
    const seen: Array<unknown> = []
    watch.child.stdout.on("data", (text) => seen.push(text))
    // without a pause, until several changes were shown
    while (seen.length < 5) {
      for (const path of ["/mcp/clock/disable", "/mcp/clock/enable"]) {
        await Effect.runPromise(
          ask({ address }, path, { method: "POST", headers: { authorization: `Bearer ${token}` } })
        )
      }
    }
    watch.child.kill("SIGINT")
    assert.strictEqual((await watch.ended).code, 130)
  }, 180_000)
})
