import { spawnSync } from "node:child_process"
import { mkdirSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as DaemonState from "../../../src/daemon/DaemonState.js"
import { revision } from "../../../src/control/apiRevision.js"
import * as ProcessIdentity from "../../../src/system/processIdentity.js"
import { temporary } from "../support/control.js"

const self = Effect.runSync(ProcessIdentity.self)

/** A process of this machine that has ended. */
const dead = { ...self, pid: spawnSync("true").pid, startedAt: "0" }

/** A process of another machine, of which it is unknown whether it is alive. */
const elsewhere = { ...self, boot: "another-boot", machine: "another-machine" }

const daemonFile = (identity: ProcessIdentity.Identity, more: object = {}) =>
  JSON.stringify({
    version: 1,
    pid: identity.pid,
    identity,
    address: "http://127.0.0.1:1",
    config: [],
    sources: { cwd: "/", files: [], home: "/", env: {}, digests: {} },
    release: "0.1.0",
    api: revision,
    startedAt: 0,
    ...more
  })

interface Files {
  readonly file?: string
  readonly lock?: ProcessIdentity.Identity
  /** Seconds since the socket was created. */
  readonly socketAge?: number
}

const tagOf = ({ file, lock, socketAge }: Files) =>
  Effect.gen(function* () {
    const stateDir = yield* temporary
    if (file !== undefined) writeFileSync(join(stateDir, "daemon.json"), file, { mode: 0o600 })
    if (lock !== undefined) {
      mkdirSync(join(stateDir, "daemon.lock"))
      writeFileSync(join(stateDir, "daemon.lock", "1"), JSON.stringify({ ...lock, nonce: "n" }), { mode: 0o600 })
    }
    if (socketAge !== undefined) {
      const socket = join(stateDir, "control.sock")
      writeFileSync(socket, "")
      utimesSync(socket, Date.now() / 1000 - socketAge, Date.now() / 1000 - socketAge)
    }
    return (yield* DaemonState.find(stateDir))._tag
  })

const cases: ReadonlyArray<readonly [expected: DaemonState.DaemonState["_tag"], when: string, files: Files]> = [
  ["None", "there is neither a file nor a lock", {}],
  ["None", "file and lock are of a dead process", { file: daemonFile(dead), lock: dead }],
  ["None", "the file is invalid and the lock is free", { file: "{}" }],
  ["Starting", "a living process holds the lock and has no socket", { lock: self }],
  ["Starting", "the file is of a dead process and the lock of a living one", { file: daemonFile(dead), lock: self }],
  ["Starting", "a living process holds the lock and has just begun to listen", { lock: self, socketAge: 1 }],
  ["Unannounced", "a living process listens for a while without a file", { lock: self, socketAge: 60 }],
  [
    "Unannounced",
    "a living process listens for a while with an invalid file",
    { file: "{", lock: self, socketAge: 60 }
  ],
  ["Elsewhere", "the lock is of a process of another machine", { lock: elsewhere }],
  ["Running", "the file is of a living process", { file: daemonFile(self), lock: self }],
  ["Running", "it is unknown whether the process of the file is alive", { file: daemonFile(elsewhere) }],
  ["ShuttingDown", "the file is marked", { file: daemonFile(self, { isEnding: true }), lock: self }],
  ["ShuttingDown", "the file is marked and has another API", { file: daemonFile(self, { isEnding: true, api: 99 }) }],
  ["OtherApi", "the file has another revision of the API", { file: daemonFile(self, { api: revision + 1 }) }],
  ["Newer", "a later version wrote the file", { file: '{ "version": 2 }', lock: self }]
]

describe("the state of the daemon", () => {
  for (const [expected, when, files] of cases) {
    it.scopedLive(`is ${expected} if ${when}`, () =>
      Effect.map(tagOf(files), (tag) => assert.strictEqual(tag, expected))
    )
  }

  it.scopedLive("is Unreadable if neither file nor lock can be read, but None if the lock is of a dead process", () =>
    Effect.gen(function* () {
      const stateDir = yield* temporary
      mkdirSync(join(stateDir, "daemon.json"))
      assert.strictEqual((yield* DaemonState.find(stateDir))._tag, "Unreadable")
      mkdirSync(join(stateDir, "daemon.lock"))
      writeFileSync(join(stateDir, "daemon.lock", "1"), JSON.stringify({ ...dead, nonce: "n" }), { mode: 0o600 })
      assert.strictEqual((yield* DaemonState.find(stateDir))._tag, "None")
    })
  )
})
