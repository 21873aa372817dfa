/**
 * The config files of other clients, by client and platform.
 */
import { configHome, pathsOf, type Surroundings } from "../ConfigHost.js"

/**
 * A client whose servers can be imported.
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
  /** `private` is the part of a user's file that is about one project. */
  readonly owner: "user" | "private" | "project"
  /** The directory of the project it belongs to; absent for `user`. */
  readonly project?: string | undefined
}

type Where = Pick<Surroundings, "env" | "home" | "platform">

/** All files that a client may have. The last one wins. */
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
        // in the home directory, a file of the user may have the name of a project file
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
  // a relative path would name a directory of the current project
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

/** The directory in which desktop applications store their users' settings. */
const applicationData = (where: Where): string =>
  where.platform === "darwin"
    ? pathsOf(where.platform).join(where.home, "Library", "Application Support")
    : configHome({ ...where, env: where.platform === "win32" ? { APPDATA: where.env.APPDATA } : where.env })
