import { assert, describe, it } from "@effect/vitest"
import { type Failure, Lifecycle, RestartPolicy } from "../../src/index.js"

const info: Lifecycle.LinkInfo = {
  transport: "stdio",
  protocolVersion: "2025-11-25",
  era: "legacy",
  tools: 2,
  resources: 0,
  prompts: 0,
  push: "open"
}

const settings: Lifecycle.Settings = {
  server: "files",
  restart: { ...RestartPolicy.defaultPolicy, maxRestarts: 2 },
  lazy: false,
  replace: "overlap",
  drain: 30_000
}

const broken: Failure.Failure = { kind: "transient", error: "it broke", errorTag: "ConnectionClosed" }

type Happening = Lifecycle.Event extends infer E
  ? E extends Lifecycle.Event
    ? Omit<E, "at" | "random">
    : never
  : never

/** A server whose life is told step by step. */
const life = (initial: Partial<Lifecycle.Settings> = {}) => {
  const start = Lifecycle.start({ ...settings, ...initial }, 0)
  let { state } = start
  let at = 0
  let random = 0.5
  let actions = start.actions
  const self = {
    after: (ms: number) => {
      at += ms
      return self
    },
    luck: (value: number) => {
      random = value
      return self
    },
    happens: (event: Happening) => {
      const step = Lifecycle.step(state, { ...event, at, random } as Lifecycle.Event)
      state = step.state
      actions = step.actions
      return self
    },
    command: (_tag: "Enable" | "Disable" | "Connect" | "Restart" | "Remove" | "Demanded") => self.happens({ _tag }),
    opens: (generation = state.generation) => self.happens({ _tag: "Opened", generation, info }),
    isLost: (failure: Failure.Failure = broken, generation = state.generation) =>
      self.happens({ _tag: "Lost", generation, failure }),
    isReleased: (generation = state.generation) => self.happens({ _tag: "Released", generation }),
    /** Lost and gone. */
    crashes: (failure?: Failure.Failure) => self.isLost(failure).isReleased(),
    timerFires: () => {
      const [timer] = Lifecycle.timers(state)
      at = Math.max(at, timer?.at ?? at)
      return self.happens({ _tag: "TimerFired", timer: timer?.id ?? -1 })
    },
    changes: (change: "settings" | "link" | "identity", to: Partial<Lifecycle.Settings> = {}) =>
      self.happens({ _tag: "ConfigChanged", change, settings: { ...state.settings, ...to } }),
    get state() {
      return state
    },
    get at() {
      return at
    },
    get status() {
      return Lifecycle.status(state)
    },
    get did() {
      return actions.map((action) =>
        "generation" in action ? `${action._tag} ${action.generation}` : "timer" in action ? action._tag : action._tag
      )
    }
  }
  return self
}

describe("a server that was added", () => {
  it("is opened at once", () => {
    const server = life()
    assert.deepStrictEqual(server.did, ["Open 1"])
    assert.deepStrictEqual(server.status, { status: "connecting", attempt: 1, since: 0, phase: "spawn" })
  })

  it("rests when it is lazy, until a call wants it", () => {
    const server = life({ lazy: true })
    assert.deepStrictEqual(server.did, [])
    assert.deepStrictEqual(server.status, { status: "idle", since: 0 })
    assert.include(server.command("Demanded").did, "Open 1")
  })

  it("stays off when its config or missing trust says so, and tells what helps", () => {
    const byConfig = life({ disabled: "config", server: "my files" })
    assert.deepStrictEqual(byConfig.status, {
      status: "disabled",
      by: "config",
      hint: "enable it: mcp-supervisor enable 'my files'"
    })
    const byTrust = life({ disabled: "trust" })
    assert.deepStrictEqual(byTrust.status, {
      status: "disabled",
      by: "trust",
      hint: "its project file is not trusted: mcp-supervisor trust"
    })
  })

  it("shows how far the attempt is, and is connected when it opened", () => {
    const server = life().happens({ _tag: "PhaseReached", generation: 1, phase: "discover" })
    assert.deepStrictEqual(server.status, { status: "connecting", attempt: 1, since: 0, phase: "discover" })
    assert.deepStrictEqual(server.after(5).opens().status, { status: "connected", since: 5, ...info })
    assert.deepStrictEqual(server.did, ["PublishStatus"])
  })
})

