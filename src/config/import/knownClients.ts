/**
 * Where other clients keep their servers.
 */
import { configHome, pathsOf, type Surroundings } from "../ConfigHost.js"

/**
 * A program whose servers can be taken over.
 *
 * @since 0.1.0
 * @category models
 */
export type Client =
  | "opencode"
  | "claude-desktop"
  | "claude-code"
  | "cursor"
  | "vscode"
  | "windsurf"
  | "gemini"
  | "codex"

/**
 * @since 0.1.0
 * @category constants
 */
export const knownClients: ReadonlyArray<Client> = [
  "opencode",
  "claude-desktop",
  "claude-code",
  "cursor",
  "vscode",
  "windsurf",
  "gemini",
  "codex"
]

export interface ClientFile {
  readonly path: string
  /** `private` is what a file of the user's says about one project. */
  readonly owner: "user" | "private" | "project"
  /** The directory of the project it belongs to; absent for `user`. */
  readonly project?: string | undefined
}

type Where = Pick<Surroundings, "env" | "home" | "platform">

/** All files there may be, the one that wins last. */
export const clientFiles = (
  client: Client,
  where: Where,
  /** The directories of the project, from its root down. */
  project: ReadonlyArray<string>
): ReadonlyArray<ClientFile> => {
  const { join } = pathsOf(where.platform)
  const own = userFiles(client, where)
  return [
    ...own.map((path) => ({ path, owner: "user" as const })),
    ...project.flatMap((directory) =>
      projectFiles[client]
        .map((file) => join(directory, ...file.split("/")))
        // in the home, a file of the user's may be named like one of a project
        .filter((path) => !own.includes(path))
        .map((path) => ({ path, owner: "project" as const, project: directory }))
    )
  ]
}

const projectFiles: Readonly<Record<Client, ReadonlyArray<string>>> = {
  opencode: [
    "opencode.json",
    "opencode.jsonc",
    ".opencode/config.json",
    ".opencode/config.toml",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc"
  ],
  "claude-desktop": [],
  "claude-code": [".mcp.json"],
  cursor: [".cursor/mcp.json"],
  vscode: [".vscode/settings.json", ".vscode/mcp.json"],
  windsurf: [],
  gemini: [".gemini/settings.json"],
  codex: [".codex/config.toml"]
}

const userFiles = (client: Client, where: Where): ReadonlyArray<string> => {
  const { env, home, platform } = where
  const { isAbsolute, join } = pathsOf(platform)
  // a relative one would name a directory of the project we are in
  const given = (name: string): string | undefined => (isAbsolute(env[name] ?? "") ? env[name] : undefined)
  const inHome = (...parts: ReadonlyArray<string>) => [join(home, ...parts)]
  switch (client) {
    case "opencode": {
      const directory = join(given("XDG_CONFIG_HOME") ?? join(home, ".config"), "opencode")
      return ["config.json", "opencode.json", "opencode.jsonc"].map((file) => join(directory, file))
    }
    case "claude-desktop":
      return [join(applicationData(where), "Claude", "claude_desktop_config.json")]
    case "claude-code":
      return [join(given("CLAUDE_CONFIG_DIR") ?? home, ".claude.json")]
    case "cursor":
      return inHome(".cursor", "mcp.json")
    case "vscode":
      return ["Code", "Code - Insiders"].flatMap((edition) =>
        ["settings.json", "mcp.json"].map((file) => join(applicationData(where), edition, "User", file))
      )
    case "windsurf":
      return inHome(".codeium", "windsurf", "mcp_config.json")
    case "gemini":
      return inHome(".gemini", "settings.json")
    case "codex":
      return [join(given("CODEX_HOME") ?? join(home, ".codex"), "config.toml")]
  }
}

/** Where programs with windows keep the settings of their users. */
const applicationData = (where: Where): string =>
  where.platform === "darwin"
    ? pathsOf(where.platform).join(where.home, "Library", "Application Support")
    : configHome({ ...where, env: where.platform === "win32" ? { APPDATA: where.env.APPDATA } : where.env })
