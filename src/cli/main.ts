/**
 * What runs first. Help, the version and completions need nothing but the words, and a list from a running supervisor one
 * request: for those, nothing else is loaded. Everything else is `program.ts`.
 */
import { statSync } from "node:fs"
import { isAbsolute } from "node:path"
import { excerpt } from "../domain/internal/excerpt.js"
import { version } from "../domain/internal/version.js"
import { script, shells } from "./words/completionScripts.js"
import { overview, page, usageOf } from "./words/help.js"
import { exit } from "./terminal/exit.js"
import { parse } from "./words/parseWords.js"
import { specs } from "./words/specs.js"
import { styleFor } from "./terminal/style.js"

export const main = async (words: ReadonlyArray<string>): Promise<void> => {
  let failure: string | undefined
  process.stdout.on("error", ({ code = "unknown" }: NodeJS.ErrnoException) => {
    // who reads may stop reading: that is no fault of anybody
    if (code !== "EPIPE") failure = code
  })
  process.stderr.on("error", () => {})
  const code = await codeOf(words)
  // on some systems what goes into a pipe is still on its way
  await Promise.all([written(process.stdout), written(process.stderr)])
  // whoever is ended by a signal has nothing more to say
  if (failure === undefined || code > 128) return exit(code)
  process.stderr.write(`error: what was found could not be written (${failure})\n`)
  exit(1)
}

const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => (stream.writable ? stream.write("", () => resolve()) : resolve()))

const codeOf = async (words: ReadonlyArray<string>): Promise<number> => {
  const { stderr, stdout } = process
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
    case "Wrong": {
      const style = styleFor(stderr.isTTY, process.env)
      const spec = specs.find(({ name }) => name === parsed.command)
      const usage = spec === undefined ? "<command> [options]" : usageOf(spec)
      const more = `mcp-supervisor ${spec === undefined ? "" : `${spec.name} `}--help`
      stderr.write(`${style.bad("error:")} ${parsed.message}\nusage: mcp-supervisor ${usage}\nmore:  ${more}\n`)
      return 2
    }
    case "Run": {
      const { command, input } = parsed
      if (command === "completions") {
        const shell = shells.find((each) => each === input.shell)!
        const text = script(shell, specs)
        stdout.write(input.json === true ? `${JSON.stringify({ shell, script: text })}\n` : text)
        return 0
      }
      if (typeof input.cwd === "string" && !isDirectory(input.cwd)) {
        stderr.write(
          `${styleFor(stderr.isTTY, process.env).bad("error:")} --cwd ${excerpt(input.cwd)}: there is no such directory\n`
        )
        return 2
      }
      if (input.cwd === undefined && !hasWorkingDirectory()) {
        const advice = "change to a directory that exists, or give --cwd DIR"
        stderr.write(
          `${styleFor(stderr.isTTY, process.env).bad("error:")} the working directory was removed; ${advice}\n`
        )
        return 1
      }
      for (const name of absoluteVariables) {
        const value = process.env[name] ?? ""
        if (value === "" || isAbsolute(value)) continue
        stderr.write(`${name} is ignored because it is not an absolute path: ${JSON.stringify(excerpt(value))}\n`)
      }
      const body = command === "list" && input.json === true ? await quickList(input) : undefined
      if (body !== undefined) {
        stdout.write(`${stdout.isTTY ? JSON.stringify(JSON.parse(body), null, 2) : body}\n`)
        return 0
      }
      const program = await import("./program.js")
      return program.run(command, input)
    }
  }
}

/** Variables that name a directory, and that count only if they are absolute. */
const absoluteVariables = ["MCP_SUPERVISOR_STATE_DIR", ...(process.platform === "win32" ? [] : ["HOME"])]

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

const quickList = async (input: Readonly<Record<string, unknown>>): Promise<string | undefined> => {
  const { listed } = await import("./quickList.js")
  return listed(input)
}
