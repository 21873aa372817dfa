/**
 * Rewrites relative paths in the command line of a new server, because the server may run in another directory than `add`.
 */
import { existsSync } from "node:fs"
import { basename, isAbsolute, relative, resolve } from "node:path"

/** Programs whose arguments are paths inside a container. */
const containers = new Set(["docker", "podman"])

/** Programs whose first argument is a package. It is a path only if it begins with `./` or `../`. */
const runners = new Set(["npx", "bunx", "pnpx", "uvx"])

/** Whether the value of an option is the name of a module or a package. */
const takesName = (program: string, flag: string): boolean =>
  flag === "-m" ||
  flag === "--module" ||
  (/^(?:npx|bunx|pnpx|uvx?|p?npm|yarn|bun)$/.test(program) && /^(?:-p|--package|--from|--with)$/.test(flag))

/** Whether the value of an option is code. */
const takesCode = (program: string, flag: string): boolean =>
  /^(?:(?:ba|da|z|k|fi)?sh|python[\d.]*|pypy[\d.]*)$/.test(program)
    ? flag === "-c"
    : /^(?:node|bun|deno|perl|ruby)$/.test(program) && /^(?:-e|-p|-pe|--eval|--print)$/.test(flag)

export interface Relocated {
  readonly line: ReadonlyArray<string>
  /** The rewritten words. */
  readonly changes: ReadonlyArray<{ readonly from: string; readonly to: string }>
}

/** The project file that the entry is written to. Both directories are real paths. */
export interface ProjectFile {
  /** The directory to which words that begin with `./` or `../` are relative. */
  readonly directory: string
  /** The directory to which other words are relative: the one in which the server runs. */
  readonly runsIn: string
}

/**
 * Makes each relative path of an existing file absolute. In a project file the path stays relative, because the file is shared
 * with other machines, but becomes relative to the directories of the project file.
 *
 * @param cwd the directory in which `add` runs, as a real path.
 */
export const relocated = (line: ReadonlyArray<string>, cwd: string, project?: ProjectFile): Relocated => {
  const [program = "", ...args] = line
  const name = basename(program).replace(/\.(?:exe|cmd)$/i, "")
  const isHere = project !== undefined && project.directory === cwd && project.runsIn === cwd
  if (containers.has(name) || isHere) return { line, changes: [] }
  const changes: Array<{ readonly from: string; readonly to: string }> = []
  const relocate = (word: string, write: (path: string, project: ProjectFile) => string): string => {
    if (!isPathLike(word) || isAbsolute(word) || !existsSync(resolve(cwd, word))) return word
    const path = resolve(cwd, word)
    const to = project === undefined ? path : write(path, project)
    if (to !== word) changes.push({ from: word, to })
    return to
  }
  let isPackageNext = runners.has(name)
  const first = /[\\/]/.test(program) ? relocate(program, fromFile) : program
  const rest = args.map((word, index) => {
    const before = args[index - 1] ?? ""
    if (takesName(name, before) || takesCode(name, before)) return word
    const [, start, value] = /^(-{1,2}[A-Za-z][\w.-]*=|[A-Za-z_]\w*=)(.+)$/s.exec(word) ?? []
    if (start !== undefined) return start + relocate(value!, fromServer)
    if (word.startsWith("-")) return word
    if (isPackageNext) {
      isPackageNext = false
      if (!isPath.test(word)) return word
    }
    return relocate(word, (path, project) => {
      const inside = fromServer(path, project)
      return isPath.test(inside) && inside !== "." ? fromFile(path, project) : inside
    })
  })
  return { line: [first, ...rest], changes }
}

const isPath = /^\.\.?(?:[\\/]|$)/

const fromServer = (path: string, { runsIn }: ProjectFile): string => relative(runsIn, path) || "."

/** The path relative to the project file, with a beginning that marks it as a path. */
const fromFile = (path: string, { directory }: ProjectFile): string => {
  const found = relative(directory, path)
  if (isAbsolute(found)) return found
  return /(?:^|[\\/])\.\.$/.test(found) ? `${found}/` : isPath.test(found) ? found : `./${found}`
}

/** A word without a slash or a file extension is a name: of a subcommand, a module or a package. */
const isPathLike = (word: string): boolean =>
  /^\.\.?$/.test(word) || /[\\/]/.test(word) || /[^.]\.[A-Za-z][A-Za-z\d]{0,7}$/.test(word)
