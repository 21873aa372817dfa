/**
 * Decides how the process of a local server is started and ended. This covers environment, spawn options, kill command and
 * error reasons. The functions are pure; facts about the host are parameters.
 *
 * @since 0.1.0
 */
import type { SpawnOptionsWithStdioTuple, StdioPipe } from "node:child_process"
import type { SpawnFailed } from "../../domain/Errors.js"
import * as Secrets from "../../domain/Secrets.js"
import type { Local } from "../../domain/server/ServerConfig.js"
import { variables } from "../../system/environment.js"

/**
 * Facts about the machine and the current process.
 *
 * @since 0.1.0
 * @category models
 */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** The PATH of the user's login shell. Defaults to the PATH of `env`. */
  readonly path?: string | undefined
}

/**
 * The variables of the host that every server inherits, in addition to those whose names begin with `LC_`. No other variable is
 * inherited: the host's environment holds secrets that servers must not see.
 *
 * The proxy variables are included because many servers reach nothing without them; they may hold the proxy's password.
 *
 * @since 0.1.0
 * @category constants
 */
export const inherited: ReadonlySet<string> = new Set([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "TERM",
  "LANG",
  "LANGUAGE",
  "TZ",
  "TMPDIR",
  "TMP",
  "TEMP",
  "XDG_BIN_HOME",
  "XDG_CACHE_HOME",
  "XDG_CONFIG_DIRS",
  "XDG_CONFIG_HOME",
  "XDG_DATA_DIRS",
  "XDG_DATA_HOME",
  "XDG_RUNTIME_DIR",
  "XDG_STATE_HOME",
  "ALL_PROXY",
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "all_proxy",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "CURL_CA_BUNDLE",
  "NODE_EXTRA_CA_CERTS",
  "REQUESTS_CA_BUNDLE",
  "SSL_CERT_DIR",
  "SSL_CERT_FILE"
])

/**
 * The variables that every server inherits on Windows in addition. Names are case-insensitive there.
 *
 * @since 0.1.0
 * @category constants
 */
export const inheritedOnWindows: ReadonlySet<string> = new Set([
  "APPDATA",
  "COMSPEC",
  "HOMEDRIVE",
  "HOMEPATH",
  "LOCALAPPDATA",
  "PATHEXT",
  "PROCESSOR_ARCHITECTURE",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PROGRAMFILES(X86)",
  "SYSTEMDRIVE",
  "SYSTEMROOT",
  "USERNAME",
  "USERPROFILE",
  "WINDIR"
])

/**
 * The mark of a server's process and all its descendants.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tag {
  /** The run of the supervisor: random, so that no other process carries it. */
  readonly run: string
  /** The number of this start. */
  readonly child: string
}

/**
 * The whole environment of a server's process: the inherited variables ({@link inherited}, or everything but {@link
 * neverInherited} with `inheritEnv`), the PATH of the login shell instead of the host's, the variables of the config, and the
 * tag. Later values win; on Windows also over a name that differs only in case.
 *
 * @since 0.1.0
 * @category deciding
 */
export const environment = (
  config: Pick<Local, "environment" | "inheritEnv">,
  host: Host,
  tag: Tag
): Record<string, string> => {
  const keyOf = (name: string) => (isWindows(host.platform) ? name.toUpperCase() : name)
  const entries = new Map<string, readonly [name: string, value: string]>()
  const set = (name: string, value: string) => entries.set(keyOf(name), [name, value])

  for (const [name, value] of Object.entries(host.env)) {
    // An exported shell function is code that a shell of the server would run.
    if (value === undefined || value.startsWith("()") || neverInherited.has(keyOf(name))) continue
    if (config.inheritEnv || isInherited(keyOf(name), host.platform)) set(name, value)
  }
  if (host.path !== undefined) set("PATH", host.path)
  for (const [name, value] of Object.entries(config.environment)) set(name, Secrets.reveal(value))
  set(variables.run, tag.run)
  set(variables.child, tag.child)
  return Object.fromEntries(entries.values())
}

/**
 * The variables that no server inherits, not even with `inheritEnv`: the control token of the supervisor, and the configuration
 * of all servers with its secrets.
 *
 * @since 0.1.0
 * @category constants
 */
export const neverInherited: ReadonlySet<string> = new Set([variables.token, variables.configContent])

const isWindows = (platform: NodeJS.Platform): boolean => platform === "win32"

const isInherited = (key: string, platform: NodeJS.Platform): boolean =>
  inherited.has(key) || key.startsWith("LC_") || (isWindows(platform) && inheritedOnWindows.has(key))

/**
 * The options for spawning a server. On POSIX the process leads a group of its own, so that the whole group can be ended. On
 * Windows it does not: a detached process would show a console window.
 *
 * @since 0.1.0
 * @category deciding
 */
export const spawnOptions = (
  platform: NodeJS.Platform
): SpawnOptionsWithStdioTuple<StdioPipe, StdioPipe, StdioPipe> => ({
  detached: !isWindows(platform),
  windowsHide: true,
  shell: false,
  stdio: ["pipe", "pipe", "pipe"]
})

/**
 * A program to run without a shell.
 *
 * @since 0.1.0
 * @category models
 */
export interface Program {
  readonly command: string
  readonly args: ReadonlyArray<string>
}

/**
 * The program that ends a process and all its descendants. Undefined on platforms where a signal to the process group does it.
 *
 * @since 0.1.0
 * @category deciding
 */
export const killTree = (platform: NodeJS.Platform, pid: number): Program | undefined =>
  isWindows(platform) ? { command: "taskkill", args: ["/pid", String(pid), "/T", "/F"] } : undefined

/**
 * The PATH in which the command of a process with this environment is looked up.
 *
 * @since 0.1.0
 * @category deciding
 */
export const searchedPath = (env: Readonly<Record<string, string>>, platform: NodeJS.Platform): string | undefined => {
  if (!isWindows(platform)) return env.PATH
  return Object.entries(env).find(([name]) => name.toUpperCase() === "PATH")?.[1]
}

/**
 * The reason that a system error code of a failed spawn stands for; undefined if it says nothing about the command.
 *
 * A missing or invalid working directory has the same codes as a missing command (`ENOENT`, `ENOTDIR`): a caller that sets one
 * has to check it.
 *
 * @since 0.1.0
 * @category deciding
 */
export const spawnReason = (
  code: string,
  options?: {
    /** Whether the working directory is a directory. Defaults to true. */
    readonly directoryExists?: boolean | undefined
  }
): SpawnFailed["reason"] | undefined => {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return options?.directoryExists === false ? "bad_directory" : "not_found"
    case "EACCES":
    case "EPERM":
      return "not_permitted"
    case "E2BIG":
    case "EINVAL":
    case "ENAMETOOLONG":
    case "ERR_INVALID_ARG_VALUE":
      return "bad_arguments"
    case "EAGAIN":
    case "EMFILE":
    case "ENFILE":
    case "ENOMEM":
      return "no_resources"
    default:
      return undefined
  }
}
