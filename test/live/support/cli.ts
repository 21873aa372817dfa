/** The built program, run as people run it. */
import { type ChildProcessWithoutNullStreams, execFile, spawn, spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll } from "vitest"

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

let built: Promise<string> | undefined

/** The program, built once for each process that runs tests. */
export const bin = (): Promise<string> => {
  built ??= (async () => {
    const directory = mkdtempSync(join(tmpdir(), "mcp-supervisor-bin-"))
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
    await promisify(execFile)(process.execPath, [here("../../../scripts/buildBin.mjs"), join(directory, "bin")])
    return join(directory, "bin", "mcp-supervisor.js")
  })()
  return built
}

/** Terminals are made by a program in Python. */
export const hasTerminal = spawnSync("python3", ["--version"]).status === 0

export interface Ran {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

export interface Place {
  readonly directory: string
  readonly project: string
  readonly stateDir: string
  readonly env: NodeJS.ProcessEnv
  readonly run: (words: ReadonlyArray<string>, options?: RunOptions) => Promise<Ran>
  /** The same, as it goes on. */
  readonly begin: (words: ReadonlyArray<string>, options?: RunOptions) => Promise<Begun>
  /** On a terminal: waits for a text, writes another, and so on. */
  readonly onTerminal: (words: ReadonlyArray<string>, steps?: Steps, size?: Size) => Promise<Ran>
  /** The same, as it goes on. What is written to its stdin is typed. */
  readonly beginOnTerminal: (words: ReadonlyArray<string>, steps?: Steps, size?: Size) => Begun
  readonly configure: (servers: Readonly<Record<string, unknown>>, file?: string) => string
  /** Ends whatever was begun here and still goes on. */
  readonly end: () => Promise<unknown>
  readonly remove: () => void
}

type Steps = ReadonlyArray<readonly [string, string]>

interface Size {
  readonly columns: number
  readonly rows: number
  readonly env?: Readonly<Record<string, string>>
}

export interface Begun {
  readonly child: ChildProcessWithoutNullStreams
  /** Resolves with the text when stdout or stderr holds it. */
  readonly said: (text: string | RegExp) => Promise<string>
  readonly ended: Promise<Ran>
}

export const server = (file: string) => ({ command: process.execPath, args: [here(file)] })
export const notes = server("./cliServer.mjs")
export const greet = server("../../../examples/servers/greet.mjs")

/** A machine of its own: a home, a project, nothing in either. */
export const place = async (): Promise<Place> => {
  const program = await bin()
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "mcp-cli-")))
  const project = join(directory, "project")
  const stateDir = join(directory, "data", "mcp-supervisor")
  mkdirSync(project)
  const { NODE_EXTRA_CA_CERTS: _, ...inherited } = process.env
  const env = {
    ...inherited,
    HOME: directory,
    XDG_CONFIG_HOME: join(directory, "config"),
    XDG_DATA_HOME: join(directory, "data"),
    MCP_SUPERVISOR_MANAGED_CONFIG: join(directory, "managed.json"),
    TERM: "xterm-256color"
  }
  const begun = new Set<Begun>()
  const kept = (one: Begun): Begun => {
    begun.add(one)
    void one.ended.then(() => begun.delete(one))
    return one
  }
  const begin = async (words: ReadonlyArray<string>, options: RunOptions = {}): Promise<Begun> => {
    const child = spawn(process.execPath, [program, ...words], {
      cwd: options.cwd ?? project,
      env: { ...env, ...options.env }
    })
    return kept(follow(child, options.input))
  }
  const beginOnTerminal: Place["beginOnTerminal"] = (
    words,
    steps = [],
    { columns, rows, env: more } = { columns: 80, rows: 24 }
  ) => {
    const fixture = [here("./terminal.py"), String(columns), String(rows), JSON.stringify(steps)]
    const child = spawn("python3", [...fixture, process.execPath, program, ...words], {
      cwd: project,
      env: { ...env, ...more }
    })
    return kept(follow(child, undefined))
  }
  return {
    directory,
    project,
    stateDir,
    env,
    begin,
    run: async (words, options) => (await begin(words, options)).ended,
    onTerminal: async (words, steps, size) => beginOnTerminal(words, steps, size).ended,
    beginOnTerminal,
    configure: (servers, file = "config/mcp-supervisor/config.json") => {
      const path = join(directory, file)
      mkdirSync(join(path, ".."), { recursive: true })
      writeFileSync(path, JSON.stringify({ mcp: servers }, undefined, 2))
      return path
    },
    end: () =>
      Promise.all(
        Array.from(begun, ({ child, ended }) => {
          child.kill("SIGTERM")
          const last = setTimeout(() => child.kill("SIGKILL"), 15_000)
          return ended.then(() => clearTimeout(last))
        })
      ),
    remove: () => rmSync(directory, { recursive: true, force: true })
  }
}

/** Places for the tests of one file. After the last of them, nothing runs there any more, and nothing is left. */
export const places = (): (() => Promise<Place>) => {
  const made: Array<Place> = []
  beforeAll(async () => void (await bin()))
  afterAll(async () => {
    const inUse = made.filter(({ stateDir }) => existsSync(join(stateDir, "daemon.json")))
    const stops = await Promise.all(inUse.map((each) => each.run(["stop"])))
    await Promise.all(made.map((each) => each.end()))
    for (const each of made) each.remove()
    for (const { code, stderr } of stops) assert.strictEqual(code, 0, stderr)
  })
  return async () => {
    const here = await place()
    made.push(here)
    return here
  }
}

const follow = (child: ChildProcessWithoutNullStreams, input: string | undefined): Begun => {
  let stdout = ""
  let stderr = ""
  const listeners = new Set<() => void>()
  const tell = () => {
    for (const listener of listeners) listener()
  }
  child.stdout.on("data", (chunk) => {
    stdout += chunk
    tell()
  })
  child.stderr.on("data", (chunk) => {
    stderr += chunk
    tell()
  })
  child.stdin.on("error", () => {})
  if (input !== undefined) child.stdin.end(input)
  const ended = new Promise<Ran>((resolve) => child.once("close", (code) => resolve({ code, stdout, stderr })))
  return {
    child,
    ended,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const all = `${stdout}\n${stderr}`
          const found = typeof text === "string" ? (all.includes(text) ? text : undefined) : text.exec(all)?.[0]
          if (found === undefined) return
          listeners.delete(look)
          resolve(found)
        }
        listeners.add(look)
        look()
        void ended.then(() => reject(new Error(`it ended without "${text}": ${stdout}${stderr}`)))
      })
  }
}
