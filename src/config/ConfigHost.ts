/**
 * The environment that configuration is read from: directories, variables, platform. Tests and programs can override each.
 */
import { posix, resolve, win32 } from "node:path"
import { defaultStateDir } from "../system/files/defaultStateDir.js"
import { homeDirectory } from "../system/homeDirectory.js"

/**
 * Where configuration is read from. Every field defaults to the value of the current process.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConfigHost {
  /** Where the search for project files starts, and where the program's servers without `cwd` run. Defaults to that of the process. */
  readonly cwd?: string | undefined
  /** Further trusted files, above all other files. Each must exist. Defaults to none. */
  readonly files?: ReadonlyArray<string> | undefined
  /** The directory of approvals and backups. Defaults to the platform's directory for such data. */
  readonly stateDir?: string | undefined
  /** Defaults to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** An absolute path; a relative one is ignored. Defaults to the user's home. */
  readonly home?: string | undefined
  /** Defaults to the current platform. */
  readonly platform?: NodeJS.Platform | undefined
}

/** A {@link ConfigHost} with all defaults filled in. */
export interface Surroundings {
  readonly cwd: string
  readonly files: ReadonlyArray<string>
  readonly stateDir: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly platform: NodeJS.Platform
}

export const surroundings = (host: ConfigHost): Surroundings => {
  const { env = process.env, files = [], platform = process.platform } = host
  const home = pathsOf(platform).isAbsolute(host.home ?? "") ? host.home! : homeOrRoot()
  const cwd = resolve(host.cwd ?? ".")
  return {
    cwd,
    files: files.map((file) => resolve(cwd, file)),
    stateDir: resolve(cwd, host.stateDir ?? defaultStateDir(env, platform, () => home)),
    env,
    home,
    platform
  }
}

/** A user may have no home directory. Then the root stands in for it, and no file is found there. */
const homeOrRoot = (): string => {
  try {
    return homeDirectory()
  } catch {
    return "/"
  }
}

export const pathsOf = (platform: NodeJS.Platform) => (platform === "win32" ? win32 : posix)

/** The directory in which programs store their users' settings by convention. */
export const configHome = ({ env, home, platform }: Pick<Surroundings, "env" | "home" | "platform">): string => {
  const { isAbsolute, join } = pathsOf(platform)
  const { APPDATA = "", XDG_CONFIG_HOME = "" } = env
  // the XDG specification requires that relative paths are ignored
  if (isAbsolute(XDG_CONFIG_HOME)) return XDG_CONFIG_HOME
  if (platform !== "win32") return join(home, ".config")
  return isAbsolute(APPDATA) ? APPDATA : join(home, "AppData", "Roaming")
}
