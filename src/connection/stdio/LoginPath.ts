/**
 * Reads the PATH of the user's login shell, for hosts that were started from a desktop and not from a terminal. nvm, Homebrew
 * or uv extend the PATH in files that only a shell reads.
 *
 * @since 0.1.0
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import type { Readable } from "node:stream"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The user's shell, as in `SHELL`. Without it the result is none. */
  readonly shell: string | undefined
  /** The environment of the shell. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** The shell is killed after this time. Defaults to 3 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Defaults to the platform of this process. On Windows, which has no such shells, the result is none. */
  readonly platform?: NodeJS.Platform | undefined
}

/** The maximum output in characters. Startup files may print a lot, but not that much. */
const maxOutput = 1024 * 1024

/** Keeps zsh plugins from prompting, updating, or starting a terminal multiplexer. */
const quiet = { DISABLE_AUTO_UPDATE: "true", ZSH_TMUX_AUTOSTART: "false", ZSH_TMUX_AUTOSTARTED: "true" }

/**
 * Starts the shell as an interactive login shell and reads its PATH. None if the shell fails, hangs or prints something else:
 * use the current PATH then.
 *
 * The shell has no terminal and no input. When the effect ends, in whatever way, the shell and its process group are killed;
 * processes that left the group are not.
 *
 * It takes as long as the user's startup files, and each run starts the shell again: cache the result, for example with
 * `Effect.cached`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const loginPath = (options: Options): Effect.Effect<Option.Option<string>> =>
  Effect.suspend(() => {
    const { env, platform = process.platform, shell, timeout = Duration.seconds(3) } = options
    if (shell === undefined || platform === "win32") return Effect.succeedNone
    // A text that no startup file prints.
    const marker = `mcp-supervisor-${randomUUID()}`
    const start = Effect.try(() =>
      spawn(shell, ["-ilc", `printf '%s%s%s' ${marker} "$PATH" ${marker}`], {
        env: { ...env, ...quiet },
        // A process group of its own can be killed as a whole.
        detached: true,
        windowsHide: true,
        stdio: ["ignore", "pipe", "ignore"]
      })
    )
    return Effect.acquireUseRelease(
      start,
      (shell) => Effect.timeout(between(marker, shell), timeout),
      (shell) => Effect.sync(() => end(shell))
    ).pipe(Effect.option, Effect.map(Option.filter(isPath)))
  })

/** The text that a process prints between two markers. Does not wait for its exit, which may never come. */
const between = (marker: string, child: ChildProcessByStdio<null, Readable, null>) =>
  Effect.async<string, "no answer">((resume) => {
    const fail = () => resume(Effect.fail("no answer"))
    let output = ""
    child.on("error", fail)
    child.on("close", fail)
    child.stdout.on("error", fail)
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      const to = output.lastIndexOf(marker)
      const from = output.lastIndexOf(marker, to - 1)
      if (from !== -1 && from < to) resume(Effect.succeed(output.slice(from + marker.length, to)))
      else if (output.length > maxOutput) fail()
    })
  })

/** Kills the whole group; members may outlive the leader. */
const end = (child: ChildProcessByStdio<null, Readable, null>): void => {
  // A process that left the group may hold the pipe open forever.
  child.stdout.destroy()
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // The group has already ended.
  }
}

/** Whether the text is a PATH. A shell with a different syntax may print the command itself. */
const isPath = (text: string): boolean => text.includes("/") && !/[\0\n]/.test(text)
