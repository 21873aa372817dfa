/**
 * Where a command writes to: data to stdout, everything else to stderr; what moves, only on a terminal.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { type Style, styleFor } from "./style.js"
import { cut, harmless, oneLine, visible } from "./table.js"

export interface Shape {
  /** Data: one or more whole lines. */
  readonly out: (text: string) => Effect.Effect<void>
  /** Exact data. */
  readonly json: (value: unknown) => Effect.Effect<void>
  /** Anything else a person should know. */
  readonly note: (text: string) => Effect.Effect<void>
  /** For stdout. */
  readonly style: Style
  /** For stderr. */
  readonly noteStyle: Style
  /** Columns of the terminal data goes to; absent where it goes elsewhere. */
  readonly width: () => number | undefined
  readonly rows: () => number
  /** Whether somebody can be asked. */
  readonly canAsk: boolean
  /** Says what is waited for, if it takes longer than a moment and somebody watches. */
  readonly busy: <A, E, R>(what: string | (() => string), effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Replaces what was drawn before. Only for a terminal. */
  readonly redraw: (lines: ReadonlyArray<string>) => Effect.Effect<void>
  /** Takes the rest of what was drawn as it is: what comes next is written below. */
  readonly settle: Effect.Effect<void>
  /** Is done once nobody reads what we write. */
  readonly gone: Effect.Effect<void>
}

export class Screen extends Context.Tag("mcp-supervisor/cli/Screen")<Screen, Shape>() {}

/** Before this long, nobody wonders. */
const momentMs = 300
const frameMs = 100
const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"]

/** Nobody may have told the terminal how wide it is: then it says 0. */
const columnsOf = ({ columns }: NodeJS.WriteStream): number => columns || 80

const clearLine = "\r\u001b[2K"

export const make = (streams: Pick<NodeJS.Process, "stdin" | "stdout" | "stderr" | "env">): Effect.Effect<Shape> =>
  Effect.gen(function* () {
    const { env, stderr, stdin, stdout } = streams
    const gone = yield* Deferred.make<void>()
    const ended = () => Deferred.unsafeDone(gone, Effect.void)
    // who reads may stop reading (`| head -1`): that is no fault of anybody
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
      // what goes elsewhere is exact: there is no cursor that it could move
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
