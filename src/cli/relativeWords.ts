/**
 * Arguments of a new server that name files where `add` runs. The server may run elsewhere, so they are made absolute.
 */
import { existsSync } from "node:fs"
import { basename, isAbsolute, resolve } from "node:path"

/** Their arguments are for the inside of a container. */
const containers = new Set(["docker", "podman"])

/** How many plain words after the program are names of packages and subcommands, not of files. */
const plainNames: Readonly<Record<string, number>> = {
  npx: 1,
  bunx: 1,
  uvx: 1,
  pnpx: 1,
  npm: 2,
  pnpm: 2,
  yarn: 2,
  bun: 2,
  deno: 2,
  uv: 2,
  pipx: 2
}

export interface Absolute {
  readonly line: ReadonlyArray<string>
  /** What was changed. */
  readonly changes: ReadonlyArray<{ readonly from: string; readonly to: string }>
}

/** The command line with each relative path that exists made absolute. */
export const absoluteLine = (line: ReadonlyArray<string>, cwd: string): Absolute => {
  const [program = "", ...args] = line
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, "")
  if (containers.has(name)) return { line, changes: [] }
  let names = plainNames[name] ?? 0
  const changes: Array<{ readonly from: string; readonly to: string }> = []
  const change = (word: string): string => {
    const to = resolve(cwd, word)
    changes.push({ from: word, to })
    return to
  }
  const isThere = (word: string) => word !== "" && !isAbsolute(word) && existsSync(resolve(cwd, word))
  const first = /[\\/]/.test(program) && isThere(program) ? change(program) : program
  const rest = args.map((word) => {
    if (word.startsWith("-")) return word
    if (/^[^./\\]+$/.test(word) && names > 0) {
      names -= 1
      return word
    }
    return isThere(word) ? change(word) : word
  })
  return { line: [first, ...rest], changes }
}
