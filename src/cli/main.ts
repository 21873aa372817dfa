/**
 * Runs the command line. Help, the version, completion scripts and usage errors need nothing but this file and the specs, and
 * `list --json` of a running supervisor needs one request. Everything else loads `program.ts`.
 */
import { statSync } from "node:fs"
import { isAbsolute } from "node:path"
import { excerpt } from "../domain/internal/excerpt.js"
import { version } from "../domain/internal/version.js"
import { variables } from "../system/environment.js"
import { script, shells } from "./words/completionScripts.js"
import { overview, page, usageOf } from "./words/help.js"
import { exit } from "./terminal/exit.js"
import { type ParsedInput, parse } from "./words/parseWords.js"
import { specs } from "./words/specs.js"
import { styleFor } from "./terminal/style.js"

export const main = async (words: ReadonlyArray<string>): Promise<void> => {
  let failure: string | undefined
  process.stdout.on("error", ({ code = "unknown" }: NodeJS.ErrnoException) => {
    // A reader that closes the pipe, such as `head -1`, is not a failure.
    if (code !== "EPIPE") failure = code
  })
  process.stderr.on("error", () => {})
  const code = await exitCode(words)
  // On some systems, writes to a pipe are asynchronous.
  await Promise.all([flushed(process.stdout), flushed(process.stderr)])
  // A command that a signal ended reports nothing more.
  if (failure === undefined || code > 128) return exit(code)
  process.stderr.write(`error: the output could not be written (${failure})\n`)
  exit(1)
}

const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => (stream.writable ? stream.write("", () => resolve()) : resolve()))

const exitCode = async (words: ReadonlyArray<string>): Promise<number> => {
  const { stdout } = process
  const parsed = parse(specs, words)
  switch (parsed._tag) {
    case "Help": {
      const style = styleFor(stdout.isTTY, process.env)
      const width = Math.min(stdout.columns || 100, 120)
      const spec = specs.find(({ name }) => name === parsed.command)
      stdout.write(`${spec === undefined ? overview(specs, style, width) : page(spec, style, width)}\n`)
      return 0
    }
    case "Version":
      stdout.write(`${version}\n`)
      return 0
    case "Invalid": {
      const spec = specs.find(({ name }) => name === parsed.command)
      const usage = spec === undefined ? "<command> [options]" : usageOf(spec)
      const more = `mcp-supervisor ${spec === undefined ? "" : `${spec.name} `}--help`
      return failed(2, `${parsed.message}\nusage: mcp-supervisor ${usage}\nmore:  ${more}`)
    }
    case "Run": {
      const { command, input } = parsed
      if (command === "completions") {
        const shell = shells.find((each) => each === input.shell)!
        const text = script(shell, specs)
        stdout.write(input.json ? `${JSON.stringify({ shell, script: text })}\n` : text)
        return 0
      }
      if (input.cwd !== undefined && !isDirectory(input.cwd)) {
        return failed(2, `--cwd ${excerpt(input.cwd)}: no such directory`)
      }
      if (input.cwd === undefined && !hasWorkingDirectory()) {
        return failed(1, "the working directory was removed; change to an existing directory, or use --cwd DIR")
      }
      for (const name of absoluteVariables) {
        const value = process.env[name] ?? ""
        if (value === "" || isAbsolute(value)) continue
        process.stderr.write(
          `${name} is ignored because it is not an absolute path: ${JSON.stringify(excerpt(value))}\n`
        )
      }
      const body = command === "list" && input.json ? await quickList(input) : undefined
      if (body !== undefined) {
        stdout.write(`${stdout.isTTY ? JSON.stringify(JSON.parse(body), null, 2) : body}\n`)
        return 0
      }
      const program = await import("./program.js")
      return program.run(command, input)
    }
  }
}

const failed = (code: number, message: string): number => {
  process.stderr.write(`${styleFor(process.stderr.isTTY, process.env).bad("error:")} ${message}\n`)
  return code
}

/** Variables that name a directory. A relative path is ignored with a warning. */
const absoluteVariables = [variables.stateDir, ...(process.platform === "win32" ? [] : ["HOME"])]

const hasWorkingDirectory = (): boolean => {
  try {
    process.cwd()
    return true
  } catch {
    return false
  }
}

const isDirectory = (path: string): boolean => {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

const quickList = async (input: ParsedInput): Promise<string | undefined> => {
  const { listed } = await import("./quickList.js")
  return listed(input)
}
