import { assert, describe, it } from "@effect/vitest"
import { Lifecycle } from "../../src/index.js"
import { broken, life } from "./support/life.js"

describe("commands", () => {
  it("disable closes everything at once, and enable connects again", () => {
    const server = life().opens().command("Disable")
    assert.deepStrictEqual(server.did, ["Close 1", "PublishStatus"])
    assert.deepStrictEqual(server.status, {
      status: "disabled",
      by: "command",
      hint: "connect it: mcp-supervisor connect files"
    })
    assert.deepStrictEqual(server.command("Enable").did, ["PublishStatus"])
    assert.deepStrictEqual(server.isReleased().did, ["Open 2"])
  })

  it("enable leaves a lazy server idle, connect does not", () => {
    assert.strictEqual(life({ lazy: true }).command("Disable").command("Enable").status.status, "idle")
    assert.strictEqual(life({ lazy: true }).command("Disable").command("Connect").status.status, "connecting")
    assert.strictEqual(life({ lazy: true }).command("Connect").status.status, "connecting")
  })

  it("override the config, also after it changes", () => {
    const server = life({ disabled: "config" }).command("Enable")
    assert.strictEqual(server.status.status, "connecting")
    assert.strictEqual(server.opens().changes("settings").status.status, "connected")
    assert.strictEqual(life().command("Disable").changes("link").status.status, "disabled")
  })

  it("that started a server against its config expire when the config agrees", () => {
    const server = life({ disabled: "config" }).command("Connect")
    const { disabled: _, ...enabled } = server.state.settings
    server.happens({ _tag: "ConfigChanged", change: "settings", settings: enabled })
    assert.strictEqual(server.status.status, "connecting")
    assert.strictEqual(server.state.intent, "config")
    assert.strictEqual(server.changes("settings", { disabled: "config" }).status.status, "disabled")
  })

  it("that agree with the config do not override a later one", () => {
    for (const server of [
      life().command("Connect"),
      life().opens().command("Restart"),
      life().command("Disable").command("Enable")
    ]) {
      assert.strictEqual(server.changes("settings", { disabled: "config" }).status.status, "disabled")
    }
  })

  it("connect resets the streak of an attempt that still waits for the old link", () => {
    const server = life().opens().after(5).isLost()
    assert.deepInclude(server.status, { status: "connecting", attempt: 2 })
    assert.deepInclude(server.command("Connect").status, { status: "connecting", attempt: 1 })
  })

  it("connect ends every wait for a retry and does not change an open link", () => {
    assert.include(life().crashes().crashes().command("Connect").did, "Open 3")
    assert.include(life().crashes().crashes().timerFires().crashes().command("Connect").did, "Open 4")
    assert.include(
      life()
        .crashes({ ...broken, kind: "permanent" })
        .command("Connect").did,
      "Open 2"
    )
    assert.deepStrictEqual(life().opens().command("Connect").did, [])
    assert.deepStrictEqual(life().command("Connect").did, [])
    const halfOpen = life().crashes().crashes().timerFires().crashes().timerFires().command("Connect")
    assert.strictEqual(halfOpen.isLost().status.status, "connecting")
  })

  it("restart closes the link first and resets the failure streak", () => {
    const server = life().crashes().opens().command("Restart")
    assert.deepStrictEqual(server.did, ["Close 2", "PublishStatus"])
    assert.deepStrictEqual(server.isReleased().did, ["Open 3"])
    assert.strictEqual(server.state.streak.failures, 0)
  })

  it("do nothing for a server that is not trusted", () => {
    for (const command of ["Enable", "Connect", "Restart", "Demanded"] as const) {
      assert.deepStrictEqual(life({ disabled: "trust" }).command(command).did, [])
    }
    assert.deepInclude(life({ disabled: "trust" }).command("Disable").status, { by: "trust" })
  })

  it("remove closes everything permanently", () => {
    const server = life().opens().changes("identity").command("Remove")
    assert.deepStrictEqual(server.did, ["Close 1", "Close 2", "CancelTimer"])
    assert.deepStrictEqual(server.status, { status: "disabled", by: "command" })
    assert.isTrue(Lifecycle.isRemoved(server.state))
    assert.isFalse(Lifecycle.isFinished(server.state))
    server.isReleased(1).command("Connect").isReleased(2)
    assert.isTrue(Lifecycle.isFinished(server.state))
  })

  it("disable does not remove the server", () => {
    const { state } = life().opens().command("Disable").isReleased()
    assert.isFalse(Lifecycle.isRemoved(state))
    assert.isFalse(Lifecycle.isFinished(state))
  })
})

