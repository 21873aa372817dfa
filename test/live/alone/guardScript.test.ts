/** Runs the guard's script with other tools in its PATH than those of this machine. */
import { spawn } from "node:child_process"
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { guardScript } from "../../../src/connection/process/guardScript.js"
import { mark, processesCarrying } from "../support/marked.js"
import { eventually } from "../support/session.js"

/** The paths of this machine's tools. */
const places = ["/usr/bin", "/bin"]

const realGrep = `PATH=${places.join(":")} exec grep "$@"`

/** A grep like the default build of BusyBox. */
const grepWithoutZ = `case $1 in -*z*) echo "grep: unrecognized option: z" >&2; exit 1 ;; esac\n${realGrep}`

/** A directory for PATH with only these tools: the text of a script, or undefined for the machine's own. */
const tools = (scripts: Readonly<Record<string, string | undefined>>) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const directory = mkdtempSync(join(tmpdir(), "guard-tools-"))
      for (const [name, text] of Object.entries(scripts)) {
        const path = join(directory, name)
        if (text === undefined) symlinkSync(`/usr/bin/${name}`, path)
        else {
          writeFileSync(path, `#!/bin/sh\n${text}\n`)
          chmodSync(path, 0o755)
        }
      }
      return directory
    }),
    (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
  )

const complete = { grep: undefined, tr: undefined, sleep: undefined, date: undefined }

/** Runs the guard of a supervisor that started it with these arguments, wrote these lines and died. */
const guard = (path: string, known: ReadonlyArray<string>, lines: ReadonlyArray<string>) =>
  Effect.async<number | null>((resume) => {
    const child = spawn("/bin/sh", ["-c", guardScript, "guard", ...known], {
      env: { PATH: path, MCP_SUPERVISOR_GUARD: "1" },
      stdio: ["pipe", "ignore", "inherit"]
    })
    child.stdin.on("error", () => {})
    child.once("exit", (code) => resume(Effect.succeed(code)))
    child.stdin.end(lines.map((line) => `${line}\n`).join(""))
  })

/** A process in a session of its own that ignores SIGTERM. It ends with the test. */
const stubborn = (value: string, env: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    const child = spawn("/bin/sh", ["-c", `trap "" TERM; echo ready; exec sleep 300`], {
      env: { PATH: places.join(":"), TEST_MARK: value, ...env },
      detached: true,
      stdio: ["ignore", "pipe", "ignore"]
    })
    yield* Effect.async<void>((resume) => void child.stdout.once("data", () => resume(Effect.void)))
    return child.pid!
  })

const left = (value: string) => processesCarrying(`TEST_MARK=${value}`)

/** A group that ran when the guard was started, and one that was started later. */
const ways: ReadonlyArray<
  readonly [string, (tag: string, group: number) => readonly [ReadonlyArray<string>, ReadonlyArray<string>]]
> = [
  ["at its start", (tag, group) => [[tag, String(group)], []]],
  ["over its input", (tag, group) => [[tag], [`group ${group}`]]]
]

describe("the script of the guard", () => {
  it.scopedLive("scans the processes once, however many must be ended", () =>
    Effect.gen(function* () {
      const value = yield* mark("many")
      const counting = yield* tools({ ...complete, grep: `echo x >>"\${0%/*}/count"\n${realGrep}` })
      yield* Effect.forEach(Array.from({ length: 30 }), () => stubborn(value, { MCP_SUPERVISOR_RUN: value }), {
        concurrency: "unbounded"
      })
      assert.strictEqual(yield* guard(counting, [value], []), 0)
      yield* eventually(() => left(value).length === 0)
      // one for each scan and one for the check at the start
      assert.isBelow(readFileSync(join(counting, "count"), "utf8").split("\n").length, 18)
    })
  )

  it.scopedLive("sends SIGKILL in time, also if a scan takes long", () =>
    Effect.gen(function* () {
      const value = yield* mark("slow")
      const slow = yield* tools({ ...complete, grep: `sleep 1.5\n${realGrep}`, sleep: "exec /bin/sleep $1" })
      yield* stubborn(value, { MCP_SUPERVISOR_RUN: value })
      const [took, code] = yield* Effect.timed(guard(slow, [value], []))
      assert.strictEqual(code, 0)
      // eight scans before SIGKILL would take 6 s
      assert.isBelow(Duration.toMillis(took), 11_500)
    })
  )

  for (const [name, grep] of [
    ["the grep of this machine", undefined],
    ["a grep that does not know -z", grepWithoutZ]
  ] as const) {
    it.scopedLive(`ends exactly the processes with the tag as a whole entry, with ${name}`, () =>
      Effect.gen(function* () {
        const value = yield* mark("exact")
        const path = yield* tools({ ...complete, grep })
        const others = yield* Effect.all([
          stubborn(value, { MCP_SUPERVISOR_RUN: `${value}0` }),
          stubborn(value, { OTHER: `x\nMCP_SUPERVISOR_RUN=${value}\ny` }),
          stubborn(value, { OTHER_MCP_SUPERVISOR_RUN: value })
        ])
        yield* stubborn(value, { MCP_SUPERVISOR_RUN: value })
        yield* stubborn(value, { MCP_SUPERVISOR_RUN: value, BEFORE: "a # b", Z: `#${others[0]}` })
        assert.strictEqual(yield* guard(path, [value], []), 0)
        yield* eventually(() => left(value).length <= others.length)
        assert.deepStrictEqual([...left(value)].toSorted(), [...others].toSorted())
      })
    )

    for (const [way, told] of ways)
      it.scopedLive(`ends a supervisor in a group given ${way}, and no other supervisor, with ${name}`, () =>
        Effect.gen(function* () {
          const value = yield* mark("nested")
          const path = yield* tools({ ...complete, grep })
          const [server, elsewhere] = yield* Effect.all([
            stubborn(value, { MCP_SUPERVISOR_RUN: value }),
            stubborn(value, { MCP_SUPERVISOR_RUN: value })
          ])
          const guards = yield* Effect.forEach([server, elsewhere], (pid) =>
            stubborn(value, { MCP_SUPERVISOR_GUARD: String(pid) })
          )
          assert.strictEqual(yield* guard(path, ...told(value, server)), 0)
          yield* eventually(() => !left(value).includes(server))
          assert.deepStrictEqual([...left(value)].toSorted(), [elsewhere, ...guards].toSorted())
        })
      )
  }

  for (const [name, scripts] of [
    ["a grep that does not know -z, and no tr", { ...complete, grep: grepWithoutZ, tr: "exit 127" }],
    ["a grep that finds nothing", { ...complete, grep: "exit 1" }],
    ["no sleep", { ...complete, sleep: "exit 127" }]
  ] as const) {
    it.scopedLive(`exits at its start if it cannot work with ${name}`, () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* guard(yield* tools(scripts), ["a"], ["bye"]), 3)
      })
    )
  }

  it.scopedLive("removes groups that are gone, also one of thousands", () =>
    Effect.gen(function* () {
      const path = yield* tools(complete)
      const groups = Array.from({ length: 4000 }, (_, index) => 5_000_000 + index)
      const lines = [...groups.map((group) => `group ${group}`), ...groups.map((group) => `gone ${group}`), "bye"]
      const [took, code] = yield* Effect.timed(guard(path, ["a"], lines))
      assert.strictEqual(code, 0)
      assert.isBelow(Duration.toMillis(took), 40_000)
    })
  )
})
