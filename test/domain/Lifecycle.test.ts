import { assert, describe, it } from "@effect/vitest"
import { type Failure, Lifecycle, RestartPolicy } from "../../src/index.js"
import { info, settings, broken, life } from "./support/life.js"

describe("a server that was added", () => {
  it("is opened at once", () => {
    const server = life()
    assert.deepStrictEqual(server.did, ["Open 1"])
    assert.deepStrictEqual(server.status, { status: "connecting", attempt: 1, since: 0, phase: "spawn" })
  })

  it("is idle if it is lazy, until a call starts it", () => {
    const server = life({ lazy: true })
    assert.deepStrictEqual(server.did, [])
    assert.deepStrictEqual(server.status, { status: "idle", since: 0 })
    assert.include(server.command("Demanded").did, "Open 1")
  })

  it("stays disabled by its config or missing trust, with a hint", () => {
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

  it("shows the phase of its attempt, and is connected when it opened", () => {
    const server = life().happens({ _tag: "PhaseReached", generation: 1, phase: "discover" })
    assert.deepStrictEqual(server.status, { status: "connecting", attempt: 1, since: 0, phase: "discover" })
    assert.deepStrictEqual(server.after(5).opens().status, { status: "connected", since: 5, ...info })
    assert.deepStrictEqual(server.did, ["PublishStatus"])
  })
})

describe("a connected server", () => {
  it("shows the current info of its link, and fetches a changed list again", () => {
    const server = life()
      .opens()
      .happens({ _tag: "LinkUpdated", generation: 1, info: { ...info, tools: 7 } })
    assert.deepStrictEqual(server.status, { status: "connected", since: 0, ...info, tools: 7 })
    assert.deepStrictEqual(server.happens({ _tag: "ListChanged", generation: 1, list: "tools" }).did, [
      "RefreshCatalog 1"
    ])
    assert.deepStrictEqual(server.happens({ _tag: "ListChanged", generation: 0, list: "tools" }).did, [])
  })

  it("fetches a list again that changed while the link was opening", () => {
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

  it("fetches nothing from the serving link if a list of its replacement changed", () => {
    const server = life().opens()
    server.happens({ _tag: "ConfigChanged", settings, change: "link" })
    server.happens({ _tag: "ListChanged", generation: 2, list: "tools" })
    assert.deepStrictEqual(server.happens({ _tag: "Opened", generation: 1, info }).did, [])
  })

  it("that is lost is restarted as soon as the old link is released", () => {
    const server = life().opens().after(100).isLost()
    assert.deepStrictEqual(server.did, ["Close 1", "PublishStatus"])
    assert.deepStrictEqual(server.status, { status: "connecting", attempt: 2, since: 100, phase: "spawn" })
    assert.deepStrictEqual(server.after(3).isReleased().did, ["Open 2", "PublishStatus"])
    assert.strictEqual(server.state.restarts, 1)
  })

  it("that is lost again and again is restarted after growing delays, then given up with the reason", () => {
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

  it("that was given up is retried once per cooldown, until it stays connected", () => {
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

  it("resets its failure streak after enough uptime", () => {
    const server = life().crashes().opens().after(59_999).isLost()
    assert.strictEqual(server.state.streak.failures, 2)
    const stable = life().crashes().opens().after(60_000).isLost()
    assert.strictEqual(stable.state.streak.failures, 1)
  })

  it("that could not start because of a shortage on this machine is retried and never given up for it", () => {
    const shortage: Failure.Failure = { kind: "shortage", error: "no free file descriptor", errorTag: "SpawnFailed" }
    let server = life({ restart: { ...RestartPolicy.defaultPolicy, maxRestarts: 1 } }).crashes(shortage)
    assert.deepInclude(server.status, { status: "failed", error: "no free file descriptor", failures: 0 })
    for (let attempt = 0; attempt < 20; attempt++) {
      server = server.timerFires().crashes(shortage)
    }
    assert.strictEqual(server.state.restarts, 0)
    assert.deepStrictEqual(server.state.streak.restarts, [])
    // the restart policy is not affected
    const open = server.timerFires().opens()
    assert.strictEqual(open.state.streak.shortages, 0)
    const lost = open.crashes()
    assert.strictEqual(lost.state.streak.failures, 1)
    assert.strictEqual(lost.status.status, "connecting")
    assert.strictEqual(lost.state.restarts, 1)
    // a restart that meets a shortage counts once, however often it is retried
    const again = lost.crashes(shortage).timerFires().crashes(shortage).timerFires()
    assert.strictEqual(again.state.restarts, 1)
    assert.strictEqual(again.state.streak.failures, 1)
  })

  it("that lost its session is reconnected at once, unless that happens again and again", () => {
    const lost: Failure.Failure = { kind: "session_lost", error: "forgotten", errorTag: "SessionLost" }
    const server = life({ restart: RestartPolicy.defaultPolicy }).crashes().crashes().timerFires().opens()
    assert.strictEqual(server.crashes(lost).status.status, "connecting")
    assert.strictEqual(server.opens().crashes(lost).status.status, "failed")
  })

  it("is not retried before its Retry-After, not even the first time", () => {
    const server = life().crashes({ ...broken, retryAfter: 7_000 })
    assert.strictEqual(Lifecycle.timers(server.state)[0]?.at, 7_000)
  })

  it("waits for a change if a retry would not help", () => {
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

  it("fails if its link ends without a reason", () => {
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

  it("retries a server that waits for it, but not one with another failure", () => {
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

  it("that completes while an attempt is rejected for its lack is not lost", () => {
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

  it("that is revoked closes the link and the attempt that use it", () => {
    const logout = { _tag: "CredentialsChanged", revoked: true } as const
    assert.deepStrictEqual(life().opens().happens(logout).did, ["Drain 1", "ScheduleTimer", "Open 2", "PublishStatus"])
    assert.deepStrictEqual(life().happens(logout).did, ["Close 1"])
    assert.deepStrictEqual(life().crashes(needsAuth).happens(logout).did, [])
  })
})

describe("a lazy server", () => {
  it("becomes idle when it is not used, after it finished its calls", () => {
    const server = life({ lazy: true }).command("Demanded").opens().after(9).happens({ _tag: "Idle", generation: 1 })
    assert.deepStrictEqual(server.did, ["Drain 1", "ScheduleTimer", "PublishStatus"])
    assert.deepStrictEqual(server.status, { status: "idle", since: 9 })
    assert.include(server.command("Demanded").did, "Open 2")
  })

  it("does not become idle while it is replaced, nor if it is not lazy", () => {
    const idle = { _tag: "Idle", generation: 1 } as const
    const lazy = life({ lazy: true }).command("Demanded").opens().changes("link")
    assert.deepStrictEqual(lazy.happens(idle).did, [])
    assert.deepStrictEqual(life().opens().happens(idle).did, [])
  })
})
