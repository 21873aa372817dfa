/**
 * Asks questions on the terminal. They are written to stderr, because stdout is for data.
 */
import { createInterface } from "node:readline/promises"
import * as Effect from "effect/Effect"
import { CommandFailed } from "../failure.js"

export interface Question {
  readonly text: string
  /** The result of an empty answer. Without a preset, the question is repeated. */
  readonly preset?: string | undefined
  /** Returns what is wrong with an answer, or `undefined` if it is valid. */
  readonly check?: ((answer: string) => string | undefined) | undefined
}

export const ask = ({ check, preset, text }: Question): Effect.Effect<string, CommandFailed> =>
  Effect.gen(function* () {
    const prompt = `${text}${preset === undefined || preset === "" ? "" : ` (${preset})`}: `
    while (true) {
      const answer = (yield* line(prompt)).trim() || preset
      if (answer === undefined) continue
      const wrong = check?.(answer)
      if (wrong === undefined) return answer
      process.stderr.write(`${wrong}\n`)
    }
  })

const line = (prompt: string): Effect.Effect<string, CommandFailed> =>
  Effect.async((resume) => {
    const reader = createInterface({ input: process.stdin, output: process.stderr, terminal: true })
    // While a question is open, Ctrl-C is a key and sends no signal.
    reader.once("SIGINT", () => process.kill(process.pid, "SIGINT"))
    reader.once("close", () => resume(Effect.fail(new CommandFailed({ message: "nothing was changed" }))))
    reader.question(prompt).then(
      (answer) => {
        resume(Effect.succeed(answer))
        reader.close()
      },
      () => {}
    )
    return Effect.sync(() => reader.close())
  })