describe("a connected server", () => {
  it("shows new facts about its link, and refreshes a list that changed", () => {
    const server = life()
      .opens()
      .happens({ _tag: "LinkUpdated", generation: 1, info: { ...info, tools: 7 } })
    assert.deepStrictEqual(server.status, { status: "connected", since: 0, ...info, tools: 7 })
    assert.deepStrictEqual(server.happens({ _tag: "ListChanged", generation: 1, list: "tools" }).did, [
      "RefreshCatalog 1"
    ])
    assert.deepStrictEqual(server.happens({ _tag: "ListChanged", generation: 0, list: "tools" }).did, [])
  })

  it("fetches a list again that changed while the link was being opened", () => {
    const changed = { _tag: "ListChanged", generation: 1, list: "tools" } as const
    const server = life()
      .happens(changed)
      .happens(changed)
      .happens({ ...changed, list: "prompts" })
    assert.deepStrictEqual(server.opens().did, ["RefreshCatalog 1", "RefreshCatalog 1", "PublishStatus"])
    assert.deepStrictEqual(
      life()
        .happens({ ...changed, generation: 0 })
        .opens().did,
      ["PublishStatus"]
    )
  })

  it("fetches nothing of the link that serves because a list of its successor has changed", () => {
    const server = life().opens()
    server.happens({ _tag: "ConfigChanged", settings, change: "link" })
    server.happens({ _tag: "ListChanged", generation: 2, list: "tools" })
    assert.deepStrictEqual(server.happens({ _tag: "Opened", generation: 1, info }).did, [])
  })

  it("that dies is restarted as soon as nothing of the old process is left", () => {
    const server = life().opens().after(100).isLost()
    assert.deepStrictEqual(server.did, ["Close 1", "PublishStatus"])
    assert.deepStrictEqual(server.status, { status: "connecting", attempt: 2, since: 100, phase: "spawn" })
    assert.deepStrictEqual(server.after(3).isReleased().did, ["Open 2", "PublishStatus"])
    assert.strictEqual(server.state.restarts, 1)
  })

  it("that keeps dying waits longer and longer, then is given up, with the reason", () => {
    const dead = { ...broken, errorTag: "ProcessExited", exitCode: 3, stderr: "no database" }
    const server = life().luck(0.9).crashes(dead).crashes(dead)
    assert.deepStrictEqual(server.status, {
      status: "failed",
      error: "it broke",
      errorTag: "ProcessExited",
      failures: 2,
      retryAt: 450,
      exitCode: 3,
      stderr: "no database"
    })
    server.timerFires().crashes({ ...broken, signal: "SIGSEGV" })
    assert.deepStrictEqual(server.status, {
      status: "failed",
      error: "it broke",
      errorTag: "ConnectionClosed",
      failures: 3,
      retryAt: 450 + 300_000,
      gaveUp: "more than 2 restarts within 60000 ms",
      signal: "SIGSEGV"
    })
  })

  it("that was given up is tried once per cooldown, until it stays up", () => {
    const server = life().crashes().crashes().timerFires().crashes()
    assert.strictEqual(Lifecycle.timers(server.state)[0]?.kind, "cooldown")
    server.timerFires().opens().after(59_999).crashes()
    assert.strictEqual(Lifecycle.timers(server.state)[0]?.kind, "cooldown")
    server.timerFires().opens().after(60_000).isLost()
    assert.strictEqual(server.status.status, "connecting")
    assert.strictEqual(server.state.streak.failures, 1)
  })

  it("that was given up and then fails for another reason is not called given up", () => {
    const halfOpen = () => life().crashes().crashes().timerFires().crashes().timerFires()
    const permanent = halfOpen().crashes({ kind: "permanent", error: "no such command", errorTag: "SpawnFailed" })
    assert.deepStrictEqual(permanent.status, {
      status: "failed",
      error: "no such command",
      errorTag: "SpawnFailed",
      failures: 4
    })
    const shortage = halfOpen().crashes({ kind: "shortage", error: "no memory", errorTag: "SpawnFailed" })
    assert.deepStrictEqual(shortage.status, {
      status: "failed",
      error: "no memory",
      errorTag: "SpawnFailed",
      failures: 3,
      retryAt: shortage.at + 1_500
    })
  })

  it("forgets its failures after enough uptime", () => {
    const server = life().crashes().opens().after(59_999).isLost()
    assert.strictEqual(server.state.streak.failures, 2)
    const stable = life().crashes().opens().after(60_000).isLost()
    assert.strictEqual(stable.state.streak.failures, 1)
  })

  it("that could not be started for a shortage on our side is tried again and never given up for it (breaker 7)", () => {
    const shortage: Failure.Failure = { kind: "shortage", error: "no free file descriptor", errorTag: "SpawnFailed" }
    let server = life({ restart: { ...RestartPolicy.defaultPolicy, maxRestarts: 1 } }).crashes(shortage)
    assert.deepInclude(server.status, { status: "failed", error: "no free file descriptor", failures: 0 })
    for (let attempt = 0; attempt < 20; attempt++) {
      server = server.timerFires().crashes(shortage)
    }
    assert.strictEqual(server.state.restarts, 0)
    assert.deepStrictEqual(server.state.streak.restarts, [])
    // the policy of the server is as if nothing had happened
    const open = server.timerFires().opens()
    assert.strictEqual(open.state.streak.shortages, 0)
    const lost = open.crashes()
    assert.strictEqual(lost.state.streak.failures, 1)
    assert.strictEqual(lost.status.status, "connecting")
    assert.strictEqual(lost.state.restarts, 1)
    // a restart that meets a shortage counts once, however often it is tried
    const again = lost.crashes(shortage).timerFires().crashes(shortage).timerFires()
    assert.strictEqual(again.state.restarts, 1)
    assert.strictEqual(again.state.streak.failures, 1)
  })

  it("that lost its session is opened again at once, unless that happens again and again", () => {
    const lost: Failure.Failure = { kind: "session_lost", error: "forgotten", errorTag: "SessionLost" }
    const server = life({ restart: RestartPolicy.defaultPolicy }).crashes().crashes().timerFires().opens()
    assert.strictEqual(server.crashes(lost).status.status, "connecting")
    assert.strictEqual(server.opens().crashes(lost).status.status, "failed")
  })

  it("is not tried before the time it asked for, not even the first time", () => {
    const server = life().crashes({ ...broken, retryAfter: 7_000 })
    assert.strictEqual(Lifecycle.timers(server.state)[0]?.at, 7_000)
  })

  it("waits for a person where trying again would not help", () => {
    const auth = life().crashes({
      kind: "auth",
      error: "log in first",
      errorTag: "AuthRequired",
      scope: "read",
      hint: "log in"
    })
    assert.deepStrictEqual(auth.status, { status: "needs_auth", reason: "log in first", scope: "read", hint: "log in" })
    const bare = life().crashes({ kind: "auth", error: "log in first", errorTag: "AuthRequired" })
    assert.deepStrictEqual(bare.status, { status: "needs_auth", reason: "log in first", hint: "" })
    const registration = life().crashes({
      kind: "registration",
      error: "no id",
      errorTag: "RegistrationRequired",
      hint: "get one"
    })
    assert.deepStrictEqual(registration.status, {
      status: "needs_client_registration",
      error: "no id",
      hint: "get one"
    })
    const permanent = life().crashes({ kind: "permanent", error: "no such command", errorTag: "SpawnFailed" })
    assert.deepStrictEqual(permanent.status, {
      status: "failed",
      error: "no such command",
      errorTag: "SpawnFailed",
      failures: 1
    })
    assert.deepStrictEqual(Lifecycle.timers(permanent.state), [])
  })

  it("whose link ends without a word is a failure like any other", () => {
    const server = life().opens().isReleased()
    assert.deepStrictEqual(server.did, ["Open 2", "PublishStatus"])
    assert.strictEqual(server.state.streak.failures, 1)
    assert.deepStrictEqual(server.isReleased().state.closing, [])
    assert.deepInclude(server.status, {
      status: "failed",
      error: "unexpected failure, please report it: the link ended without a reason",
      errorTag: "UnexpectedFailure"
    })
  })
})

