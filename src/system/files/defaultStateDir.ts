/**
 * Computes the default state directory.
 */
import { posix, win32 } from "node:path"
import * as Environment from "../environment.js"

/**
 * The first that is set: `MCP_SUPERVISOR_STATE_DIR` (an absolute path), a directory in `XDG_DATA_HOME`, or one in the
 * platform's directory for user data.
 */
export const defaultStateDir = (
  env: Environment.Environment,
  platform: NodeJS.Platform,
  /** May throw: not every user has a home directory. */
  homeOf: () => string
): string => {
  const { isAbsolute, join } = platform === "win32" ? win32 : posix
  const home = (): string => {
    const directory = homeOf()
    if (!isAbsolute(directory)) throw new Error("the home directory is not an absolute path")
    return directory
  }
  const { LOCALAPPDATA = "", XDG_DATA_HOME = "" } = env
  const named = Environment.read(env, "stateDir") ?? ""
  // a relative path would lead into the project, whose author could put approvals there
  if (isAbsolute(named)) return named
  // the XDG specification requires that relative paths are ignored
  if (isAbsolute(XDG_DATA_HOME)) return join(XDG_DATA_HOME, directoryName)
  if (platform === "darwin") return join(home(), "Library", "Application Support", directoryName)
  if (platform !== "win32") return join(home(), ".local", "share", directoryName)
  return join(isAbsolute(LOCALAPPDATA) ? LOCALAPPDATA : join(home(), "AppData", "Local"), directoryName)
}

const directoryName = "mcp-supervisor"
