/**
 * Where things are kept between two runs, unless somebody says otherwise.
 */
import { posix, win32 } from "node:path"

/**
 * The directory that the environment names (`MCP_SUPERVISOR_STATE_DIR`, an absolute path), else the one of this program among the user's data
 * (`XDG_DATA_HOME`), else where the platform keeps such data.
 */
export const defaultStateDir = (
  env: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform,
  /** May throw: not every user has one. */
  homeOf: () => string
): string => {
  const { isAbsolute, join } = platform === "win32" ? win32 : posix
  const home = (): string => {
    const found = homeOf()
    if (!isAbsolute(found)) throw new Error("the home directory is not an absolute path")
    return found
  }
  const { LOCALAPPDATA = "", MCP_SUPERVISOR_STATE_DIR = "", XDG_DATA_HOME = "" } = env
  // a relative one would lead into the project, whose author could have put approvals there
  if (isAbsolute(MCP_SUPERVISOR_STATE_DIR)) return MCP_SUPERVISOR_STATE_DIR
  // the specification has relative ones ignored
  if (isAbsolute(XDG_DATA_HOME)) return join(XDG_DATA_HOME, own)
  if (platform === "darwin") return join(home(), "Library", "Application Support", own)
  if (platform !== "win32") return join(home(), ".local", "share", own)
  return join(isAbsolute(LOCALAPPDATA) ? LOCALAPPDATA : join(home(), "AppData", "Local"), own)
}

const own = "mcp-supervisor"