describe("a login", () => {
  const needsAuth: Failure.Failure = { kind: "auth", error: "log in", errorTag: "AuthRequired" }

  it("wakes a server that waits, but not one whose failure no login can change", () => {
    const login = { _tag: "CredentialsChanged", revoked: false } as const
    assert.include(life().crashes(needsAuth).happens(login).did, "Open 2")
    assert.deepStrictEqual(life().crashes().crashes().happens(login).did, [])
    assert.deepStrictEqual(
      life()
        .crashes({ ...needsAuth, kind: "permanent" })
        .happens(login).did,
      []
    )
    assert.deepStrictEqual(life().opens().happens(login).did, [])
  })

  it("that comes while an attempt is being refused for want of it is not lost", () => {
    const login = { _tag: "CredentialsChanged", revoked: false } as const
    const server = life().happens(login).isLost(needsAuth)
    assert.strictEqual(server.status.status, "connecting")
    assert.include(server.isReleased().did, "Open 2")
    assert.strictEqual(server.isLost(needsAuth).status.status, "needs_auth")
    assert.strictEqual(
      life()
        .happens(login)
        .isLost({ ...needsAuth, kind: "permanent" }).status.status,
      "failed"
    )
  })

  it("that is given back ends the link that used it, and the attempt that would", () => {
    const logout = { _tag: "CredentialsChanged", revoked: true } as const
    assert.deepStrictEqual(life().opens().happens(logout).did, ["Drain 1", "ScheduleTimer", "Open 2", "PublishStatus"])
    assert.deepStrictEqual(life().happens(logout).did, ["Close 1"])
    assert.deepStrictEqual(life().crashes(needsAuth).happens(logout).did, [])
  })
})

