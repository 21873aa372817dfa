/**
 * Writes the output of commands: data to stdout, everything else to stderr, and moving parts only to a terminal.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Style, styleFor } from "./style.js"
import { cut, harmless, oneLine, visible } from "./table.js"

export interface Shape {
  /** Writes data: one or more whole lines. */
  readonly out: (text: string) => Effect.Effect<void>
  /** Writes a value as JSON. */
  readonly json: (value: unknown) => Effect.Effect<void>
  /** Writes a message for people. */
  readonly note: (text: string) => Effect.Effect<void>
  /** The style of stdout. */
  readonly style: Style
  /** The style of stderr. */
  readonly noteStyle: Style
  /** The columns of the terminal that stdout is, or `undefined` if stdout is no terminal. */
  readonly width: () => number | undefined
  readonly rows: () => number
  /** Whether a question can be asked: stdin and stderr are terminals. */
  readonly canAsk: boolean
  /** Shows on a terminal what the effect is doing, if it takes longer than a moment. */
  readonly busy: <A, E, R>(what: string | (() => string), effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Replaces the lines of the previous `redraw`. Only for a terminal. */
  readonly redraw: (lines: ReadonlyArray<string>) => Effect.Effect<void>
  /** Keeps the lines of the last `redraw`. Later output is written below them. */
  readonly settle: Effect.Effect<void>
  /** Completes when stdout has lost its reader. */
  readonly gone: Effect.Effect<void>
}

export class Screen extends Context.Tag("mcp-supervisor/cli/Screen")<Screen, Shape>() {}

/** How long an effect may take before its progress is shown. */
const momentMs = 300
const frameMs = 100
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

/** A terminal whose size was never set reports 0 columns. */
const columnsOf = ({ columns }: NodeJS.WriteStream): number => columns || 80

const clearLine = "\r\u001b[2K"

export const make = (streams: Pick<NodeJS.Process, "stdin" | "stdout" | "stderr" | "env">): Effect.Effect<Shape> =>
  Effect.gen(function* () {
    const { env, stderr, stdin, stdout } = streams
    const gone = yield* Deferred.make<void>()
    const ended = () => Deferred.unsafeDone(gone, Effect.void)
    // A reader that closes the pipe, such as `head -1`, is not a failure.
    stdout.on("error", ended)
    stderr.on("error", () => {})
    const write = (stream: NodeJS.WriteStream, text: string): Effect.Effect<void> =>
      Effect.async((resume) => {
        if (!stream.writable || stream.write(text)) return resume(Effect.void)
        const done = () => {
          stream.off("drain", done).off("error", done)
          resume(Effect.void)
        }
        stream.once("drain", done).once("error", done)
        return Effect.sync(() => void stream.off("drain", done).off("error", done))
      })
    const style = styleFor(stdout.isTTY, env)
    const noteStyle = styleFor(stderr.isTTY, env)
    let drawn = 0

    const busy: Shape["busy"] = (what, effect) =>
      stderr.isTTY && env.TERM !== "dumb"
        ? Effect.acquireUseRelease(
            Effect.fork(spin(typeof what === "string" ? () => what : what)),
            () => effect,
            Fiber.interrupt
          )
        : effect

    const spin = (what: () => string) =>
      Effect.gen(function* () {
        const from = yield* Clock.currentTimeMillis
        for (let frame = 0; ; frame++) {
          const seconds = Math.floor(((yield* Clock.currentTimeMillis) - from + momentMs) / 1000)
          const text = `${frames[frame % frames.length]} ${oneLine(what())}${seconds > 1 ? ` ${seconds} s` : ""}`
          yield* write(stderr, `${clearLine}${noteStyle.dim(cut(text, columnsOf(stderr) - 1))}`)
          yield* Effect.sleep(frameMs)
        }
      }).pipe(
        Effect.onInterrupt(() => write(stderr, clearLine)),
        Effect.delay(momentMs),
        Effect.interruptible
      )

    return {
      // Only a terminal interprets control characters. Other readers get the text unchanged.
      out: (text) => write(stdout, `${stdout.isTTY ? harmless(text, style) : text}\n`),
      json: (value) =>
        write(stdout, stdout.isTTY ? `${visible(JSON.stringify(value, null, 2))}\n` : `${JSON.stringify(value)}\n`),
      note: (text) => write(stderr, `${harmless(text, noteStyle)}\n`),
      style,
      noteStyle,
      width: () => (stdout.isTTY ? columnsOf(stdout) : undefined),
      rows: () => stdout.rows || 24,
      canAsk: stdin.isTTY && stderr.isTTY,
      busy,
      redraw: (lines) =>
        Effect.suspend(() => {
          const up = drawn > 0 ? `\u001b[${drawn}A\r` : ""
          drawn = lines.length
          return write(stdout, `${up}${lines.map((line) => `\u001b[2K${line}\n`).join("")}\u001b[J`)
        }),
      settle: Effect.sync(() => {
        drawn = 0
      }),
      gone: Deferred.await(gone)
    }
  })
