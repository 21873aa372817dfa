/**
 * The end of our process.
 */
import { isatty } from "node:tty"

/** Asked while it is there: of a terminal that is gone, nobody knows that it was one. */
const isOnTerminal = [0, 1, 2].some(isatty)

/** With which we end when the terminal goes. */
const hungUp = 129

/**
 * Exits. Node resets its terminal last of all, and crashes where that is gone: then the signal that said so ends us instead,
 * after everything else that is done at an exit.
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
