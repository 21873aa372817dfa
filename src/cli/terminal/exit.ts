/**
 * Ends the process with an exit code.
 */
import { isatty } from "node:tty"

/** Checked at the start, because a closed terminal is no longer recognised as one. */
const isOnTerminal = [0, 1, 2].some(isatty)

/** The exit code after SIGHUP, which is sent when the terminal is closed. */
const hungUp = 129

/**
 * Exits. The last thing that Node does is to reset the terminal, and it crashes if the terminal is gone. In this case the process
 * ends itself with SIGHUP, after all other exit handlers.
 */
export const exit = (code: number): void => {
  if (code === hungUp && isOnTerminal) {
    process.once("exit", () => {
      process.removeAllListeners("SIGHUP")
      process.kill(process.pid, "SIGHUP")
    })
  }
  process.exit(code)
}
