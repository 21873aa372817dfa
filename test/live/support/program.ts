/** Runs test programs in separate processes. */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { Effect, type Scope } from "effect"
import { bundle } from "./bundle.js"

export interface Program {
  readonly child: ChildProcessByStdio<null, Readable, Readable>
  readonly lines: Array<string>
  readonly errors: () => string
  /** The first later line that matches; dies if the program exits before. */
  readonly line: (matches: (line: string) => boolean) => Effect.Effect<string>
  readonly exit: Effect.Effect<number | null>
}

export const program = (file: string, ...args: ReadonlyArray<string>): Effect.Effect<Program, never, Scope.Scope> =>
  programWith([], file, ...args)

/** @param flags are flags of Node.js. */
export const programWith = (
  flags: ReadonlyArray<string>,
  file: string,
  ...args: ReadonlyArray<string>
): Effect.Effect<Program, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => bundle(file)).pipe(
      Effect.map((path): Program => {
        const child = spawn(process.execPath, [...flags, path, ...args], { stdio: ["ignore", "pipe", "pipe"] })
        const lines: Array<string> = []
        const errors: Array<Buffer> = []
        const reader = createInterface(child.stdout)
        reader.on("line", (line) => void lines.push(line))
        child.stderr.on("data", (chunk: Buffer) => void errors.push(chunk))
        const texts = () => Buffer.concat(errors).toString()
        const exited = new Promise<number | null>((resolve) => child.once("close", resolve))
        return {
          child,
          lines,
          errors: texts,
          line: (matches) =>
            Effect.async((resume) => {
              const there = lines.find(matches)
              if (there !== undefined) return resume(Effect.succeed(there))
              reader.on("line", (line) => {
                if (matches(line)) resume(Effect.succeed(line))
              })
              void exited.then(() => resume(Effect.dieMessage(`it ended: ${texts()}`)))
            }),
          exit: Effect.promise(() => exited)
        }
      })
    ),
    ({ child }) =>
      Effect.sync(() => {
        child.kill("SIGCONT")
        child.kill("SIGKILL")
      })
  )
