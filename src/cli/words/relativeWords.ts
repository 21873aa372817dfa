/**
 * Words of a new server's command line that are paths, seen from where `add` runs. The server may run elsewhere.
 */
import { existsSync } from "node:fs"
import { basename, isAbsolute, relative, resolve } from "node:path"

/** Their arguments are for the inside of a container. */
const containers = new Set(["docker", "podman"])

/** Their first word is a package. It is a path only if it begins like one. */
const runners = new Set(["npx", "bunx", "pnpx", "uvx"])

/** Whether what stands behind an option is a name: of a module, or for these programs of a package. */
const takesName = (program: string, flag: string): boolean =>
  flag === "-m" ||
  flag === "--module" ||
  (/^(?:npx|bunx|pnpx|uvx?|p?npm|yarn|bun)$/.test(program) && /^(?:-p|--package|--from|--with)$/.test(flag))

/** Whether what stands behind an option is code. */
const takesCode = (program: string, flag: string): boolean =>
  /^(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|pypy[\d.]*)$/.test(program)
    ? flag === "-c"
    : /^(?:node|bun|deno|perl|ruby)$/.test(program) && /^(?:-e|-p|-pe|--eval|--print)$/.test(flag)

export interface Placed {
  readonly line: ReadonlyArray<string>
  /** What was changed. */
  readonly changes: ReadonlyArray<{ readonly from: string; readonly to: string }>
}

/** A project's file that the entry is written to. Both are real paths. */
export interface Home {
  /** Words that begin with `./` or `../` are seen from here. */
  readonly directory: string
  /** Everything else is seen from here. */
  readonly runsIn: string
}

/**
 * The command line with each relative path that exists made absolute. In a project's file they stay relative, because the file
 * is shared with other machines: they are written as seen from there.
 *
 * @param cwd a real path.
 */
export const placedLine = (line: ReadonlyArray<string>, cwd: string, home?: Home): Placed => {
  const [program = "", ...args] = line
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, "")
  const isHere = home !== undefined && home.directory === cwd && home.runsIn === cwd
  if (containers.has(name) || isHere) return { line, changes: [] }
  const changes: Array<{ readonly from: string; readonly to: string }> = []
  const placed = (word: string, write: (path: string, home: Home) => string): string => {
    if (!isPathLike(word) || isAbsolute(word) || !existsSync(resolve(cwd, word))) return word
    const path = resolve(cwd, word)
    const to = home === undefined ? path : write(path, home)
    if (to !== word) changes.push({ from: word, to })
    return to
  }
  let isPackageNext = runners.has(name)
  const first = /[\\/]/.test(program) ? placed(program, fromFile) : program
  const rest = args.map((word, index) => {
    const before = args[index - 1] ?? ""
    if (takesName(name, before) || takesCode(name, before)) return word
    const [, start, value] = /^(-{1,2}[A-Za-z][\w.-]*=|[A-Za-z_]\w*=)(.+)$/s.exec(word) ?? []
    if (start !== undefined) return start + placed(value!, fromServer)
    if (word.startsWith("-")) return word
    if (isPackageNext) {
      isPackageNext = false
      if (!isPath.test(word)) return word
    }
    return placed(word, (path, home) => {
      const inside = fromServer(path, home)
      return isPath.test(inside) && inside !== "." ? fromFile(path, home) : inside
    })
  })
  return { line: [first, ...rest], changes }
}

const isPath = /^\.\.?(?:[\\/]|$)/

const fromServer = (path: string, { runsIn }: Home): string => relative(runsIn, path) || "."

/** Begins so that it is taken for a path. */
const fromFile = (path: string, { directory }: Home): string => {
  const found = relative(directory, path)
  if (isAbsolute(found)) return found
  return /(?:^|[\\/])\.\.$/.test(found) ? `${found}/` : isPath.test(found) ? found : `./${found}`
}

/** A bare word is a name/** A bare word is a name: of a subcommand, a module, a package. */
const isPathLike = (word: string): boolean =>
  /^\.\.?$/.test(word) || /[\\/]/.test(word) || /[^.]\.[A-Za-z][A-Za-z\d]{0,7}$/.test(word)