describe("commands", () => {
  it("disable ends everything at once and enable takes it up again", () => {
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

  it("enable lets a lazy server rest, connect does not", () => {
    assert.strictEqual(life({ lazy: true }).command("Disable").command("Enable").status.status, "idle")
    assert.strictEqual(life({ lazy: true }).command("Disable").command("Connect").status.status, "connecting")
    assert.strictEqual(life({ lazy: true }).command("Connect").status.status, "connecting")
  })

  it("overrule the config, and keep doing so when it changes", () => {
    const server = life({ disabled: "config" }).command("Enable")
    assert.strictEqual(server.status.status, "connecting")
    assert.strictEqual(server.opens().changes("settings").status.status, "connected")
    assert.strictEqual(life().command("Disable").changes("link").status.status, "disabled")
  })

  it("that started a server against its config end when the config agrees", () => {
    const server = life({ disabled: "config" }).command("Connect")
    const { disabled: _, ...enabled } = server.state.settings
    server.happens({ _tag: "ConfigChanged", change: "settings", settings: enabled })
    assert.strictEqual(server.status.status, "connecting")
    assert.strictEqual(server.state.intent, "config")
    assert.strictEqual(server.changes("settings", { disabled: "config" }).status.status, "disabled")
  })

  it("that agree with the config do not hold against a later one", () => {
    for (const server of [
      life().command("Connect"),
      life().opens().command("Restart"),
      life().command("Disable").command("Enable")
    ]) {
      assert.strictEqual(server.changes("settings", { disabled: "config" }).status.status, "disabled")
    }
  })

  it("connect makes an attempt that still waits for the old link the first one again", () => {
    const server = life().opens().after(5).isLost()
    assert.deepInclude(server.status, { status: "connecting", attempt: 2 })
    assert.deepInclude(server.command("Connect").status, { status: "connecting", attempt: 1 })
  })

  it("connect cuts every wait short and leaves a good link alone", () => {
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

  it("restart ends the link first and forgets failures", () => {
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

  it("remove ends everything for good", () => {
    const server = life().opens().changes("identity").command("Remove")
    assert.deepStrictEqual(server.did, ["Close 1", "Close 2", "CancelTimer"])
    assert.deepStrictEqual(server.status, { status: "disabled", by: "command" })
    assert.isTrue(Lifecycle.isRemoved(server.state))
    assert.isFalse(Lifecycle.isFinished(server.state))
    server.isReleased(1).command("Connect").isReleased(2)
    assert.isTrue(Lifecycle.isFinished(server.state))
  })

  it("disable removes nothing", () => {
    const { state } = life().opens().command("Disable").isReleased()
    assert.isFalse(Lifecycle.isRemoved(state))
    assert.isFalse(Lifecycle.isFinished(state))
  })
})

describe("a change of config", () => {
  it("that only concerns settings keeps the link", () => {
    const server = life().opens().changes("settings", { lazy: true })
    assert.deepStrictEqual(server.did, [])
    assert.isTrue(server.state.settings.lazy)
  })

  it("of any kind is a reason to try again what failed", () => {
    assert.include(
      life()
        .crashes({ ...broken, kind: "permanent" })
        .changes("settings").did,
      "Open 2"
    )
  })

  it("opens the new link beside the old one, swaps, drains and closes the old one", () => {
    const server = life().opens().after(10).changes("link")
    assert.deepStrictEqual(server.did, ["Open 2", "PublishReplacement"])
    assert.strictEqual(server.status.status, "connected")
    assert.deepStrictEqual(Lifecycle.replacement(server.state), { generation: 2 })
    assert.deepStrictEqual(server.opens().did, ["Drain 1", "ScheduleTimer", "PublishStatus", "PublishReplacement"])
    assert.isUndefined(Lifecycle.replacement(server.state))
    assert.deepStrictEqual(Lifecycle.timers(server.state), [{ id: 1, kind: "drain", at: 10 + 30_000 }])
    assert.deepStrictEqual(server.happens({ _tag: "Drained", generation: 1 }).did, ["Close 1", "CancelTimer"])
  })

  it("lets a link drain until it says itself that it is done", () => {
    const server = life().opens().changes("link").opens()
    assert.deepStrictEqual(server.happens({ _tag: "Drained", generation: 2 }).did, [])
  })

  it("closes a link that takes too long to drain, or dies meanwhile", () => {
    const replaced = () => life().opens().changes("link").opens()
    assert.deepStrictEqual(replaced().timerFires().did, ["Close 1", "CancelTimer"])
    assert.deepStrictEqual(replaced().isLost(broken, 1).did, ["Close 1", "CancelTimer"])
  })

  it("leaves the old link serving while the new one fails, and says so", () => {
    const server = life().opens().changes("link").crashes().crashes()
    assert.strictEqual(server.status.status, "connected")
    assert.deepStrictEqual(Lifecycle.replacement(server.state), { generation: 3, error: "it broke", retryAt: 250 })
    assert.deepStrictEqual(server.isLost(broken, 1).status.status, "failed")
    const hopeless = life().opens().changes("link")
    assert.deepStrictEqual(hopeless.isLost({ ...broken, kind: "permanent" }).did, ["Close 2", "PublishReplacement"])
  })

  it("of who the server is takes the old link out at once", () => {
    const server = life().opens().changes("identity")
    assert.deepStrictEqual(server.did, ["Drain 1", "ScheduleTimer", "Open 2", "PublishStatus"])
    assert.strictEqual(server.status.status, "connecting")
  })

  it("waits for the old link where the two must not run together", () => {
    const server = life({ replace: "stop-first" }).opens().changes("link")
    assert.deepStrictEqual(server.did, ["Drain 1", "ScheduleTimer", "PublishStatus"])
    assert.deepStrictEqual(server.happens({ _tag: "Drained", generation: 1 }).did, ["Close 1", "CancelTimer"])
    assert.deepStrictEqual(server.isReleased(1).did, ["Open 2"])
  })

  it("while a replacement is being opened starts over with the newest config", () => {
    const server = life().opens().changes("link").changes("link")
    assert.deepStrictEqual(server.did, ["Close 2", "PublishReplacement"])
    assert.deepStrictEqual(Lifecycle.replacement(server.state), { generation: 3 })
    assert.deepStrictEqual(server.isReleased(2).did, ["Open 3"])
  })

  it("ends the oldest link when two replacements follow each other fast", () => {
    const server = life().opens().changes("link").opens().changes("link").opens()
    assert.deepStrictEqual(server.did.slice(0, 2), ["Close 1", "Drain 2"])
  })

  it("that is wrong ends the server until it is right", () => {
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

  it("switches a server off and on", () => {
    const server = life().opens().changes("settings", { disabled: "config" })
    assert.deepStrictEqual(server.did, ["Close 1", "PublishStatus"])
    assert.strictEqual(server.isReleased().status.status, "disabled")
    const { disabled: _, ...enabled } = server.state.settings
    server.happens({ _tag: "ConfigChanged", change: "settings", settings: enabled })
    assert.deepStrictEqual(server.did, ["Open 2", "PublishStatus"])
  })

  it("lets a resting server rest, unless it is no longer lazy", () => {
    const server = life({ lazy: true })
    assert.deepStrictEqual(server.after(5).changes("link").status, { status: "idle", since: 0 })
    assert.include(server.changes("link", { lazy: false }).did, "Open 1")
  })
})

describe("a lazy server", () => {
  it("rests again when it was not used for long, and finishes what it is doing", () => {
    const server = life({ lazy: true }).command("Demanded").opens().after(9).happens({ _tag: "Idle", generation: 1 })
    assert.deepStrictEqual(server.did, ["Drain 1", "ScheduleTimer", "PublishStatus"])
    assert.deepStrictEqual(server.status, { status: "idle", since: 9 })
    assert.include(server.command("Demanded").did, "Open 2")
  })

  it("does not rest while it is being replaced, and an eager one never does", () => {
    const idle = { _tag: "Idle", generation: 1 } as const
    const lazy = life({ lazy: true }).command("Demanded").opens().changes("link")
    assert.deepStrictEqual(lazy.happens(idle).did, [])
    assert.deepStrictEqual(life().opens().happens(idle).did, [])
  })
})
