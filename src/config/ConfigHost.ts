/**
 * What we ask the machine, in one place: tests and programs can say otherwise.
 */
import { posix, resolve, win32 } from "node:path"
import { defaultStateDir } from "../domain/internal/stateDir.js"
import { homeDirectory } from "../system/homeDirectory.js"

/**
 * Where configuration is looked for. Everything has a default for the process that runs.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConfigHost {
  /** Where projects are looked for, and where servers of the program run that set no `cwd`. Defaults to the working directory. */
  readonly cwd?: string | undefined
  /** Further files, trusted, above all other files. Each has to be there. Defaults to none. */
  readonly files?: ReadonlyArray<string> | undefined
  /** Where approvals and copies are kept. Defaults to the platform's place for such data. */
  readonly stateDir?: string | undefined
  /** Defaults to the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /** An absolute path; a relative one is ignored. Defaults to the user's home. */
  readonly home?: string | undefined
  /** Defaults to the one that runs. */
  readonly platform?: NodeJS.Platform | undefined
}

/** The same with nothing left open. */
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

/** Not every user has a home: then what is looked for there is not there. */
const homeOrRoot = (): string => {
  try {
    return homeDirectory()
  } catch {
    return "/"
  }
}

export const pathsOf = (platform: NodeJS.Platform) => (platform === "win32" ? win32 : posix)

/** Where programs keep the settings of their users, unless they have habits of their own. */
export const configHome = ({ env, home, platform }: Pick<Surroundings, "env" | "home" | "platform">): string => {
  const { isAbsolute, join } = pathsOf(platform)
  const { APPDATA = "", XDG_CONFIG_HOME = "" } = env
  // the specification has relative ones ignored
  if (isAbsolute(XDG_CONFIG_HOME)) return XDG_CONFIG_HOME
  if (platform !== "win32") return join(home, ".config")
  return isAbsolute(APPDATA) ? APPDATA : join(home, "AppData", "Roaming")
}