describe("a change of config", () => {
  it("that affects only settings keeps the link", () => {
    const server = life().opens().changes("settings", { lazy: true })
    assert.deepStrictEqual(server.did, [])
    assert.isTrue(server.state.settings.lazy)
  })

  it("of any kind retries a failed server", () => {
    assert.include(
      life()
        .crashes({ ...broken, kind: "permanent" })
        .changes("settings").did,
      "Open 2"
    )
  })

  it("opens the new link beside the old one, then drains and closes the old one", () => {
    const server = life().opens().after(10).changes("link")
    assert.deepStrictEqual(server.did, ["Open 2", "PublishReplacement"])
    assert.strictEqual(server.status.status, "connected")
    assert.deepStrictEqual(Lifecycle.replacement(server.state), { generation: 2 })
    assert.deepStrictEqual(server.opens().did, ["Drain 1", "ScheduleTimer", "PublishStatus", "PublishReplacement"])
    assert.isUndefined(Lifecycle.replacement(server.state))
    assert.deepStrictEqual(Lifecycle.timers(server.state), [{ id: 1, kind: "drain", at: 10 + 30_000 }])
    assert.deepStrictEqual(server.happens({ _tag: "Drained", generation: 1 }).did, ["Close 1", "CancelTimer"])
  })

  it("closes a draining link when it reports that it is drained", () => {
    const server = life().opens().changes("link").opens()
    assert.deepStrictEqual(server.happens({ _tag: "Drained", generation: 2 }).did, [])
  })

  it("closes a draining link after its drain time, or when it is lost", () => {
    const replaced = () => life().opens().changes("link").opens()
    assert.deepStrictEqual(replaced().timerFires().did, ["Close 1", "CancelTimer"])
    assert.deepStrictEqual(replaced().isLost(broken, 1).did, ["Close 1", "CancelTimer"])
  })

  it("keeps the old link while the new one fails, and publishes the failure", () => {
    const server = life().opens().changes("link").crashes().crashes()
    assert.strictEqual(server.status.status, "connected")
    assert.deepStrictEqual(Lifecycle.replacement(server.state), { generation: 3, error: "it broke", retryAt: 250 })
    assert.deepStrictEqual(server.isLost(broken, 1).status.status, "failed")
    const hopeless = life().opens().changes("link")
    assert.deepStrictEqual(hopeless.isLost({ ...broken, kind: "permanent" }).did, ["Close 2", "PublishReplacement"])
  })

  it("of the identity retires the old link at once", () => {
    const server = life().opens().changes("identity")
    assert.deepStrictEqual(server.did, ["Drain 1", "ScheduleTimer", "Open 2", "PublishStatus"])
    assert.strictEqual(server.status.status, "connecting")
  })

  it("with stop-first waits for the old link", () => {
    const server = life({ replace: "stop-first" }).opens().changes("link")
    assert.deepStrictEqual(server.did, ["Drain 1", "ScheduleTimer", "PublishStatus"])
    assert.deepStrictEqual(server.happens({ _tag: "Drained", generation: 1 }).did, ["Close 1", "CancelTimer"])
    assert.deepStrictEqual(server.isReleased(1).did, ["Open 2"])
  })

  it("while a replacement opens starts again with the newest config", () => {
    const server = life().opens().changes("link").changes("link")
    assert.deepStrictEqual(server.did, ["Close 2", "PublishReplacement"])
    assert.deepStrictEqual(Lifecycle.replacement(server.state), { generation: 3 })
    assert.deepStrictEqual(server.isReleased(2).did, ["Open 3"])
  })

  it("closes the oldest link when two replacements follow each other quickly", () => {
    const server = life().opens().changes("link").opens().changes("link").opens()
    assert.deepStrictEqual(server.did.slice(0, 2), ["Close 1", "Drain 2"])
  })

  it("that is invalid closes the server until it is valid", () => {
    const invalid = { kind: "permanent", error: "bad", errorTag: "InvalidConfig" } as const
    const server = life().opens().changes("link", { invalid })
    assert.deepStrictEqual(server.did, ["Close 1", "PublishStatus"])
    assert.deepStrictEqual(server.status, { status: "failed", error: "bad", errorTag: "InvalidConfig", failures: 1 })
    for (const command of ["Connect", "Restart", "Enable", "Demanded"] as const) {
      assert.deepStrictEqual(server.isReleased().command(command).did, [])
    }
    const { invalid: _, ...valid } = server.state.settings
    assert.include(server.happens({ _tag: "ConfigChanged", change: "settings", settings: valid }).did, "Open 2")
    assert.strictEqual(life({ lazy: true, invalid }).status.status, "failed")
    assert.strictEqual(life({ lazy: true }).changes("settings", { invalid }).status.status, "failed")
  })

  it("can disable and enable a server", () => {
    const server = life().opens().changes("settings", { disabled: "config" })
    assert.deepStrictEqual(server.did, ["Close 1", "PublishStatus"])
    assert.strictEqual(server.isReleased().status.status, "disabled")
    const { disabled: _, ...enabled } = server.state.settings
    server.happens({ _tag: "ConfigChanged", change: "settings", settings: enabled })
    assert.deepStrictEqual(server.did, ["Open 2", "PublishStatus"])
  })

  it("leaves an idle server idle, unless it is no longer lazy", () => {
    const server = life({ lazy: true })
    assert.deepStrictEqual(server.after(5).changes("link").status, { status: "idle", since: 0 })
    assert.include(server.changes("link", { lazy: false }).did, "Open 1")
  })
})
