/** A separate machine for the built program: an empty home and an empty project. */
import { type ChildProcessByStdio, execFile, spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

export interface Ran {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  readonly ms: number
}

export type Child = ChildProcessByStdio<Writable, Readable, Readable>

export interface Machine {
  readonly directory: string
  readonly project: string
  readonly stateDir: string
  readonly env: NodeJS.ProcessEnv
  readonly spawn: (words: ReadonlyArray<string>) => Promise<Child>
  readonly run: (
    words: ReadonlyArray<string>,
    options?: { readonly input?: string; readonly limit?: number }
  ) => Promise<Ran>
  readonly remove: () => void
}

let built: Promise<string> | undefined

/** The program, built once per process. */
export const bin = (): Promise<string> => {
  built ??= (async () => {
    const directory = mkdtempSync(join(tmpdir(), "mcp-supervisor-bin-"))
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }))
    const script = fileURLToPath(new URL("../../scripts/buildBin.mjs", import.meta.url))
    await promisify(execFile)(process.execPath, [script, join(directory, "bin")])
    return join(directory, "bin", "mcp-supervisor.js")
  })()
  return built
}

/** The directories that are not removed yet. */
const present = new Set<string>()

/** Ends and removes what aborted campaigns left: every process of a machine has its directory in the environment. */
export const endMachines = (): void => {
  for (const directory of present) {
    for (const pid of processesOf(directory)) kill(pid)
    rmSync(directory, { recursive: true, force: true })
  }
  present.clear()
}

/** It may have already exited. */
const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

const processesOf = (directory: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return ["cmdline", "environ"].some((file) => readFileSync(`/proc/${pid}/${file}`, "utf8").includes(directory))
      } catch {
        return false
      }
    })

export const machine = (name: string): Machine => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), `mcp-${name.slice(0, 20)}-`)))
  present.add(directory)
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
    NO_COLOR: "1"
  }
  const begin = async (words: ReadonlyArray<string>): Promise<Child> =>
    spawn(process.execPath, [await bin(), ...words], { cwd: project, env, stdio: ["pipe", "pipe", "pipe"] })
  return {
    directory,
    project,
    stateDir,
    env,
    spawn: begin,
    run: async (words, { input, limit = 60_000 } = {}) => {
      const child = await begin(words)
      const since = performance.now()
      const timer = setTimeout(() => child.kill("SIGKILL"), limit)
      let stdout = ""
      let stderr = ""
      child.stdout.on("data", (part) => (stdout += part))
      child.stderr.on("data", (part) => (stderr += part))
      child.stdin.on("error", () => {})
      child.stdin.end(input ?? "")
      return new Promise((resolve) =>
        child.once("close", (code, signal) => {
          clearTimeout(timer)
          resolve({ code, signal, stdout, stderr, ms: Math.round(performance.now() - since) })
        })
      )
    },
    remove: () => {
      present.delete(directory)
      rmSync(directory, { recursive: true, force: true })
    }
  }
}
