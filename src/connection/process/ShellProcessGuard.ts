/**
 * Runs the guard as a shell process, one per supervisor, started before the first server. Its arguments and its input tell it
 * which groups run; the end of the input without `bye` means that the supervisor died. See
 * docs/decisions/0012-process-guard.md.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import type { Socket } from "node:net"
import type { Writable } from "node:stream"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import { withinBudget } from "../../system/budget.js"
import { variables } from "../../system/environment.js"
import { guardScript } from "./guardScript.js"
import { noGuard, ProcessGuard, type Service, type Watch } from "../ProcessGuard.js"

/** Provides the guard. Its process starts with the first server. There is no guard on Windows. */
export const layer: Layer.Layer<never> = Layer.succeedContext(
  Context.make(ProcessGuard, { watch: (runTag) => (process.platform === "win32" ? noWatch : watch(runTag)) })
)

const noWatch = Effect.succeed(noGuard)

type Guard = ChildProcessByStdio<Writable, null, null>

/** Undefined if the process could not be started. */
const inputOf = (guard: Guard): Socket | undefined => guard.stdin as Socket | undefined

/** The time the guard has to exit after `bye`. */
const byeBudget = "500 millis"

/** The exit code of a guard that lacks a program it needs. */
const unusable = 3

/** A guard that ran for less than this time is replaced after a pause. */
const steadyAfter = Duration.toMillis("5 seconds")

const pauseAfter = (quickEnds: number): Duration.Duration =>
  quickEnds === 0 ? Duration.zero : Duration.seconds(Math.min(60, 2 ** (quickEnds - 1)))

const watch: Service["watch"] = (runTag) =>
  Effect.gen(function* () {
    const run = yield* FiberSet.makeRuntime<never>()
    const clock = yield* Effect.clock
    const groups = new Set<number>()
    let guard: Guard | undefined
    let state: "unstarted" | "running" | "restarting" | "unavailable" | "closed" = "unstarted"
    let startedAt = 0
    let quickEnds = 0

    const tell = (line: string) => void (guard && inputOf(guard)?.write(`${line}\n`))

    const start = () => {
      state = "running"
      startedAt = clock.unsafeCurrentTimeMillis()
      try {
        const started = launch([runTag, ...Array.from(groups, String)])
        guard = started
        let isOver = false
        const ended = (how: string, isUsable: boolean) => {
          if (isOver) return
          isOver = true
          lose(started, how, isUsable)
        }
        // A lack of descriptors or memory is temporary; a missing shell is not.
        started.once("error", ({ code = "unknown" }: NodeJS.ErrnoException) => ended(code, code !== "ENOENT"))
        started.once("exit", (code, signal) => ended(signal ?? `code ${code}`, code !== unusable))
      } catch (error) {
        lose(undefined, String((error as NodeJS.ErrnoException).code), true)
      }
    }

    const lose = (lost: Guard | undefined, how: string, isUsable: boolean) => {
      if (state === "closed" || guard !== lost) return
      guard = undefined
      if (!isUsable) {
        state = "unavailable"
        run(warn("mcp.guard.unavailable", how))
        return
      }
      state = "restarting"
      const wasQuick = clock.unsafeCurrentTimeMillis() - startedAt < steadyAfter
      const pause = wasQuick ? pauseAfter(quickEnds) : Duration.zero
      quickEnds = wasQuick ? quickEnds + 1 : 0
      run(
        warn("mcp.guard.ended", how).pipe(
          Effect.annotateLogs("retryIn", Duration.toMillis(pause)),
          Effect.zipRight(Effect.delay(restart, pause))
        )
      )
    }

    const restart = Effect.suspend(() => {
      if (state !== "restarting") return Effect.void
      start()
      return guard?.pid === undefined ? Effect.void : Effect.logInfo("mcp.guard.restarted")
    })

    const prepare = () => {
      if (state === "unstarted") start()
    }

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        state = "closed"
        if (guard === undefined) return Effect.void
        const isOrderly = groups.size === 0
        if (isOrderly) tell("bye")
        return end(guard, isOrderly)
      })
    )
    const watching: Watch = {
      prepare,
      started: (group) => {
        groups.add(group)
        tell(`group ${group}`)
      },
      gone: (group) => {
        groups.delete(group)
        tell(`gone ${group}`)
      }
    }
    return watching
  })

const warn = (message: string, how: string) => Effect.annotateLogs(Effect.logWarning(message), "ended", how)

/**
 * Starts the guard process: in its own session, so that no signal to this group or terminal reaches it; without the streams of
 * this process, so that a reader of its output does not wait for the guard; and without the tag of the run, or the guard would
 * end itself.
 */
const launch = (known: ReadonlyArray<string>): Guard => {
  const guard = spawn("/bin/sh", ["-c", guardScript, "mcp-supervisor-guard", ...known], {
    detached: true,
    windowsHide: true,
    cwd: "/",
    env: { PATH: `/usr/bin:/bin:${process.env.PATH ?? ""}`, [variables.guard]: String(process.pid) },
    stdio: ["pipe", "ignore", "ignore"]
  })
  inputOf(guard)?.on("error", () => {})
  inputOf(guard)?.unref()
  guard.unref()
  return guard
}

/**
 * Closes the guard's input. Waits for its exit only after `bye`: otherwise it has processes to end, which takes longer than a
 * shutdown may take.
 */
const end = (guard: Guard, isOrderly: boolean): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (guard.pid === undefined || guard.exitCode !== null || guard.signalCode !== null) return resume(Effect.void)
    guard.once("exit", () => resume(Effect.void))
    guard.stdin.end()
    if (!isOrderly) resume(Effect.void)
  }).pipe(
    withinBudget(byeBudget),
    Effect.map(() => {
      if (isOrderly && guard.pid !== undefined && guard.exitCode === null) guard.kill("SIGKILL")
    })
  )
