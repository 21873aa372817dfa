/**
 * The PATH of the user's login shell, for hosts that were started from a desktop and not from a terminal: what nvm, Homebrew
 * or uv add to it stands in files that only a shell reads.
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
  /** The user's shell, as `SHELL` names it. Without one there is no answer. */
  readonly shell: string | undefined
  /** The environment it is started with. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** After this long it is killed. Defaults to 3 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Defaults to that of this process. There is no answer on Windows, which has no such shells. */
  readonly platform?: NodeJS.Platform | undefined
}

/** Files that a shell reads at its start may print a lot, but not that much. */
const maxOutput = 1024 * 1024

/** What keeps plugins of zsh from asking, updating, or running inside of a terminal multiplexer. */
const quiet = { DISABLE_AUTO_UPDATE: "true", ZSH_TMUX_AUTOSTART: "false", ZSH_TMUX_AUTOSTARTED: "true" }

/**
 * Starts the shell as an interactive login shell and asks for its PATH. None if it fails, hangs or says something else: go
 * on with the PATH there is.
 *
 * The shell has no terminal and no input. When this ends, in whatever way, the shell and what it started are gone, except
 * for what left its process group.
 *
 * It takes as long as the user's startup files do, and each run starts the shell anew: keep the answer, for example with
 * `Effect.cached`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const loginPath = (options: Options): Effect.Effect<Option.Option<string>> =>
  Effect.suspend(() => {
    const { env, platform = process.platform, shell, timeout = Duration.seconds(3) } = options
    if (shell === undefined || platform === "win32") return Effect.succeedNone
    // something no startup file prints
    const marker = `mcp-supervisor-${randomUUID()}`
    const start = Effect.try(() =>
      spawn(shell, ["-ilc", `printf '%s%s%s' ${marker} "$PATH" ${marker}`], {
        env: { ...env, ...quiet },
        // its own group, to be killed as a whole
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

/** What a process prints between two markers. Its end is not waited for: it may never come. */
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

/** Ends the group, of which there may be more left than its leader. */
const end = (child: ChildProcessByStdio<null, Readable, null>): void => {
  // what left the group may hold the pipe open for ever
  child.stdout.destroy()
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // nobody is left
  }
}

/** A shell with another syntax may print the question. */
const isPath = (text: string): boolean => text.includes("/") && !/[\0\n]/.test(text)
