/** Machines of their own for config files: a home, a repository, a state directory, and nothing of the real ones. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { ConfigFiles } from "../../src/index.js"
import type { ConfigHost } from "../../src/config/ConfigHost.js"

export interface Machine {
  readonly root: string
  /** The root of a repository. */
  readonly cwd: string
  readonly home: string
  readonly stateDir: string
  readonly env: Record<string, string>
  /** What is handed to `ConfigFiles`. */
  readonly host: ConfigHost & { readonly env: Record<string, string> }
  /** Writes a file; relative ones lie in the repository. */
  readonly write: (path: string, text: string) => string
  readonly read: (path: string) => string
  readonly globalFile: (ending?: string) => string
}

export const machine: Effect.Effect<Machine, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "config-")))
    const cwd = join(root, "project")
    const home = join(root, "home")
    const stateDir = join(root, "state")
    mkdirSync(join(cwd, ".git"), { recursive: true })
    mkdirSync(home)
    const env: Record<string, string> = { MCP_SUPERVISOR_MANAGED_CONFIG: join(root, "managed.json") }
    const pathOf = (path: string) => (path.startsWith("/") ? path : join(cwd, path))
    return {
      root,
      cwd,
      home,
      stateDir,
      env,
      host: { cwd, home, stateDir, env, platform: "linux" as const },
      write: (path: string, text: string) => {
        mkdirSync(dirname(pathOf(path)), { recursive: true })
        writeFileSync(pathOf(path), text)
        return pathOf(path)
      },
      read: (path: string) => readFileSync(pathOf(path), "utf8"),
      globalFile: (ending = "json") => join(home, ".config", "mcp-supervisor", `config.${ending}`)
    }
  }),
  ({ root }) => Effect.sync(() => rmSync(root, { recursive: true, force: true }))
)

/** A test on a machine of its own, in real time. */
export const onMachine = (
  name: string,
  test: (machine: Machine) => Effect.Effect<unknown, unknown, Scope.Scope>,
  timeout?: number
) => it.live(name, () => Effect.scoped(Effect.flatMap(machine, test)), timeout)

/** What one file means, trusted. */
export const loadFile = (machine: Machine, path: string, text: string) => {
  const file = machine.write(path, text)
  return ConfigFiles.load({ ...machine.host, files: [file] })
}
